"""A log in a SQLite file that survives the death of its writer.

The file is in WAL mode: an entry is one transaction, and once :meth:`SqliteLog.append` has
returned, killing the process does not lose it. (A power failure may lose the last entries, but
never leaves half of one.) Other processes may read while one writes. Entries are chained by
checksums, so that a file that was edited, cut or damaged is detected and the error names it;
nothing is repaired silently.

A log may hold further studies besides its own (part 0), a retraining of the winner for example.
All share one sequence of entries and one chain of checksums.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from rungwise.core.decisions import Decision
from rungwise.core.events import Event
from rungwise.core.study import Study
from rungwise.errors import (
    CorruptLogError,
    InvalidArgumentError,
    LogInUseError,
    LogUnavailableError,
)
from rungwise.locking import FileLock
from rungwise.storage import codec
from rungwise.storage.base import Entry
from rungwise.storage.completeness import (
    State,
    count_notes,
    find_flaw,
    mark_closed,
    mark_open,
    measure_wal,
)
from rungwise.storage.known_files import KnownFiles, save_copy
from rungwise.storage.log_rows import chain_entry, read_entries, read_studies
from rungwise.storage.opening import (
    check_file,
    close_database,
    count_tables,
    is_small,
    open_database,
    prepare,
    read_pragma,
)
from rungwise.storage.schema import chain_checksum
from rungwise.storage.sqlite_errors import name_damage, name_errors
from rungwise.validation import one_of

Durability = Literal["normal", "full"]

MANY = 40_000
"""A log with more entries is not read from its beginning when that is not needed."""

AT_ONCE = 16
"""As many entries are committed by one statement, without a transaction around it, at most."""

CLEANUP_TIMEOUT = 10.0
"""Seconds to wait until the workers of a writer that died have been stopped."""


@dataclass(frozen=True, slots=True)
class _Access:
    """How a file is opened, see :class:`SqliteLog`."""

    durability: Durability
    checked: bool | None
    one_thread: bool


class SqliteLog(AbstractContextManager["SqliteLog"]):
    """A log in a file.

    Args:
        path: the file; it is created if it does not exist.
        mode: ``"write"`` (one process at a time), or ``"read"``.
        types: recipes, rankings and searchers beyond those of rungwise that the study uses.
        durability: ``"normal"``: what was appended survives the death of any process;
            ``"full"``: a power failure as well, which costs a flush to the disk each time.
        accept_loss: go on with what is there, although entries that were committed are missing.
        checked: look through every page of the file for damage, which takes longer the larger it
            is; by default unless it is large. Entries are checked in any case when they are read.
        any_thread: whether other threads than this one may use it, one at a time.

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
        accept_loss: bool = False,
        checked: bool | None = None,
        any_thread: bool = False,
    ) -> None:
        self.path = Path(path)
        one_of("mode", mode, ("write", "read"))
        one_of("durability", durability, ("normal", "full"))
        self._access = _Access(durability, checked, not any_thread)
        self._depth = 0
        self._wrote = False
        self.notes = 0  # how many there are; the study file counts them
        if mode == "read" and not self.path.exists():
            raise InvalidArgumentError("path", str(path), "there is no such file to read")
        self._types = tuple(types)
        self.lock = FileLock(self.path.with_name(self.path.name + ".lock"))
        fresh = not self.path.exists()
        if mode == "write":
            self._take_lock()
        try:
            # Read before the file: a writer notes only what it has committed.
            self._noted = () if fresh or accept_loss else self.lock.noted()
            wal_size = 1 if accept_loss else measure_wal(self.path)
            if fresh and mode == "write":
                self._note(0, 0, 0)  # and not what an earlier file of its name had
            self._database = self._connect(mode)
            try:
                self._parts = self._read_parts()
                self._length, self._checksum = self._tail()
                self._check_length(self._length)
                self._check_proof(wal_size)
                self._files = KnownFiles(self.path, self.lock.path) if mode == "write" else None
            except BaseException:
                self._disconnect()
                raise
        except BaseException:
            self.lock.release()
            raise

    def _take_lock(self) -> None:
        try:
            taken = self.lock.take(timeout=CLEANUP_TIMEOUT)
        except OSError as error:
            raise LogUnavailableError(str(self.path), str(error)) from error
        if not taken:
            raise LogInUseError(str(self.path), self.lock.describe_holder())

    def _note(self, *numbers: int) -> None:
        try:
            self.lock.note(*numbers)
        except OSError as error:
            raise LogUnavailableError(str(self.path), f"{self.path}.lock: {error}") from error

    def _check_length(self, length: int) -> None:
        """Raise if the log is shorter than it once was: then acknowledged entries are lost."""
        noted = self._noted[0] if self._noted else 0
        if length < noted:
            raise CorruptLogError(
                str(self.path),
                f"it has {length} entries, but {noted} were committed: the file {self.path}-wal "
                f"was damaged or removed, or a power failure lost them (durability='full' prevents "
                f"that). To continue without them: rungwise verify --accept-loss {self.path}",
            )

    def _check_proof(self, wal_size: int) -> None:
        """Raise if the file is not the one that was written last, or not all of it."""
        with name_damage(self.path):
            self.notes = count_notes(self._database) if self.version > 1 else 0
            flaw = find_flaw(
                self._database,
                self._state,
                self._noted,
                closing=self._found_version > 3,
                wal_size=wal_size,
            )
        if flaw is not None:
            raise CorruptLogError(str(self.path), flaw)

    @property
    def _state(self) -> State:
        return State(self._length, self._checksum, self.notes)

    @property
    def head(self) -> tuple[int, int]:
        """How many entries there are, and the last checksum of their chain."""
        return self._length, self._checksum

    # -- the log -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._length

    def begin(self, study: Study) -> None:
        if self._parts:
            rule = "it already contains a study: use a new file"
            raise InvalidArgumentError("log", str(self.path), rule)
        self.begin_part(study)

    def begin_part(self, study: Study) -> int:
        """Store the specification of a further study; returns its number."""
        part = len(self._parts)
        text = codec.to_text(codec.study_to_json(study))
        with self.transaction() as database:
            row = (text, chain_checksum(text, before=part), part)
            database.execute("INSERT INTO study (document, checksum, part) VALUES (?, ?, ?)", row)
            self._parts = [*self._parts, study]
        return part

    @property
    def begun(self) -> bool:
        """Whether it contains a study."""
        return bool(self._parts)

    @property
    def version(self) -> int:
        """How many migrations the file has had."""
        return read_pragma(self._database, "user_version")

    @property
    def study(self) -> Study:
        return self.read_study(0)

    def read_study(self, part: int) -> Study:
        """The specification of one of its studies."""
        if part >= len(self._parts):
            self._parts = self._read_parts()  # this is a reader: the part is newer than its cache
        if not self._parts:
            raise InvalidArgumentError("log", str(self.path), "it contains no study")
        if not 0 <= part < len(self._parts):
            raise CorruptLogError(str(self.path), f"its study {part} is missing")
        return self._parts[part]

    def append(self, event: Event, decision: Decision) -> None:
        self.extend([(event, decision)])

    def extend(self, entries: Iterable[Entry], *, part: int = 0) -> None:
        length, checksum = self._length, self._checksum
        rows = []
        for entry in entries:
            what, answer = codec.entry_to_texts(entry)
            checksum = chain_entry(what, answer, part, before=checksum)
            rows.append((length, what, answer, checksum, part))
            length += 1
        if not self._depth and self._wrote and 0 < len(rows) <= AT_ONCE:
            self._insert(rows)
            self._length, self._checksum = length, checksum
            self._note(*self._state)
            return
        with self.transaction() as database:
            database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", rows)
            self._length, self._checksum = length, checksum

    def _insert(self, rows: list[tuple[Any, ...]]) -> None:
        """Commit a few entries by one statement: SQLite stores all of its rows, or none."""
        values = ", ".join(["(?, ?, ?, ?, ?)"] * len(rows))
        try:
            self._database.execute(f"INSERT INTO entries VALUES {values}", list(chain(*rows)))  # noqa: S608 - places for values
        except sqlite3.Error:
            with name_errors(self.path):
                raise

    def read_from(
        self, start: int = 0, *, part: int = 0, after: tuple[int, int] = (0, 0)
    ) -> Iterator[Entry]:
        """The entries of a study from a position on.

        The entries of other studies are checked as well; of a large log only those from the first
        one of a later study on, if it is one that is read.

        Args:
            start: the position.
            part: the number of the study.
            after: a number of entries of the log, and the checksum of the chain there: only what
                follows is read, and positions count from there.
        """
        first, checksum = after
        if part and not first and self._length > MANY:
            first, checksum = self._find_later_parts()
        position = 0
        version = self.version
        with name_damage(self.path):
            rows = read_entries(self._database, self.path, version, (first, checksum))
            for number, what, answer, owner in rows:
                if owner != part:
                    continue
                if position >= start:
                    yield codec.entry_from_texts(what, answer, f"entry {number} of {self.path}")
                position += 1

    def check_entries(self) -> None:
        """Raise if an entry is missing or was altered; none is decoded."""
        with name_damage(self.path):
            for _ in read_entries(self._database, self.path, self.version, (0, 0)):
                pass

    def _find_later_parts(self) -> tuple[int, int]:
        """How many entries come before the first that is not of part 0, and their checksum."""
        ((number,),) = self.select("SELECT min(number) FROM entries WHERE part > 0")
        if number is None:
            return self.head
        before = self.select("SELECT checksum FROM entries WHERE number = ?", (number - 1,))
        return number, before[0][0] if before else 0

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, so that other processes can write to it."""
        try:
            with name_errors(self.path):
                if self._wrote:
                    with suppress(sqlite3.Error):  # a full disk: then it stays open, with its -wal
                        mark_closed(self._database, self._state)
                self._disconnect()
        finally:
            self.lock.release()

    # -- the file ------------------------------------------------------------------------------

    def find_loss(self) -> str | None:
        """Which of its files was deleted, moved or replaced since it was opened; None if none."""
        return None if self._files is None else self._files.find_loss()

    def rescue(self) -> Path:
        """Write everything to a new file, at its own place if there is nothing any more."""
        place = self.path if self._files is None else self._files.find_free_place()
        if place is not None:
            with name_errors(self.path):
                save_copy(self._database, place)
        return self.path if place is None else place

    def copy_to(self, place: Path) -> None:
        """Write one state of the file to a new file that is complete by itself."""
        with self.snapshot(), name_errors(self.path):
            save_copy(self._database, place)

    def _disconnect(self) -> None:
        close_database(self._database, self.path, wrote=self._wrote)

    def _connect(self, mode: str) -> sqlite3.Connection:
        write = mode == "write"
        with name_damage(self.path):
            database = open_database(self.path, write=write, one_thread=self._access.one_thread)
            try:
                if not count_tables(database):
                    self._check_length(0)
                checked = self._access.checked
                pages = is_small(self.path) if checked is None else checked
                self._found_version = check_file(database, self.path, fresh=write, pages=pages)
                durability = self._access.durability
                prepare(database, self._found_version, write=write, durability=durability)
            except BaseException:
                database.close()
                raise
        return database

    def _read_parts(self) -> list[Study]:
        version = self.version
        with name_damage(self.path):
            return read_studies(self._database, self.path, version, self._types)

    def _tail(self) -> tuple[int, int]:
        query = "SELECT number, checksum FROM entries ORDER BY number DESC LIMIT 1"
        last = self.select(query)
        with name_damage(self.path):
            return (last[0][0] + 1, int(last[0][1])) if last else (0, 0)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit everything that is written inside, or nothing; may be nested."""
        database = self._database
        if self._depth:
            yield database
            return
        before = self._length, self._checksum, self._parts, self.notes
        with name_errors(self.path):
            if not self._wrote:
                # First: a writer that is killed before its first commit leaves a whole file.
                self._note(*self._state)
                mark_open(database)
                self._wrote = True
            database.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back if the disk is full.
                if database.in_transaction:
                    database.execute("ROLLBACK")
                self._length, self._checksum, self._parts, self.notes = before
                raise
            finally:
                self._depth = 0
        self._note(*self._state)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one state of the file inside, whatever another process writes meanwhile."""
        with name_damage(self.path):
            self._database.execute("BEGIN")
            self._length, self._checksum = self._tail()  # the first read fixes the state
        try:
            yield
        finally:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def select(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with name_damage(self.path):
            return self._database.execute(query, values).fetchall()
