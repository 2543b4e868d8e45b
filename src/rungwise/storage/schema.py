"""The tables of a study file, and the migrations from earlier versions."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Sequence

APPLICATION = 0x52554E47
"""The application id that marks a SQLite file as a log of rungwise ("RUNG")."""


def _create_tables(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE study (document TEXT NOT NULL)")
    database.execute(
        "CREATE TABLE entries (number INTEGER PRIMARY KEY, event TEXT NOT NULL, "
        "decision TEXT NOT NULL, checksum INTEGER NOT NULL)"
    )


def _add_notes(database: sqlite3.Connection) -> None:
    """Version 2: facts about a real study besides its events; no decision depends on them."""
    database.execute("ALTER TABLE study ADD COLUMN checksum INTEGER")
    database.execute(
        "CREATE TABLE notes (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, "
        "document TEXT NOT NULL, checksum INTEGER NOT NULL)"
    )


def _add_parts(database: sqlite3.Connection) -> None:
    """Version 3: other studies in the same log, retrainings for example, each with a number."""
    for table in ("study", "entries"):
        database.execute(f"ALTER TABLE {table} ADD COLUMN part INTEGER NOT NULL DEFAULT 0")


def _add_closing(database: sqlite3.Connection) -> None:
    """Version 4: how the file ended when it was last closed; no row while it is being written.

    What is there now is complete: until more is written, the file is as if it had been closed.

    And a summary of the study, with the state that it sums up. From now on the specification of
    every study has a checksum; version 1 had none.
    """
    query = "SELECT rowid, document, part FROM study WHERE checksum IS NULL"
    for row, text, part in database.execute(query).fetchall():
        values = (chain_checksum(text, before=part), row)
        database.execute("UPDATE study SET checksum = ? WHERE rowid = ?", values)
    database.execute(
        "CREATE TABLE closing (entries INTEGER NOT NULL, checksum INTEGER NOT NULL, "
        "notes INTEGER NOT NULL)"
    )
    database.execute(
        "INSERT INTO closing SELECT count(*), "
        "ifnull((SELECT checksum FROM entries ORDER BY number DESC LIMIT 1), 0), "
        "(SELECT count(*) FROM notes) FROM entries"
    )
    database.execute(
        "CREATE TABLE summary (entries INTEGER NOT NULL, checksum INTEGER NOT NULL, "
        "notes INTEGER NOT NULL, document TEXT NOT NULL, own INTEGER NOT NULL)"
    )


def _add_snapshots(database: sqlite3.Connection) -> None:
    """Version 5: how a large study stood after some entry, see ``snapshots.py``."""
    database.execute(
        "CREATE TABLE snapshot (entries INTEGER NOT NULL, checksum INTEGER NOT NULL, "
        "layout TEXT NOT NULL, document TEXT NOT NULL, chunks TEXT NOT NULL, digest TEXT NOT NULL)"
    )
    database.execute("CREATE TABLE curves (number INTEGER PRIMARY KEY, points BLOB NOT NULL)")
    # So that the few entries of retrainings are found among those of a large study.
    database.execute("CREATE INDEX later_parts ON entries (number) WHERE part > 0")


MIGRATIONS: Sequence[Callable[[sqlite3.Connection], None]] = (
    _create_tables,
    _add_notes,
    _add_parts,
    _add_closing,
    _add_snapshots,
)
"""Each migrates the file by one version, in one transaction with the record of that version."""


def chain_checksum(*texts: str, before: int = 0) -> int:
    """The checksum of texts, chained to the previous one."""
    for text in texts:
        before = zlib.crc32(text.encode(), before)
    return before
