"""When a study stores a snapshot of itself: now and then if it is large, and when it is left."""

from __future__ import annotations

from rungwise.core.engine import Engine
from rungwise.errors import RungwiseError, SchemaError
from rungwise.session.part import Part
from rungwise.storage.snapshots import write_snapshot
from rungwise.storage.sqlite import MANY
from rungwise.storage.study_file import StudyPart

EVERY = MANY
"""Entries between two snapshots: at most that many are replayed, in about a second. A study with
fewer entries has one only while no tuner works on it, and is replayed whenever it is resumed."""


class SnapshotKeeper:
    """Stores snapshots of one study.

    Args:
        part: the study, in a file that is open for writing.
        engine: its engine.
    """

    def __init__(self, part: StudyPart, engine: Engine) -> None:
        self._part = part
        self._engine = engine
        self._log = part.file.log
        self._last = part.curves.entries
        self._next = self._last + EVERY
        self._possible = part.number == 0

    def work(self) -> None:
        """Store one if it is time; between two events, when all entries have been appended."""
        if len(self._log) >= self._next:
            self._keep()

    def close(self) -> None:
        """Store one of a study that this process leaves as it is now."""
        if len(self._log) > self._last:
            self._keep()

    def _keep(self) -> None:
        self._last = len(self._log)
        self._next = self._last + EVERY
        if not self._possible:
            return
        try:
            write_snapshot(self._log, self._engine, self._part.clock, self._part.curves)
        except SchemaError:  # a scheduler of the user's own: the study is replayed, as small ones
            self._possible = False
        except RungwiseError:  # a full disk, for example: the next report will say so
            pass


class Snapshots(Part):
    """Stores snapshots while a study runs, and when it is left."""

    def open(self) -> None:
        self._keeper = SnapshotKeeper(self.session.opened.part, self.session.engine)

    def step(self, now: float) -> None:  # noqa: ARG002
        self._keeper.work()

    def end(self, *, failed: bool) -> None:  # noqa: ARG002
        if self.session.in_step and self.session.opened.kept:
            self._keeper.close()
