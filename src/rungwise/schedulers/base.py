"""What schedulers share: rungs under a ceiling, or a maximum that never moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Cut, Rung
from rungwise.core.scheduler import Trace
from rungwise.core.trials import Trial
from rungwise.schedulers.ceilings import Ceiling

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
        self._levels = ladder.levels
        self._top = ladder.top

    def started(self, trial: Trial) -> None:
        """A new trial is in no rung yet."""

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
