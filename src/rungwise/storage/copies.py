"""Copies of a study file: taken while its writer goes on, and compared with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from rungwise.errors import CorruptLogError
from rungwise.storage.known_files import save_copy
from rungwise.storage.opening import check_file

Relation = Literal["none", "behind", "ahead", "apart", "other"]


class OpenCopy:
    """A study file that is open only to be copied; any thread may use it, one at a time.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._database = _open_for_reading(path)

    def read_version(self) -> int:
        """A number that changes when another connection has committed something."""
        return int(self._database.execute("PRAGMA data_version").fetchone()[0])

    def save(self, place: Path) -> None:
        """Write one state of the file to a new file that is complete by itself."""
        save_copy(self._database, place)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def compare_files(study: Path, copy: Path) -> Relation:
    """How a copy relates to a study file.

    It is an earlier state of it, a later one, one with other reports, or another study.
    """
    try:
        with closing(_open_for_reading(study)) as ours, closing(_open_for_reading(copy)) as theirs:
            check_file(theirs, copy, fresh=False, pages=False)  # others may write to that place
            mine, its = (_read_tail(each) for each in (ours, theirs))
            if mine[0] is None:
                return "none" if its[0] is None else "other"
            if mine[0] != its[0]:
                return "other"
            shorter = min(mine[1], its[1])
            if _read_checksum(ours, shorter) != _read_checksum(theirs, shorter):
                return "apart"
            return "ahead" if its[1] > mine[1] else "behind"
    except (sqlite3.Error, CorruptLogError):
        return "other"


def _read_tail(database: sqlite3.Connection) -> tuple[Any, int]:
    """The specification of the study, and how many entries there are."""
    found = database.execute("SELECT document FROM study LIMIT 1").fetchone()
    (count,) = database.execute("SELECT ifnull(max(number), -1) + 1 FROM entries").fetchone()
    return (None if found is None else found[0]), int(count)


def _read_checksum(database: sqlite3.Connection, length: int) -> Any:
    """The checksum of the first entries; each is chained to the one before."""
    query = "SELECT checksum FROM entries WHERE number = ?"
    return database.execute(query, (length - 1,)).fetchone()


def _open_for_reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
