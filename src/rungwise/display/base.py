"""What a display is: it receives the state of a study, and shows it to a person or a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from rungwise.backends.base import WorkerView
from rungwise.views import StudyView


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a study at one time.

    Attributes:
        view: everything that was decided, for reading.
        elapsed: seconds since the study began.
        workers: what they do.
        failures: how many jobs have failed so far, retried ones included.
        failed_trials: how many trials have failed and are not retried.
        checkpoints_bytes: how much disk space the checkpoints take.
        study: where the study is kept, as the user would write it.
    """

    view: StudyView
    elapsed: float
    workers: Sequence[WorkerView] = ()
    failures: int = 0
    failed_trials: int = 0
    checkpoints_bytes: int = 0
    study: str = ""

    @property
    def metric(self) -> str:
        """The name of what is measured."""
        return self.view.metric

    @property
    def max_resource(self) -> float | None:
        """How far a trial may be trained; None where that is open."""
        return self.view.maximum

    @property
    def busy(self) -> int:
        """How many workers have a job."""
        return sum(worker.trial is not None for worker in self.workers)


@runtime_checkable
class Display(Protocol):
    """Shows a study while it runs: inherit from it, and override what shows something.

    A closed terminal or a broken pipe never harms the study.

    Attributes:
        shows_notices: whether a person sees what :meth:`notice` is told; else it is a warning.
        needs_terminal: whether it can only draw on a terminal.
    """

    shows_notices: ClassVar[bool] = True
    needs_terminal: ClassVar[bool] = False

    def begin(self, snapshot: Snapshot) -> None:
        """The study begins, or is resumed."""
        del snapshot

    def due(self) -> bool:
        """Whether :meth:`update` would do anything now: cheap, to be called before every update."""
        return False

    def update(self, snapshot: Snapshot) -> None:
        """Show the state of the study; may be called at any rate."""
        del snapshot

    def notice(self, text: str) -> None:
        """Show something that a person should know: a failure, a warning, an eviction."""
        del text

    def end(self, snapshot: Snapshot, text: str) -> None:
        """The study has ended or was interrupted; ``text`` says why."""
        del snapshot, text


class Adopted(Display):
    """A display of a user's whose class does not inherit from :class:`Display`."""
