"""What a person sees of a study while it runs."""

from __future__ import annotations

from rungwise.core.events import JobFailed, Request, StudyExtended, TrialStopped
from rungwise.core.failures import Failure
from rungwise.display import Snapshot
from rungwise.session.part import Left, Part
from rungwise.storage.study_file import shown

INTERRUPTED = (
    "interrupted: every running job trains to its next report, then the study stops and can be "
    "resumed; interrupt again to stop at once"
)


class Shown(Part):
    """Keeps the display up to date."""

    def open(self) -> None:
        self._failures = len(self.session.opened.part.failures())
        self._failed_trials = 0
        self._said = False

    def begin(self) -> None:
        if not self.session.is_over:
            self._failed_trials = sum(trial.failed for trial in self.session.engine.trials)
            self.session.display.begin(self._take())

    def failed(self, failure: Failure, *, again: bool) -> None:  # noqa: ARG002
        self._failures += 1

    def left(self, fact: Left, trial: int) -> None:  # noqa: ARG002
        self._failed_trials += type(fact) is JobFailed

    def requested(self, event: Request | StudyExtended) -> None:
        self._failed_trials += isinstance(event, TrialStopped) and event.outcome == "failed"

    def step(self, now: float) -> None:  # noqa: ARG002
        if self.session.interrupted and not self._said:
            # Shown here and not in the signal handler, which may run in the middle of a line.
            self._said = True
            self.session.notice(INTERRUPTED)
        if self.session.display.due():
            self.session.display.update(self._take())

    def end(self, *, failed: bool) -> None:  # noqa: ARG002
        if self.session.has_started:
            snapshot = self._take(running=False)
            text = f"{self.session.why()} {snapshot.view.numbers}".rstrip()
            self.session.display.end(snapshot, text)

    def _take(self, *, running: bool = True) -> Snapshot:
        session = self.session
        opened = session.opened
        return Snapshot(
            view=session.view(running=running),
            elapsed=session.seconds,
            workers=session.backend.views(),
            failures=self._failures,
            failed_trials=self._failed_trials,
            checkpoints_bytes=session.checkpoints_bytes,
            study=shown(opened.file.path) if opened.kept else "study (not kept)",
        )
