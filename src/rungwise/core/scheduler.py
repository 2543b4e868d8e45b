"""The interface between the engine and its schedulers.

A *recipe* (``rw.PASHA(…)``) is a frozen value that can be reused, compared and stored; it builds
a *scheduler*, which holds the state of one study. Only the engine calls a scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rungwise.core.decisions import Continue, Pause, Stop
from rungwise.core.trials import Candidate


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
    known: Sequence[Candidate]
    reports: int


@dataclass(frozen=True, slots=True)
class Reopened:
    """What becomes of trials when a study goes on; no other trial is trained again.

    Attributes:
        waiting: the trials that were done, trained to the old maximum, and may be promoted from
            now on.
        until: trial → how far its job runs from now on, of those whose jobs will be started again.
    """

    waiting: Sequence[int] = ()
    until: Mapping[int, int] = field(default_factory=dict)


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

    def started(self, trial: Candidate) -> None:
        """A drawn trial has been started."""
        ...

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        """A trial reported at a new resource; the curve holds the report already."""
        ...

    def released(self, trial: Candidate) -> None:
        """The job of a trial that was paused or stopped has left its worker."""
        ...

    def dropped(self, trial: Candidate) -> None:
        """A trial gets no further: it ranks last at the level of its job.

        It failed or ended on its way there; or the :class:`Promote` to that level was refused.
        """
        ...

    def extend(self, extension: Extension) -> Reopened:
        """Go on with what the study has been extended by; no trial is trained again.

        A scheduler of your own may do without this method: then its studies cannot be given a
        higher maximum.
        """
        ...

    @property
    def pauses(self) -> bool:
        """Whether a trial that goes on is paused at its rung first; else it goes on at once."""
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
