"""How the database of a log is opened and closed: its address, what it must be, its migrations."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Literal

from rungwise.errors import CorruptLogError, SchemaError
from rungwise.storage.completeness import measure_wal
from rungwise.storage.schema import APPLICATION, MIGRATIONS

_NO_PLAIN_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') "
    "OR sql LIKE 'CREATE VIRTUAL%' OR length(sql) - length(replace(sql, '(', '')) > 1"
)
"""What computes something when it is read or written: it could compute forever, or change what is
written. Checks, computed columns and the like have parentheses within those of their table."""

LARGE = 100_000_000
"""From this number of bytes on, a file is not looked through whenever it is opened."""


def is_small(path: Path) -> bool:
    """Whether looking through all of a file takes no time."""
    return path.stat().st_size < LARGE


def make_address(path: Path) -> str:
    """The URI that opens a file for reading."""
    place = path.absolute()
    wal = place.with_name(place.name + "-wal")
    # Reading a file in WAL mode writes files beside it, unless it is opened as immutable: in a
    # folder that is not writable, an archive for example.
    immutable = not os.access(place.parent, os.W_OK) and not wal.exists()
    return f"{place.as_uri()}?mode=ro{'&immutable=1' if immutable else ''}"


def make_reading_address(path: Path) -> str:
    """The same; where nothing is in the -wal file, the last to close may remove that."""
    clean = measure_wal(path) == 0 and os.access(path, os.W_OK)
    address = make_address(path)
    return address.replace("?mode=ro", "?mode=rw") if clean else address


def is_study(path: Path) -> bool:
    """Whether a file is a study of rungwise, from its header alone."""
    try:
        if not path.is_file():  # to open a named pipe would wait forever
            return False
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    return header[:6] == b"SQLite" and header[68:72] == APPLICATION.to_bytes(4, "big")


def read_pragma(database: sqlite3.Connection, name: str) -> int:
    """A number that SQLite keeps about a database."""
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def count_tables(database: sqlite3.Connection) -> int:
    """How many tables, indexes and the like a database has; 0 if it is new."""
    return int(database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def open_database(path: Path, *, write: bool, one_thread: bool) -> sqlite3.Connection:
    """Open a file, whatever it holds.

    Args:
        path: the file.
        write: whether it is to be written.
        one_thread: whether only the thread that opens it may write it.
    """
    if not write:
        return sqlite3.connect(make_reading_address(path), uri=True, isolation_level=None)
    return sqlite3.connect(path, isolation_level=None, check_same_thread=one_thread)


def prepare(
    database: sqlite3.Connection,
    version: int,
    *,
    write: bool,
    durability: Literal["normal", "full"],
) -> None:
    """Make an open file ready to be read, or to be written.

    Args:
        database: the file, open.
        version: how many migrations it has had.
        write: whether it is to be written; then it is brought up to date.
        durability: see :class:`rungwise.storage.SqliteLog`.
    """
    if not write:
        database.execute("PRAGMA query_only = ON")
        return
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(f"PRAGMA synchronous = {durability.upper()}")
    migrate(database, version)


def close_database(database: sqlite3.Connection, path: Path, *, wrote: bool) -> None:
    """Close a file; if nothing was written, it keeps every bit.

    The last connection to close moves the contents of the -wal file into the main file, unless it
    is a read-only one.

    Args:
        database: the file, open.
        path: the file.
        wrote: whether something was written through this connection.
    """
    reader = None
    if not wrote and measure_wal(path):
        with suppress(sqlite3.Error):
            reader = sqlite3.connect(make_address(path), uri=True)
            count_tables(reader)  # the file is opened by the first read
    database.close()
    if reader is not None:
        reader.close()


def check_file(database: sqlite3.Connection, path: Path, *, fresh: bool, pages: bool) -> int:
    """Refuse what is no log, or a damaged one; its schema.

    Args:
        database: the file, open.
        path: the file.
        fresh: whether it may be a new file.
        pages: look through every page.
    """
    version = read_pragma(database, "user_version")
    mark = read_pragma(database, "application_id")
    if mark != APPLICATION and (count_tables(database) or not fresh):
        raise CorruptLogError(str(path), "it is not a log of rungwise")
    foreign = database.execute(_NO_PLAIN_TABLES).fetchone()
    if foreign is not None:
        raise CorruptLogError(str(path), f"it holds {foreign[0]!r}, which is no plain table")
    if version > len(MIGRATIONS):
        raise SchemaError(
            f"{path} has schema {version}, but this version reads up to {len(MIGRATIONS)}: a later "
            f"version of rungwise wrote it."
        )
    if pages:
        found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise CorruptLogError(str(path), found)
    return version


def migrate(database: sqlite3.Connection, version: int) -> None:
    """Bring a file up to date."""
    for number in range(version, len(MIGRATIONS)):
        database.execute("BEGIN IMMEDIATE")
        MIGRATIONS[number](database)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {number + 1}")
        database.execute("COMMIT")
    if version < len(MIGRATIONS):
        # So that the file itself, and not only the -wal file, has the application id.
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
