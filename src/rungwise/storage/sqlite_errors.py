"""Errors of SQLite as errors of rungwise, with the name of the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rungwise.errors import CorruptLogError, LogUnavailableError, RungwiseError


@contextmanager
def name_errors(path: Path) -> Iterator[None]:
    """Errors of SQLite, with the file's name."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(error).startswith("no such"):  # a table or a column that every log has
            raise CorruptLogError(str(path), str(error)) from error
        raise LogUnavailableError(str(path), str(error)) from error
    except sqlite3.DatabaseError as error:
        raise CorruptLogError(str(path), str(error)) from error


@contextmanager
def name_damage(path: Path) -> Iterator[None]:
    """The same while a file is read: a value of an unexpected type is damage too."""
    with name_errors(path):
        try:
            yield
        except RungwiseError:
            raise
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise CorruptLogError(str(path), f"it holds no log: {error}") from error
