"""A study file: the log, and what is known of a real study besides its events.

Nothing here changes a decision. It is written in the same transaction as the events it belongs
to, so that a file is never half a story.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from rungwise.backends.base import Failure
from rungwise.core.study import Study
from rungwise.errors import CorruptLogError, SchemaError
from rungwise.storage.base import Entry
from rungwise.storage.sqlite import Durability, SqliteLog

ABOUT = 1
"""The version of the document about a study."""


@dataclass(frozen=True, slots=True)
class About:
    """What a study file says about its study besides the specification.

    Attributes:
        metric: the name of the metric.
        open_ended: whether no maximum was given (the one in the scheduler is a safety net).
        train: how to find the training function or script again, if that can be said.
        options: how it was run: workers, retries and so on; resuming takes them as defaults.
        created: when, in ISO 8601.
        version: of rungwise.
    """

    metric: str
    open_ended: bool = False
    train: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    version: str = ""


class StudyFile:
    """A study in a file.

    Args:
        path: the file.
        mode: ``"write"`` or ``"read"``.
        durability: see :class:`SqliteLog`.
        types: recipes, rankings and searchers beyond those of rungwise.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: Literal["write", "read"] = "write",
        durability: Durability = "normal",
        types: Iterable[type] = (),
    ) -> None:
        self.log = SqliteLog(path, mode=mode, durability=durability, types=types)
        self.path = Path(path)
        self._pending: list[tuple[str, tuple[Any, ...]]] = []

    @property
    def folder(self) -> Path:
        """Where checkpoints and outputs live."""
        return files_of(self.path)

    @property
    def begun(self) -> bool:
        """Whether it holds a study."""
        return self.log.begun

    # -- the log -------------------------------------------------------------------------------

    def begin_with(self, study: Study, about: About) -> None:
        """Keep what the study is."""
        with self.log.transaction() as database:
            self.log.begin(study)
            document = json.dumps({"version_of_about": ABOUT, **asdict(about)})
            database.execute("INSERT INTO about VALUES (?)", (document,))

    def extend(self, entries: Iterable[Entry]) -> None:
        """Keep entries, and with them what was noted since the last ones."""
        pending, self._pending = self._pending, []
        if not pending:
            self.log.extend(entries)
            return
        with self.log.transaction() as database:
            self.log.extend(entries)
            for statement, row in pending:
                database.execute(statement, row)

    def read_from(self, start: int = 0) -> Iterator[Entry]:
        """The entries from a position on."""
        return self.log.read_from(start)

    # -- besides -------------------------------------------------------------------------------

    @property
    def about(self) -> About:
        """What the file says about its study."""
        found = self.log.select("SELECT document FROM about") if self.log.version >= 2 else []
        if not found:
            raise SchemaError(f"{self.path} holds a log, but not of a study that was tuned.")
        try:
            document = json.loads(found[0][0])
            if document.pop("version_of_about") != ABOUT:
                raise SchemaError(f"{self.path} was written by a later version of rungwise.")
            return About(**document)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, SchemaError):
                raise
            damage = f"what it says about its study cannot be read: {error}"
            raise CorruptLogError(str(self.path), damage) from error

    def note_failure(self, failure: Failure) -> None:
        """Keep a failure with the next entries."""
        row = (failure.job, json.dumps(asdict(failure)))
        self._pending.append(("INSERT INTO failures (job, document) VALUES (?, ?)", row))

    def note_extras(self, job: int, resource: float, extras: Mapping[str, float]) -> None:
        """Keep the other metrics of a report with the next entries."""
        row = (job, resource, json.dumps(dict(extras)))
        self._pending.append(("INSERT INTO extras (job, resource, document) VALUES (?, ?, ?)", row))

    def note_retrain(self, document: Mapping[str, Any]) -> None:
        """Keep what came of training the winner in full."""
        with self.log.transaction() as database:
            row = (json.dumps(dict(document)),)
            database.execute("INSERT INTO retrains (document) VALUES (?)", row)

    def failures(self) -> list[Failure]:
        """All failures, in order."""
        query = "SELECT document FROM failures ORDER BY number"
        return [Failure(**document) for document in self._documents(query)]

    def extras(self) -> dict[tuple[int, float], dict[str, float]]:
        """(job, resource) → the other metrics of that report."""
        query = "SELECT job, resource, document FROM extras ORDER BY number"
        rows = self.log.select(query) if self.log.version >= 2 else []
        return {(job, resource): json.loads(text) for job, resource, text in rows}

    def retrains(self) -> list[dict[str, Any]]:
        """What came of training winners in full, in order."""
        return self._documents("SELECT document FROM retrains ORDER BY number")

    def _documents(self, query: str) -> list[Any]:
        rows = self.log.select(query) if self.log.version >= 2 else []
        return [json.loads(text) for (text,) in rows]

    # -- the file ------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file and let others write to it."""
        self.log.close()

    def __enter__(self) -> StudyFile:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def files_of(path: str | os.PathLike[str]) -> Path:
    """The folder beside a study file that holds its checkpoints."""
    path = Path(path)
    return path.with_name(path.name + ".files")
