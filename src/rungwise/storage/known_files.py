"""The files of a log that is being written: whether they are still where they were."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from rungwise.locking import identify_file
from rungwise.storage.completeness import mark_closed, read_state


class KnownFiles:
    """The file, its -wal and its lock, as they were when the file was opened.

    Args:
        path: the file.
        lock: its lock.
    """

    def __init__(self, path: Path, lock: Path) -> None:
        self._path = path
        wal = path.with_name(f"{path.name}-wal")
        self._known = {place: identify_file(place) for place in (path, wal, lock)}

    def find_loss(self) -> str | None:
        """Which of them was deleted, moved or replaced; None if none."""
        for place, known in self._known.items():
            try:
                found = identify_file(place)
            except OSError:  # a server that does not answer is no loss
                continue
            if known is None:
                self._known[place] = found  # the -wal file may appear later
            elif found != known:
                how = "deleted or moved" if found is None else "replaced by another file"
                return f"{place} was {how} while the study was running"
        return None

    def find_free_place(self) -> Path | None:
        """Where a copy can be written; None if the file itself is still in its place."""
        place, number = self._path, 0
        while (found := identify_file(place)) is not None:
            if found == self._known[self._path]:
                return None
            number += 1
            place = self._path.with_name(f"{self._path.name}.rescued-{number}")
        return place


def save_copy(database: sqlite3.Connection, place: Path) -> None:
    """Write all that a database holds to a new file, which is complete by itself."""
    copy = sqlite3.connect(place, isolation_level=None)
    try:
        database.backup(copy)
        if copy.execute("PRAGMA user_version").fetchone()[0] > 3:
            mark_closed(copy, read_state(copy))
        copy.execute("PRAGMA journal_mode = DELETE")  # complete in one file
    finally:
        copy.close()
