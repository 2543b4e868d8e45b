"""What schedulers share: rungs under a ceiling, or a maximum that never moves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Cut, Rung
from rungwise.core.scheduler import Extension, Trace
from rungwise.core.trials import Trial
from rungwise.schedulers.ceilings import Ceiling, CheckRecord

CeilingOver = Callable[[Ladder, Sequence[Rung]], Ceiling]
"""Builds a ceiling over the rungs of a scheduler."""


class UnderCeiling:
    """Rungs on a ladder, and a ceiling over them.

    Args:
        ladder: where the rungs are.
        ceiling: the highest rung that trials may reach now.
        cut: which part of a rung may continue.
    """

    def __init__(self, ladder: Ladder, *, ceiling: CeilingOver, cut: Cut) -> None:
        self.ladder = ladder
        self.rungs = [Rung(level, cut) for level in ladder.levels]
        self.ceiling = ceiling(ladder, self.rungs)
        self._cut = cut
        self._levels = ladder.levels
        self._top = ladder.top

    def started(self, trial: Trial) -> None:
        """A new trial is in no rung yet."""

    def extend(self, extension: Extension) -> Sequence[int]:
        """Further rungs above the old maximum, which stays one; more trials need nothing."""
        if extension.max_resource is None:
            return ()
        ladder = self.ladder.raised_to(extension.max_resource)
        return self.raise_to(ladder, extension.known, extension.reports)

    def raise_to(self, ladder: Ladder, known: Sequence[Trial], reports: int) -> Sequence[int]:
        """Add the rungs of a longer ladder; the trials that may be promoted again."""
        old = self._top
        # The ceiling reads the same list.
        self.rungs.extend(Rung(level, self._cut) for level in ladder.levels[old + 1 :])
        self.ladder, self._levels, self._top = ladder, ladder.levels, ladder.top
        for trial in known:
            if trial.rung == old:
                self._enter_passed(trial)
        self.ceiling.extend(ladder, known, reports)
        return ()

    def _enter_passed(self, trial: Trial) -> None:
        """Enter the new rungs that a trial has passed already, with a report beyond the maximum."""
        levels = self._levels
        while trial.rung < self._top and levels[trial.rung + 1] <= trial.resource:
            trial.rung += 1
            place = bisect_left(trial.resources, levels[trial.rung])
            self.rungs[trial.rung].enter(trial.id, trial.losses[place])

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
        """What the checks of the ceiling found; for readers."""
        return self.ceiling.checks

    def explain(self) -> str:
        return self.ceiling.explain()


class ToTheMaximum:
    """A fixed ceiling: the last rung of the ladder.

    Args:
        ladder: where the rungs are.
    """

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.levels: Sequence[int] = ladder.levels
        self.version = 0  # a worker waits only for others to end
        self.ceilings: Trace = ((0, ladder.max_resource),)
        self.epsilons: Trace = ()

    def raise_ladder(self, ladder: Ladder, reports: int) -> None:
        """Use a longer ladder from now on."""
        self.ladder, self.levels = ladder, ladder.levels
        self.ceilings = (*self.ceilings, (reports, ladder.max_resource))
