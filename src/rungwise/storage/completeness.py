"""Proof that a file holds all that was committed, and is the one it was committed to.

While a study runs, its last entries are in the -wal file. So the main file says that it is not
closed, and how it ended when it was: it cannot be taken for the whole while it is not. The lock
file, which stays where the study is, holds the number of entries and the head of their chain of
checksums: a file that was put in the study's place is noticed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class State(NamedTuple):
    """How a file ends.

    Attributes:
        entries: how many entries it has.
        checksum: the last of their chain.
        notes: how many notes it has.
    """

    entries: int
    checksum: int
    notes: int


def measure_wal(path: Path) -> int:
    """How many bytes the -wal file of a database holds; 0 if there is none."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0


def count_notes(database: sqlite3.Connection) -> int:
    """How many notes a file holds."""
    return int(database.execute("SELECT count(*) FROM notes").fetchone()[0])


def read_state(database: sqlite3.Connection) -> State:
    """How a file ends."""
    query = "SELECT number + 1, checksum FROM entries ORDER BY number DESC LIMIT 1"
    entries, checksum = database.execute(query).fetchone() or (0, 0)
    return State(entries, checksum, count_notes(database))


def mark_open(database: sqlite3.Connection) -> None:
    """Say in the main file itself that it is being written to."""
    if database.execute("SELECT count(*) FROM closing").fetchone()[0]:
        database.execute("DELETE FROM closing")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def mark_closed(database: sqlite3.Connection, state: State) -> None:
    """Say that it is complete, and how it ends; nothing is said where it ends otherwise."""
    database.execute("BEGIN IMMEDIATE")
    try:
        # An interrupt may come when something is committed and before it is counted.
        count = database.execute("SELECT ifnull(max(number), -1) + 1 FROM entries").fetchone()[0]
        if (count, count_notes(database)) == (state.entries, state.notes):
            database.execute("DELETE FROM closing")
            database.execute("INSERT INTO closing VALUES (?, ?, ?)", state)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def find_flaw(
    database: sqlite3.Connection,
    state: State,
    noted: Sequence[int],
    *,
    closing: bool,
    wal_size: int,
) -> str | None:
    """What shows that a file is not complete, or not the one that was written; None if nothing.

    Args:
        database: the file.
        state: how it ends.
        noted: what its lock file says: entries, checksum and notes; as much of it as there is.
        closing: whether the file is of a version that says how it was closed.
        wal_size: how many bytes its -wal file had before it was opened.
    """
    if len(noted) > 1 and noted[0]:
        query = "SELECT checksum FROM entries WHERE number = ?"
        found = database.execute(query, (noted[0] - 1,)).fetchone()
        if found is None or found[0] != noted[1]:
            return (
                f"its entry {noted[0] - 1} is not the one that was committed: the file or its "
                f"-wal was edited, or replaced by that of another study"
            )
    if len(noted) > 2 and state.notes < noted[2]:
        return f"it has {state.notes} notes, but {noted[2]} were committed: it was edited"
    if not closing:
        return None
    ends = database.execute("SELECT * FROM closing").fetchall()
    if ends:
        if ends != [state]:
            return "it does not end as it did when it was closed: it was edited"
        return None
    if not wal_size and not noted:
        return (
            "it was copied or moved while it was not closed, and its last entries are missing: "
            "they are in the file with -wal at the end of its name, which belongs to it. To move "
            "a study in one file: rungwise export --archive. To continue without them: rungwise "
            "verify --accept-loss"
        )
    return None
