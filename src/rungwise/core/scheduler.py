"""The interface between the engine and its schedulers.

A *recipe* (``rw.PASHA(…)``) is a frozen value that can be reused, compared and stored; it builds
a *scheduler*, which holds the state of one study. Only the engine calls a scheduler.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from rungwise.core.decisions import Continue, Pause, Stop
from rungwise.core.ladder import Ladder
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


CheckRecord = tuple[int, float, "float | None", "float | None", bool]
"""(number of reports so far, what was measured, its bound, ε, whether the ranking was stable)."""

Winner = Literal["top", "best"]
"""``"top"``: the best at the highest rung; ``"best"``: the best value at any resource."""


class Bracket(Protocol):
    """A part of a scheduler with a ladder of its own, for reading."""

    @property
    def ladder(self) -> Ladder:
        """Where its rungs are."""


@runtime_checkable
class Scheduler(Protocol):
    """Decides which trial is trained next, and how far. Inherit from it: most members are optional.

    What is a property here may be a property or an attribute of a scheduler.
    """

    __slots__ = ()

    # -- decisions -----------------------------------------------------------------------------

    @abstractmethod
    def next_move(self, *, may_draw: bool) -> Move | None:
        """What a free worker should do; None when there is nothing now.

        A :class:`Promote` takes effect at once; a :class:`Draw` changes nothing until
        :meth:`started` confirms it.
        """

    def started(self, trial: Candidate) -> None:
        """A drawn trial has been started."""
        del trial

    @abstractmethod
    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        """A trial reported at a new resource; the curve holds the report already."""

    @abstractmethod
    def released(self, trial: Candidate) -> None:
        """The job of a trial that was paused or stopped has left its worker."""

    @abstractmethod
    def dropped(self, trial: Candidate) -> None:
        """A trial gets no further: it ranks last at the level of its job.

        It failed or ended on its way there; or the :class:`Promote` to that level was refused.
        """

    def extend(self, extension: Extension) -> Reopened:
        """Go on with what the study has been extended by; no trial is trained again.

        A scheduler that does not override this method cannot be given a higher maximum.
        """
        del extension
        return Reopened()

    @abstractmethod
    def explain(self) -> str:
        """Why the ceiling is where it is, as a clause of a message."""

    @property
    def raisable(self) -> bool:
        """Whether the maximum can be raised: whether it has a method ``extend`` of its own."""
        return type(self).extend is not Scheduler.extend

    if TYPE_CHECKING:

        @property
        def pauses(self) -> bool:
            """Whether a trial that goes on is paused at its rung first; else it goes on at once."""
            return True

        @property
        def version(self) -> int:
            """Grows whenever a worker that is waiting should request a job again.

            By default only the end of another job is a reason.
            """
            return 0

        # -- for readers -----------------------------------------------------------------------

        @property
        @abstractmethod
        def ceilings(self) -> Trace:
            """How far trials were allowed to go over time."""

        @property
        @abstractmethod
        def levels(self) -> Sequence[int]:
            """The levels at which trials are compared, ascending, up to the current ceiling."""

        @property
        def epsilons(self) -> Trace:
            """The values of ε that checks used, if the criterion has one."""
            return ()

        @property
        def checks(self) -> Sequence[CheckRecord]:
            """What the checks of a ceiling found, whenever that had changed."""
            return ()

        @property
        def ladder(self) -> Ladder | None:
            """Where the rungs are, if there is one ladder."""
            return None

        @property
        def brackets(self) -> Sequence[Bracket] | None:
            """The brackets by their numbers, if they use parts of a ladder."""
            return None

    else:  # plain values, so that a scheduler may have attributes of these names
        ceilings: Trace
        levels: Sequence[int]
        pauses, version, epsilons, checks, ladder, brackets = True, 0, (), (), None, None


@runtime_checkable
class Recipe(Protocol):
    """A frozen description of a scheduler. Inherit from it: its properties have defaults."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        @abstractmethod
        def max_resource(self) -> int | None:
            """The furthest any trial may be trained; None when open-ended."""

        @property
        def min_resource(self) -> int:
            """Where its ladder begins; 1 if it has none."""
            return 1

        @property
        def eta(self) -> int:
            """The factor between its rungs; 3, the usual one, if it has none."""
            return 3

        @property
        def winner(self) -> Winner:
            """Which trial wins if the user does not say it."""
            return "best"

    else:  # plain values, so that a dataclass may have fields of these names
        max_resource: int | None
        min_resource, eta, winner = 1, 3, "best"

    @abstractmethod
    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""

    @abstractmethod
    def limited_to(self, max_resource: int) -> Recipe:
        """The same recipe for at most this resource (used if none was given)."""

    def noise_percentile(self) -> float | None:
        """Which percentile of the noise in the curves is ε; None: its checks need no ε."""
        return None
