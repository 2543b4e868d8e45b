"""A study file: the log, and what is known about a real study besides its events.

Nothing here changes a decision. It is written in the same transaction as the events it belongs
to, so that a file always has both or neither.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from rungwise.core.failures import Failure
from rungwise.core.study import Study
from rungwise.errors import CorruptLogError, SchemaError
from rungwise.storage import record
from rungwise.storage.base import Entry
from rungwise.storage.record import StudyRecord
from rungwise.storage.schema import chain_checksum
from rungwise.storage.snapshots import KeptCurves
from rungwise.storage.sqlite import Durability, SqliteLog


class StudyFile(AbstractContextManager["StudyFile"]):
    """A study in a file.

    Args:
        path: the file.
        mode: ``"write"`` or ``"read"``.
        durability: see :class:`SqliteLog`.
        types: recipes, rankings and searchers beyond those of rungwise.
        checked: see :class:`SqliteLog`.
        any_thread: see :class:`SqliteLog`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: Literal["write", "read"] = "write",
        durability: Durability = "normal",
        types: Iterable[type] = (),
        checked: bool | None = None,
        any_thread: bool = False,
    ) -> None:
        self.types = tuple(types)
        self.log = SqliteLog(
            path,
            mode=mode,
            durability=durability,
            types=self.types,
            checked=checked,
            any_thread=any_thread,
        )
        self.path = Path(path)
        self.main = StudyPart(self, 0)
        self._pending: list[tuple[str, str]] = []
        self._about: StudyRecord | None = None

    @property
    def folder(self) -> Path:
        """The folder of checkpoints and outputs."""
        return study_folder(self.path)

    @property
    def held_open(self) -> tuple[int, ...]:
        """The file descriptors that hold the lock: a process that inherits them holds it too."""
        lock = self.log.lock.fileno()
        return () if lock is None else (lock,)

    @property
    def begun(self) -> bool:
        """Whether it holds a study."""
        return self.log.begun

    # -- the log -------------------------------------------------------------------------------

    def begin_with(self, study: Study, about: StudyRecord) -> None:
        """Store the specification of the study."""
        with self.log.transaction():
            self.log.begin(study)
            self._note("about", about.to_json())
            self._flush()

    def change_about(self, about: StudyRecord) -> None:
        """Keep how the study is run from now on; what it is stays."""
        self._note("about", about.to_json())
        self._flush()
        self._about = None

    def extend(self, entries: Iterable[Entry], *, part: int = 0) -> None:
        """Store entries, and in the same transaction the notes made since the last ones."""
        if not self._pending:
            self.log.extend(entries, part=part)
            return
        with self.log.transaction():
            self.log.extend(entries, part=part)
            self._flush()

    def read_from(self, start: int = 0) -> Iterator[Entry]:
        """The entries of the study itself from a position on."""
        return self.log.read_from(start)

    def begin_retraining(self, study: Study, trial: int) -> StudyPart:
        """Begin the retraining of a trial: a separate study in the same log."""
        with self.log.transaction():
            part = self.log.begin_part(study)
            self._note("retraining", {"part": part, "trial": trial})
            self._flush()
        return StudyPart(self, part)

    def retrainings(self) -> list[tuple[int, StudyPart]]:
        """The retrainings that were begun, in order: [(trial, study), …]."""
        with self._checking("a retraining"):
            return [
                (found["trial"], StudyPart(self, found["part"]))
                for _, found in self._noted("retraining")
            ]

    # -- notes ---------------------------------------------------------------------------------

    @property
    def about(self) -> StudyRecord:
        """What the file holds about its study, by the last change; it is read once."""
        if self._about is None:
            self._about = self._read_about()
        return self._about

    def _read_about(self) -> StudyRecord:
        found = self._noted("about")
        if not found:
            raise SchemaError(f"{self.path} holds a log, but it was not written by rungwise.tune.")
        with self._checking("the description of its study"):
            document = dict(found[-1][1])
        if document.get("version_of_about") != record.VERSION:
            raise SchemaError(f"{self.path} was written by a later version of rungwise.")
        with self._checking("the description of its study"):
            return StudyRecord.from_json(document)

    def note_failure(self, failure: Failure, *, part: int = 0) -> None:
        """Store a failure with the next entries."""
        self._note(_failures(part), asdict(failure))

    def failures(self, *, part: int = 0) -> list[Failure]:
        """All failures of a study, in order."""
        with self._checking("a failure"):
            return [Failure(**document) for _, document in self._noted(_failures(part))]

    def note_notice(self, at: float, text: str) -> None:
        """Store a notice that was shown, with the next entries.

        Args:
            at: when, in seconds since the study began.
            text: what was said.
        """
        self._note("notice", {"at": at, "text": text})

    def notices(self) -> list[tuple[float, str]]:
        """[(seconds since the study began, text), …] of the notices that were shown."""
        with self._checking("a notice"):
            return [(float(found["at"]), str(found["text"])) for _, found in self._noted("notice")]

    def extras(self) -> dict[tuple[int, float], dict[str, float]]:
        """(job, resource) → the other metrics of that report, as version 0.1.0 stored them.

        Since then they are part of the report itself (:attr:`Reported.metrics`).
        """
        with self._checking("a metric"):
            return {
                (found["job"], found["resource"]): found["metrics"]
                for _, found in self._noted("extras")
            }

    def retrains(self) -> list[dict[str, Any]]:
        """The results of training winners in full, as version 0.1.0 stored them.

        Since then retrainings are studies of their own (:meth:`retrainings`).
        """
        return [document for _, document in self._noted("retrain")]

    def _note(self, kind: str, document: Mapping[str, Any]) -> None:
        self._pending.append((kind, json.dumps(dict(document))))

    def _flush(self) -> None:
        """Write what is pending; in a transaction."""
        pending, self._pending = self._pending, []
        with self.log.transaction() as database:
            (first,) = database.execute("SELECT ifnull(max(number), -1) + 1 FROM notes").fetchone()
            rows = [
                (number, kind, text, chain_checksum(kind, text, before=number))
                for number, (kind, text) in enumerate(pending, start=first)
            ]
            database.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
            self.log.notes = first + len(rows)

    def _noted(self, *kinds: str) -> list[tuple[str, dict[str, Any]]]:
        """(kind, document) of some kinds, in order; all notes are checked."""
        if self.log.version < 2:
            return []
        found = []
        rows = self.log.select("SELECT number, kind, document, checksum FROM notes ORDER BY number")
        with self._checking("a note"):
            for expected, (number, what, text, stored) in enumerate(rows):
                if number != expected:
                    raise CorruptLogError(str(self.path), f"note {expected} is missing")
                if chain_checksum(what, text, before=number) != stored:
                    raise CorruptLogError(str(self.path), f"note {number} was altered")
                if what in kinds:
                    found.append((what, json.loads(text)))
        return found

    @contextmanager
    def _checking(self, what: str) -> Iterator[None]:
        try:
            yield
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            OverflowError,
            RecursionError,
        ) as error:
            raise CorruptLogError(str(self.path), f"{what} cannot be read: {error}") from error

    # -- the file ------------------------------------------------------------------------------

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, so that other processes can write to it."""
        self.log.close()


class StudyPart:
    """One of the studies in a file: its own, or the retraining of a winner.

    Args:
        file: the file.
        number: 0 for the study itself.

    Attributes:
        clock: where its clock stands, as far as its entries have been folded or written.
        curves: what snapshots of the file hold of its curves.
    """

    def __init__(self, file: StudyFile, number: int) -> None:
        self.file = file
        self.number = number
        self.clock = 0.0
        self.curves = KeptCurves()

    @property
    def study(self) -> Study:
        """Its specification."""
        return self.file.log.read_study(self.number)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Store entries."""
        stored = list(entries)
        self.file.extend(stored, part=self.number)
        for event, _ in stored:
            self.clock = max(self.clock, event.at)

    def read_from(self, start: int = 0, *, after: tuple[int, int] = (0, 0)) -> Iterator[Entry]:
        """Its entries from a position on; see :meth:`SqliteLog.read_from`."""
        return self.file.log.read_from(start, part=self.number, after=after)

    def note_failure(self, failure: Failure) -> None:
        """Store a failure with the next entries."""
        self.file.note_failure(failure, part=self.number)

    def failures(self) -> list[Failure]:
        """All its failures, in order."""
        return self.file.failures(part=self.number)


def _failures(part: int) -> str:
    """The kind of the notes that hold failures."""
    return f"failure of {part}" if part else "failure"


def shown(path: Path) -> str:
    """A path for messages: relative if it is in the working folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def study_folder(path: str | os.PathLike[str]) -> Path:
    """The folder beside a study file that holds its checkpoints."""
    path = Path(path)
    return path.with_name(path.name + ".files")
