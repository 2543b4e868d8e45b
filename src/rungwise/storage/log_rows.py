"""The rows of a log in a SQLite file: its studies and its entries, checked as they are read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from rungwise.core.study import Study
from rungwise.errors import CorruptLogError, RungwiseError
from rungwise.storage import codec
from rungwise.storage.schema import chain_checksum


def chain_entry(what: str, answer: str, part: int, *, before: int) -> int:
    """The checksum of an entry; for the log's own study it is as in version 0.1.0."""
    checksum = chain_checksum(what, answer, before=before)
    return chain_checksum(f"part {part}", before=checksum) if part else checksum


def read_entries(
    database: sqlite3.Connection, path: Path, version: int, after: tuple[int, int]
) -> Iterator[tuple[int, str, str, int]]:
    """(number, event, decision, part) of every entry behind a place.

    Args:
        database: the file, open.
        path: the file.
        version: how many migrations it has had.
        after: a number of entries, and the checksum of the chain there.
    """
    first, checksum = after
    of = "part" if version > 2 else "0"
    query = (
        f"SELECT number, event, decision, checksum, {of} FROM entries "  # noqa: S608 - built from constants
        f"WHERE number >= ? ORDER BY number"
    )
    for expected, row in enumerate(database.execute(query, (first,)), first):
        number, what, answer, stored, part = row
        if number != expected:
            raise CorruptLogError(str(path), f"entry {expected} is missing")
        checksum = chain_entry(what, answer, part, before=checksum)
        if checksum != stored or type(part) is not int:
            raise CorruptLogError(str(path), f"entry {number} was altered")
        yield number, what, answer, part


def read_studies(
    database: sqlite3.Connection, path: Path, version: int, types: Sequence[type]
) -> list[Study]:
    """The specifications of all studies, in the order of their numbers.

    Args:
        database: the file, open.
        path: the file.
        version: how many migrations it has had.
        types: recipes, rankings and searchers beyond those of rungwise.
    """
    checked = "checksum" if version > 1 else "NULL"
    part = "part" if version > 2 else "0"
    query = f"SELECT document, {checked}, {part} FROM study ORDER BY 3"  # noqa: S608 - built from constants
    studies = []
    for expected, (text, stored, number) in enumerate(database.execute(query).fetchall()):
        if number != expected:
            raise CorruptLogError(str(path), f"its study {expected} is missing")
        unknown = stored is None and version < 4  # version 1 kept none
        if not unknown and chain_checksum(text, before=number) != stored:
            raise CorruptLogError(str(path), "its study was altered")
        try:
            studies.append(codec.study_from_json(json.loads(text), types=types))
        except (ValueError, RungwiseError) as error:
            raise CorruptLogError(str(path), f"its study cannot be read: {error}") from error
    return studies
