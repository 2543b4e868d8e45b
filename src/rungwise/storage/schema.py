"""The tables of a study file, and how a file of an earlier version becomes one of this."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Sequence

APPLICATION = 0x52554E47
"""Marks a SQLite file as ours ("RUNG")."""


def _first_tables(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE study (document TEXT NOT NULL)")
    database.execute(
        "CREATE TABLE entries (number INTEGER PRIMARY KEY, event TEXT NOT NULL, "
        "decision TEXT NOT NULL, checksum INTEGER NOT NULL)"
    )


def _what_happened_besides(database: sqlite3.Connection) -> None:
    """Version 2: what a real study knows beyond its events; no decision depends on it."""
    database.execute("ALTER TABLE study ADD COLUMN checksum INTEGER")
    database.execute(
        "CREATE TABLE notes (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, "
        "document TEXT NOT NULL, checksum INTEGER NOT NULL)"
    )


def _several_studies(database: sqlite3.Connection) -> None:
    """Version 3: other studies in the same log, retrainings for example, each with a number."""
    for table in ("study", "entries"):
        database.execute(f"ALTER TABLE {table} ADD COLUMN part INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: Sequence[Callable[[sqlite3.Connection], None]] = (
    _first_tables,
    _what_happened_besides,
    _several_studies,
)
"""Each brings the file one version further, in one transaction with the record that it has."""


def chain_checksum(*texts: str, before: int = 0) -> int:
    """The checksum of texts, chained to the one before."""
    for text in texts:
        before = zlib.crc32(text.encode(), before)
    return before
