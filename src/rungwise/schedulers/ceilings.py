"""Ceilings: the highest rung that trials may reach now.

ASHA's ceiling is fixed; PASHA's is progressive: that is the only difference between the two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, Protocol

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Rung
from rungwise.core.scheduler import CheckRecord, Trace
from rungwise.core.trials import Candidate
from rungwise.rankings.base import GivenNoise, NoiseEstimate, Ranking, Verdict
from rungwise.rankings.crossings import Crossings
from rungwise.rankings.standing import Standing

Check = Literal["rung", "report"]


class Ceiling(Protocol):
    """The highest rung that may be entered now."""

    rung: int

    def reported(self, trial: Candidate, *, arrived: bool) -> None:
        """A trial reported; rungs it reached with this report hold it already."""
        ...

    def extend(self, ladder: Ladder, known: Sequence[Candidate], reports: int) -> None:
        """There are rungs above the old maximum now; the list of rungs holds them already.

        Args:
            ladder: the longer ladder.
            known: all trials so far.
            reports: the number of reports so far.
        """
        ...

    @property
    def levels(self) -> Trace:
        """[(number of reports so far, level), …], from the first ceiling on."""
        ...

    @property
    def epsilons(self) -> Trace:
        """[(number of reports so far, ε), …] for the checks that used ε."""
        ...

    @property
    def checks(self) -> Sequence[CheckRecord]:
        """What the checks found, whenever that had changed."""
        ...

    def explain(self) -> str:
        """Why the ceiling is where it is, as a clause of a message."""
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
        self.checks: Sequence[CheckRecord] = ()

    def reported(self, trial: Candidate, *, arrived: bool) -> None:
        """Nothing moves it."""

    def extend(self, ladder: Ladder, known: Sequence[Candidate], reports: int) -> None:  # noqa: ARG002
        """The last rung is another one."""
        self.rung = ladder.top
        self.levels = (*self.levels, (reports, ladder.max_resource))

    def explain(self) -> str:
        return f"the ceiling is fixed at {self.levels[-1][1]}"


class _Comparison:
    """What is known of rungs K and K−1.

    Attributes:
        trials: those that have arrived in rung K, by id.
        standing: how they rank in both; without those that reported only once for both.
        verdict: what the criterion last said of it; None while it was not asked.
        changed: whether it may say something else by now.
    """

    __slots__ = ("changed", "standing", "trials", "verdict")

    def __init__(self) -> None:
        self.trials: dict[int, Candidate] = {}
        self.standing = Standing()
        self.verdict: Verdict | None = None
        self.changed = False


class Progressive:
    """The ceiling of PASHA: it rises while the two top rungs rank their trials differently.

    It starts at rung K = 1. When the criterion finds rungs K and K−1 to disagree, K grows by one,
    never past the last rung (paper, Algorithm 1, lines 13–17); there nothing is left to decide
    and nothing more is computed.

    If reports are sparser than rungs, a trial enters rungs K−1 and K with the same report. That is
    no evidence of a stable ranking; while there is no other evidence, the ceiling rises as well.

    Args:
        ladder: the ladder.
        rungs: the rungs on it, kept by the scheduler.
        ranking: the criterion.
        check: when it is checked: ``"rung"``: when a trial arrives in rung K (the paper);
            ``"report"``: after every report (the authors' code).
    """

    def __init__(
        self, ladder: Ladder, rungs: Sequence[Rung], *, ranking: Ranking, check: Check
    ) -> None:
        self.rung = min(1, ladder.top)
        self.levels: list[tuple[int, float]] = [(0, ladder.levels[self.rung])]
        self.epsilons: list[tuple[int, float]] = []
        self.checks: list[CheckRecord] = []
        self._ladder = ladder
        self._top = ladder.top
        self._rungs = rungs
        self._ranking = ranking
        self._each_report = check == "report"
        self._reports = 0
        self._reason = ""  # of the last raise
        self._now = _Comparison()
        percentile = ranking.noise_percentile()
        self._crossings = None if percentile is None else Crossings(percentile)
        self._noise: NoiseEstimate = GivenNoise() if self._crossings is None else self._crossings
        self._compare()

    def reported(self, trial: Candidate, *, arrived: bool) -> None:
        self._reports += 1
        if self.rung == self._top:
            return
        if self._crossings is not None and self._crossings.touch(trial):
            self._now.changed = True
        if arrived and self._has_entered(trial) and trial.id not in self._now.trials:
            self._arrive(trial)
            self._check()
        elif self._each_report and self._now.changed:
            self._check()

    def extend(self, ladder: Ladder, known: Sequence[Candidate], reports: int) -> None:
        """Go on above the old maximum.

        A ceiling below it stays, and rises when it must. One that stood there is checked at once,
        with all that is known: at the last rung nothing was compared.
        """
        stood_there = self.rung == self._top
        self._ladder, self._top = ladder, ladder.top
        if not stood_there:
            return
        if self.rung == 0:  # there was one rung, so nothing to compare it with
            self.rung = 1
            self.levels.append((reports, ladder.levels[1]))
        level = ladder.levels[self.rung]
        self._now.trials = {trial.id: trial for trial in known if trial.resource >= level}
        if self.rung < self._top:
            self._compare(known)
            self._check()

    def explain(self) -> str:
        level = self._ladder.levels[self.rung]
        if len(self.levels) == 1 and self.rung == self._top:
            return f"the ceiling is the maximum, {level}, from the start"
        below = self._ladder.levels[self.rung - 1]
        verdict = self._now.verdict
        if self.rung == self._top or (verdict is None and len(self.levels) > 1):
            reached = f"the maximum, {level}," if self.rung == self._top else str(level)
            return (
                f"the ceiling rose to {reached} because the ranking at {below} was not found to be "
                f"stable: {self._reason}"
            )
        if verdict is None:
            return f"the ceiling is still at {level}, where no trials have been compared yet"
        n = self._now.standing.size
        if n == 1:
            return f"the ceiling is at {level} because only 1 trial reached it, too few to compare"
        reason = self._ranking.explain(verdict)
        return (
            f"the ceiling is at {level} because its {n} trials are ranked as at {below}: {reason}"
        )

    def _has_entered(self, trial: Candidate) -> bool:
        return trial.id in self._rungs[self.rung].losses

    def _arrive(self, trial: Candidate) -> None:
        """Take a trial in rung K into account."""
        self._now.trials[trial.id] = trial
        self._now.changed = True
        upper, lower = self._rungs[self.rung], self._rungs[self.rung - 1]
        reports = trial.resources
        if bisect_left(reports, lower.level) != bisect_left(reports, upper.level):
            self._now.standing.add(trial.id, upper.losses[trial.id], lower.losses[trial.id])

    def _check(self) -> None:
        """Apply the criterion; raise the ceiling by one rung if the ranking is not stable."""
        now = self._now
        now.changed = False
        if now.standing.size:
            verdict = now.verdict = self._ranking.judge(now.standing, self._noise)
            self._note(verdict)
            if verdict.stable:
                return
            self._reason = self._ranking.explain(verdict)
        elif now.trials:
            self._reason = "no trial reported between it and the rung below"
        else:
            return
        self._raise()

    def _raise(self) -> None:
        self.rung += 1
        self.levels.append((self._reports, self._ladder.levels[self.rung]))
        if self.rung < self._top:
            self._compare()

    def _note(self, verdict: Verdict) -> None:
        epsilon = verdict.epsilon
        found = (verdict.measure, verdict.bound, epsilon, verdict.stable)
        if not self.checks or self.checks[-1][1:] != found:
            self.checks.append((self._reports, *found))
        if epsilon is not None and (not self.epsilons or self.epsilons[-1][1] != epsilon):
            self.epsilons.append((self._reports, epsilon))

    def _compare(self, known: Sequence[Candidate] = ()) -> None:
        """Compare rungs K and K−1 from now on; trials may have passed level K−1 already."""
        arrived, self._now = self._now.trials, _Comparison()
        if self.rung == 0:
            return
        # With sparse reports a trial may have passed the new top rung before it counted.
        for trial in arrived.values():
            if self._has_entered(trial):
                self._arrive(trial)
        if self._crossings is not None:
            floor, cap = self._ladder.levels[self.rung - 1], self._ladder.levels[self.rung]
            self._crossings.watch(floor, cap, known or arrived.values())
