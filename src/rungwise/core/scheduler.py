"""The interface between the engine and its schedulers.

A *recipe* (``rw.PASHA(…)``) is a frozen value that can be reused, compared and stored; it builds
a *scheduler*, which holds the state of one study. Only the engine calls a scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rungwise.core.decisions import Continue, Pause, Stop
from rungwise.core.trials import Trial


@dataclass(frozen=True, slots=True)
class Promote:
    """Train a paused trial further."""

    trial: int
    until: int


@dataclass(frozen=True, slots=True)
class Draw:
    """Start a new configuration."""

    until: int
    bracket: int = 0


Move = Promote | Draw


@dataclass(frozen=True, slots=True)
class Extension:
    """A study goes on with more trials, or up to a higher maximum.

    Attributes:
        trials: how many configurations are drawn at most from now on; None for no limit.
        max_resource: the new maximum; None if it stays. No job is open when it is raised.
        known: all trials drawn so far, by id.
        reports: the number of reports so far.
    """

    trials: int | None
    max_resource: int | None
    known: Sequence[Trial]
    reports: int


Trace = Sequence[tuple[int, float]]
"""[(number of reports so far, value), …]: how a quantity changed over the study."""


class Scheduler(Protocol):
    """Decides which trial is trained next, and how far."""

    def next_move(self, *, may_draw: bool) -> Move | None:
        """What a free worker should do; None when there is nothing now.

        A :class:`Promote` takes effect at once; a :class:`Draw` changes nothing until
        :meth:`started` confirms it.
        """
        ...

    def started(self, trial: Trial) -> None:
        """A drawn trial has been started."""
        ...

    def reported(self, trial: Trial, resource: float, loss: float) -> Continue | Pause | Stop:
        """A trial reported at a new resource; the curve holds the report already."""
        ...

    def released(self, trial: Trial) -> None:
        """The job of a trial that was paused or stopped has left its worker."""
        ...

    def dropped(self, trial: Trial) -> None:
        """A trial failed or ended before the level of its job: it ranks last at that level."""
        ...

    def extend(self, extension: Extension) -> Sequence[int]:
        """Go on with what the study has been extended by; no trial is trained again.

        A scheduler of your own may do without this method: then its studies cannot be given a
        higher maximum.

        Returns:
            The trials that were done, trained to the old maximum, and may be promoted from now on.
            For a trial whose job will be started again :attr:`Trial.until` may be raised.
        """
        ...

    @property
    def version(self) -> int:
        """Grows whenever a worker that is waiting should request a job again."""
        ...

    @property
    def ceilings(self) -> Trace:
        """How far trials were allowed to go over time."""
        ...

    @property
    def levels(self) -> Sequence[int]:
        """The levels at which trials are compared, ascending, up to the current ceiling."""
        ...

    @property
    def epsilons(self) -> Trace:
        """The values of ε that checks used, if the criterion has one."""
        ...

    def explain(self) -> str:
        """Why the ceiling is where it is, as a clause of a message."""
        ...


@runtime_checkable
class Recipe(Protocol):
    """A frozen description of a scheduler."""

    @property
    def max_resource(self) -> int | None:
        """The furthest any trial may be trained; None when open-ended."""
        ...

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        ...

    def limited_to(self, max_resource: int) -> Recipe:
        """The same recipe for at most this resource (used if none was given)."""
        ...
