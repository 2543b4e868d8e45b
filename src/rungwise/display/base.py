"""What a display is: it is told how a study stands, and shows it to a person or a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rungwise.backends.base import WorkerView
from rungwise.views import StudyView


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A study at one moment.

    Attributes:
        view: everything that was decided, for reading.
        elapsed: seconds since the study began.
        workers: what they do.
        failures: how many jobs failed so far, retried ones included.
        checkpoints_bytes: how much room the checkpoints take.
        study: where the study is kept, as the user would write it.
        open_ended: whether no maximum was given; the one in the scheduler is a safety net then.
    """

    view: StudyView
    elapsed: float
    workers: Sequence[WorkerView] = ()
    failures: int = 0
    checkpoints_bytes: int = 0
    study: str = ""
    open_ended: bool = False

    @property
    def metric(self) -> str:
        """The name of what is measured."""
        return self.view.metric

    @property
    def max_resource(self) -> float | None:
        """How far a trial may be trained; None where that is open."""
        return None if self.open_ended else self.view.recipe.max_resource

    @property
    def busy(self) -> int:
        """How many workers have a job."""
        return sum(worker.trial is not None for worker in self.workers)


class Display(Protocol):
    """Shows a study while it runs. A closed terminal or a broken pipe never harms the study."""

    def begin(self, snapshot: Snapshot) -> None:
        """The study begins, or goes on."""
        ...

    def due(self) -> bool:
        """Whether :meth:`update` would do anything now: cheap, to be asked before every one."""
        ...

    def update(self, snapshot: Snapshot) -> None:
        """How it stands; may be called as often as one likes."""
        ...

    def notice(self, text: str) -> None:
        """Something a person should know: a failure, a warning, an eviction."""
        ...

    def end(self, snapshot: Snapshot, text: str) -> None:
        """The study ended; ``text`` says how."""
        ...
