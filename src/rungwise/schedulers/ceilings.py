"""Ceilings: how high trials may climb at the moment.

ASHA's ceiling is fixed; PASHA's is progressive: that is the whole difference between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from rungwise.core.checks import Goal
from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Rung
from rungwise.core.scheduling import Trace
from rungwise.core.trials import Trial
from rungwise.rankings.base import Ranking, Verdict, no_noise
from rungwise.rankings.crossings import Crossings
from rungwise.rankings.standing import Standing

Check = Literal["rung", "report"]


class Ceiling(Protocol):
    """The highest rung that may be entered now."""

    rung: int

    def reported(self, trial: Trial, *, arrived: bool) -> None:
        """A trial reported; rungs it reached with this report hold it already."""
        ...

    @property
    def levels(self) -> Trace:
        """[(number of reports so far, level), …], from the first ceiling on."""
        ...

    @property
    def epsilons(self) -> Trace:
        """[(number of reports so far, ε), …] as checks asked for it."""
        ...

    def explain(self) -> str:
        """Why it stands where it stands, as a clause for a person."""
        ...


class Fixed:
    """The ceiling of ASHA: the last rung of the ladder.

    Args:
        ladder: the ladder.
        rungs: the rungs on it; they do not matter here.
    """

    def __init__(self, ladder: Ladder, rungs: Sequence[Rung]) -> None:  # noqa: ARG002
        self.rung = ladder.top
        self.levels: Trace = ((0, ladder.max_resource),)
        self.epsilons: Trace = ()

    def reported(self, trial: Trial, *, arrived: bool) -> None:
        """Nothing moves it."""

    def explain(self) -> str:
        return f"the ceiling is fixed at {self.levels[0][1]}"


class Progressive:
    """The ceiling of PASHA: it rises while the two top rungs rank their trials differently.

    It starts at rung K = 1. When the criterion finds rungs K and K−1 to disagree, K grows by one,
    never past the last rung (paper, Algorithm 1, lines 13–17); there nothing is left to decide
    and nothing is computed any more.

    Args:
        ladder: the ladder.
        rungs: the rungs on it, kept by the scheduler.
        ranking: the criterion.
        check: when it is asked: ``"rung"``: when a trial arrives in rung K (the paper);
            ``"report"``: after every report (the authors' code).
        goal: needed by criteria that look at relative values.
    """

    def __init__(
        self, ladder: Ladder, rungs: Sequence[Rung], *, ranking: Ranking, check: Check, goal: Goal
    ) -> None:
        self.rung = min(1, ladder.top)
        self.levels: list[tuple[int, float]] = [(0, ladder.levels[self.rung])]
        self.epsilons: list[tuple[int, float]] = []
        self._ladder = ladder
        self._top = ladder.top
        self._rungs = rungs
        self._ranking = ranking
        self._each_report = check == "report"
        self._goal: Goal = goal
        self._reports = 0
        self._trials: dict[int, Trial] = {}
        self._verdict: Verdict | None = None
        percentile = ranking.noise_percentile()
        self._crossings = None if percentile is None else Crossings(percentile)
        self._noise = no_noise if self._crossings is None else self._crossings.epsilon
        self._compare()

    def reported(self, trial: Trial, *, arrived: bool) -> None:
        self._reports += 1
        if self.rung == self._top:
            return
        if self._crossings is not None:
            self._crossings.touch(trial)
        if arrived and trial.rung >= self.rung and trial.id not in self._standing.members:
            self._arrive(trial)
            self._check()
        elif self._each_report:
            self._check()

    def explain(self) -> str:
        level = self._ladder.levels[self.rung]
        if self.rung == self._top:
            return f"the ceiling rose to its maximum, {level}" + self._last_reason()
        if self._verdict is None:
            return f"the ceiling is still at {level}, where no trial has arrived yet"
        below = self._ladder.levels[self.rung - 1]
        n = self._standing.size
        return (
            f"the ceiling stands at {level} because {below} and {level} rank the "
            f"{n} configuration{'s' * (n != 1)} that got there alike: "
            f"{self._ranking.explain(self._verdict)}"
        )

    def _last_reason(self) -> str:
        if self._verdict is None:
            return ""
        return f" because the ranking was not stable before: {self._ranking.explain(self._verdict)}"

    def _arrive(self, trial: Trial) -> None:
        upper, lower = self._rungs[self.rung], self._rungs[self.rung - 1]
        self._trials[trial.id] = trial
        self._standing.add(trial.id, upper.losses[trial.id], lower.losses[trial.id])

    def _check(self) -> None:
        """Ask the criterion; raise the ceiling by one rung if the ranking is not stable."""
        verdict = self._verdict = self._ranking.judge(self._standing, self._noise)
        epsilon = verdict.epsilon
        if epsilon is not None and (not self.epsilons or self.epsilons[-1][1] != epsilon):
            self.epsilons.append((self._reports, epsilon))
        if not verdict.stable:
            self.rung += 1
            self.levels.append((self._reports, self._ladder.levels[self.rung]))
            if self.rung < self._top:
                self._verdict = None
                self._compare()

    def _compare(self) -> None:
        """Look at rungs K and K−1 from now on."""
        met, self._trials = self._trials, {}
        self._standing = Standing(self._goal)
        if self.rung == 0:
            return
        # With sparse reports a trial may have passed the new top rung before it counted.
        for trial in met.values():
            if trial.rung >= self.rung:
                self._arrive(trial)
        if self._crossings is not None:
            floor, cap = self._ladder.levels[self.rung - 1], self._ladder.levels[self.rung]
            self._crossings.watch(floor, cap, met.values())
