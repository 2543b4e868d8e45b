"""What schedulers share: rungs under a ceiling, or a maximum that never moves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Cut, Rung
from rungwise.core.scheduler import CheckRecord, Extension, Reopened, Scheduler, Trace
from rungwise.core.trials import Candidate, State
from rungwise.schedulers.ceilings import Ceiling

CeilingOver = Callable[[Ladder, Sequence[Rung]], Ceiling]
"""Builds a ceiling over the rungs of a scheduler."""


def waits_at(trial: Candidate, maximum: int) -> bool:
    """Return whether a trial was done with a job to a maximum, so that a higher one reopens it."""
    return trial.state is State.STOPPED and max(trial.until, trial.resource) >= maximum


class UnderCeiling(Scheduler):
    """Rungs on a ladder, and a ceiling over them.

    Args:
        ladder: where the rungs are.
        ceiling: the highest rung that trials may reach now.
        cut: which part of a rung may continue.
    """

    ladder: Ladder

    def __init__(self, ladder: Ladder, *, ceiling: CeilingOver, cut: Cut) -> None:
        self.ladder = ladder
        self.rungs = [Rung(level, cut) for level in ladder.levels]
        self.ceiling = ceiling(ladder, self.rungs)
        self._cut = cut
        self._levels = ladder.levels
        self._top = ladder.top

    def extend(self, extension: Extension) -> Reopened:
        """Further rungs above the old maximum, which stays one; more trials need nothing."""
        if extension.max_resource is None:
            return Reopened()
        ladder = self.ladder.raised_to(extension.max_resource)
        return self.raise_to(ladder, extension.known, extension.reports)

    def raise_to(self, ladder: Ladder, known: Sequence[Candidate], reports: int) -> Reopened:
        """Add the rungs of a longer ladder."""
        old = self._top
        # The ceiling reads the same list.
        self.rungs.extend(Rung(level, self._cut) for level in ladder.levels[old + 1 :])
        self.ladder, self._levels, self._top = ladder, ladder.levels, ladder.top
        for trial in known:
            if trial.id in self.rungs[old].losses:
                self._enter_passed(trial)
        self.ceiling.extend(ladder, known, reports)
        return Reopened()

    def _enter_passed(self, trial: Candidate) -> None:
        """Enter the rungs that a trial has passed already, with a report beyond the maximum."""
        for rung in self.rungs[self._count_entered(trial.id) :]:
            if rung.level > trial.resource:
                return
            rung.enter(trial.id, trial.losses[bisect_left(trial.resources, rung.level)])

    def _count_entered(self, trial: int) -> int:
        """Return how many rungs a trial has entered: the lowest ones, up to where it stands."""
        for number, rung in enumerate(self.rungs):
            if trial not in rung.losses:
                return number
        return len(self.rungs)

    @property
    def version(self) -> int:
        return len(self.ceiling.levels)

    @property
    def ceilings(self) -> Trace:
        return self.ceiling.levels

    @property
    def levels(self) -> Sequence[int]:
        return self._levels[: self.ceiling.rung + 1]

    @property
    def epsilons(self) -> Trace:
        return self.ceiling.epsilons

    @property
    def checks(self) -> Sequence[CheckRecord]:
        return self.ceiling.checks

    def explain(self) -> str:
        return self.ceiling.explain()


class ToTheMaximum(Scheduler):
    """A fixed ceiling: the last rung of the ladder.

    Args:
        ladder: where the rungs are.
    """

    ladder: Ladder
    ceilings: Trace

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.ceilings = ((0, ladder.max_resource),)

    @property
    def levels(self) -> Sequence[int]:
        return self.ladder.levels

    def raise_ladder(self, ladder: Ladder, reports: int) -> None:
        """Use a longer ladder from now on."""
        self.ladder = ladder
        self.ceilings = (*self.ceilings, (reports, ladder.max_resource))
