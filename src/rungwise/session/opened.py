"""A study that was opened to be run."""

from __future__ import annotations

from dataclasses import dataclass, field

from rungwise.checkpoints import CheckpointStore
from rungwise.core.engine import Engine
from rungwise.options.study_options import RunOptions
from rungwise.session.assignments import AssignmentMaker
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile, StudyPart
from rungwise.views import StudyView


@dataclass(frozen=True)
class OpenedStudy:
    """A study in a file that is open for writing, with all that running it takes but a backend.

    Attributes:
        part: the study: that of the file, or a retraining in it.
        engine: its engine; no job is open.
        since: where its clock stands.
        options: how it is run.
        assignments: makes the assignments of workers.
        kept: whether the file outlives the process.
        store: where checkpoints are kept.
    """

    part: StudyPart
    engine: Engine
    since: float
    options: RunOptions
    assignments: AssignmentMaker
    kept: bool = True
    store: CheckpointStore = field(init=False)

    def __post_init__(self) -> None:
        store = self.options.store_beside(self.part.file.path)
        object.__setattr__(self, "store", store)

    @property
    def file(self) -> StudyFile:
        """The file it is in."""
        return self.part.file

    @property
    def about(self) -> StudyRecord:
        """What the file says of its study."""
        return self.part.file.about

    def view(self, *, running: bool, seconds: float | None = None) -> StudyView:
        """The study, for reading.

        Args:
            running: whether it is being worked on.
            seconds: how long it has taken; as long as when it was opened by default.
        """
        reported = running or self.engine.reports > 0
        return StudyView.of(
            self.engine,
            self.about,
            self.file.path if self.kept else None,
            running=running,
            seconds=self.since if seconds is None else seconds,
            failures=0 if reported else len(self.part.failures()),
        )
