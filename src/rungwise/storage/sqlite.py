"""A log in a SQLite file that survives the death of its writer.

The file is in WAL mode: an entry is one transaction, and once :meth:`SqliteLog.append` has
returned, killing the process does not lose it. (A power failure may lose the last entries, but
never leaves half of one.) Others may read while one writes. Entries are chained by checksums, so
that a file that was edited, cut or damaged is noticed and named; nothing is repaired silently.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from rungwise.core.checks import one_of
from rungwise.core.decisions import Decision
from rungwise.core.events import Event
from rungwise.core.study import Study
from rungwise.errors import (
    CorruptLogError,
    InvalidArgumentError,
    LogInUseError,
    LogUnavailableError,
    RungwiseError,
    SchemaError,
)
from rungwise.storage import documents
from rungwise.storage.base import Entry
from rungwise.storage.locking import FileLock

Durability = Literal["normal", "full"]

PATIENCE = 10.0
"""Seconds to wait for what a writer that died has left behind to be cleaned up."""

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
    database.execute("CREATE TABLE about (document TEXT NOT NULL)")
    database.execute(
        "CREATE TABLE failures (number INTEGER PRIMARY KEY, job INTEGER NOT NULL, "
        "document TEXT NOT NULL)"
    )
    database.execute(
        "CREATE TABLE extras (number INTEGER PRIMARY KEY, job INTEGER NOT NULL, "
        "resource REAL NOT NULL, document TEXT NOT NULL)"
    )
    database.execute("CREATE TABLE retrains (number INTEGER PRIMARY KEY, document TEXT NOT NULL)")


MIGRATIONS: Sequence[Callable[[sqlite3.Connection], None]] = (
    _first_tables,
    _what_happened_besides,
)
"""Each brings the file one version further, in one transaction with the record that it has."""


class SqliteLog:
    """A log in a file.

    Args:
        path: the file; it is made when it is not there.
        mode: ``"write"`` (one process at a time), or ``"read"``.
        types: recipes, rankings and searchers beyond those of rungwise that the study uses.
        durability: ``"normal"``: what was appended survives the death of any process;
            ``"full"``: a power failure as well, which costs a wait for the disk each time.

    Raises:
        LogInUseError: another process writes to the file.
        LogUnavailableError: the file cannot be opened.
        CorruptLogError: the file is not a log, or is damaged.
        SchemaError: a later version wrote it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: Literal["write", "read"] = "write",
        types: Iterable[type] = (),
        durability: Durability = "normal",
    ) -> None:
        self.path = Path(path)
        one_of("mode", mode, ("write", "read"))
        self._durability = one_of("durability", durability, ("normal", "full"))
        self._depth = 0
        if mode == "read" and not self.path.exists():
            raise InvalidArgumentError("path", str(path), "there must be such a file to read")
        self._types = tuple(types)
        self.lock = FileLock(self.path.with_name(self.path.name + ".lock"))
        if mode == "write":
            self._take_lock()
        try:
            self._database = self._connect(mode)
            self._study = self._read_study()
            self._length, self._checksum = self._tail()
        except BaseException:
            self.lock.release()
            raise

    def _take_lock(self) -> None:
        try:
            taken = self.lock.take(patience=PATIENCE)
        except OSError as error:
            raise LogUnavailableError(str(self.path), str(error)) from error
        if not taken:
            raise LogInUseError(str(self.path), self.lock.holder())

    # -- the log -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._length

    def begin(self, study: Study) -> None:
        if self._study is not None:
            rule = "it holds a study already: take a new file"
            raise InvalidArgumentError("log", str(self.path), rule)
        text = documents.text_of(documents.write(study))
        with self.transaction() as database:
            database.execute("INSERT INTO study VALUES (?)", (text,))
        self._study = study

    @property
    def begun(self) -> bool:
        """Whether a study has been begun in it."""
        return self._study is not None

    @property
    def version(self) -> int:
        """Which of the migrations the file has seen."""
        return _pragma(self._database, "user_version")

    @property
    def study(self) -> Study:
        if self._study is None:
            raise InvalidArgumentError("log", str(self.path), "no study has been begun in it")
        return self._study

    def append(self, event: Event, decision: Decision) -> None:
        self.extend([(event, decision)])

    def extend(self, entries: Iterable[Entry]) -> None:
        length, checksum = self._length, self._checksum
        rows = []
        for entry in entries:
            what, answer = documents.texts_of(entry)
            checksum = _chained(checksum, what, answer)
            rows.append((length, what, answer, checksum))
            length += 1
        with self.transaction() as database:
            database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
        self._length, self._checksum = length, checksum

    def read_from(self, start: int = 0) -> Iterator[Entry]:
        """The entries from a position on; those before it are checked all the same."""
        checksum = 0
        query = "SELECT number, event, decision, checksum FROM entries ORDER BY number"
        with self._named():
            for expected, row in enumerate(self._database.execute(query)):
                number, what, answer, stored = row
                if number != expected:
                    raise CorruptLogError(str(self.path), f"entry {expected} is missing")
                checksum = _chained(checksum, what, answer)
                if checksum != stored:
                    raise CorruptLogError(str(self.path), f"entry {number} was altered")
                if number >= start:
                    yield documents.entry_of(what, answer, f"entry {number} of {self.path}")

    def close(self) -> None:
        """Close the file and let others write to it."""
        self._database.close()
        self.lock.release()

    def __enter__(self) -> SqliteLog:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- the file ------------------------------------------------------------------------------

    def _connect(self, mode: str) -> sqlite3.Connection:
        with self._named():
            if mode == "read":
                place = f"{self.path.absolute().as_uri()}?mode=ro"
                database = sqlite3.connect(place, uri=True, isolation_level=None)
            else:
                database = sqlite3.connect(self.path, isolation_level=None)
            try:
                self._prepare(database, mode)
            except BaseException:
                database.close()
                raise
        return database

    def _prepare(self, database: sqlite3.Connection, mode: str) -> None:
        version = _pragma(database, "user_version")
        mark = _pragma(database, "application_id")
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != APPLICATION and (tables or mode == "read"):
            raise CorruptLogError(str(self.path), "it is not a log of rungwise")
        if version > len(MIGRATIONS):
            raise SchemaError(
                f"{self.path} has schema {version}, but this version reads up to "
                f"{len(MIGRATIONS)}: it was written by a later one."
            )
        verdict = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise CorruptLogError(str(self.path), verdict)
        if mode == "write":
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"PRAGMA synchronous = {self._durability.upper()}")
            for number in range(version, len(MIGRATIONS)):
                database.execute("BEGIN IMMEDIATE")
                MIGRATIONS[number](database)
                database.execute(f"PRAGMA application_id = {APPLICATION}")
                database.execute(f"PRAGMA user_version = {number + 1}")
                database.execute("COMMIT")

    def _read_study(self) -> Study | None:
        with self._named():
            found = self._database.execute("SELECT document FROM study").fetchall()
        if not found:
            return None
        try:
            (text,) = found[0]
            return documents.read(json.loads(text), types=self._types)
        except (ValueError, RungwiseError) as error:
            raise CorruptLogError(str(self.path), f"its study cannot be read: {error}") from error

    def _tail(self) -> tuple[int, int]:
        query = "SELECT number, checksum FROM entries ORDER BY number DESC LIMIT 1"
        with self._named():
            last = self._database.execute(query).fetchone()
        return (0, 0) if last is None else (last[0] + 1, last[1])

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside, or nothing; inside another one it is part of that."""
        database = self._database
        if self._depth:
            yield database
            return
        before = self._length, self._checksum, self._study
        with self._named():
            database.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                # SQLite rolls back by itself when the disk is full.
                if database.in_transaction:
                    database.execute("ROLLBACK")
                self._length, self._checksum, self._study = before
                raise
            finally:
                self._depth = 0

    def select(self, query: str) -> list[tuple[Any, ...]]:
        """The rows that a query gives."""
        with self._named():
            return self._database.execute(query).fetchall()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """What SQLite says of a file, with the file's name."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise LogUnavailableError(str(self.path), str(error)) from error
        except sqlite3.DatabaseError as error:
            raise CorruptLogError(str(self.path), str(error)) from error


def _pragma(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def _chained(before: int, *texts: str) -> int:
    for text in texts:
        before = zlib.crc32(text.encode(), before)
    return before
