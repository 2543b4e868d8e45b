"""How long a study may still take, no more precisely than it can be known.

Two figures. The lower is the work that is left if the ceiling stays where it is, shared by all
workers at the speed so far; the upper one is the work if the ceiling rises to the end, and after it
one trial that climbs the whole ladder while the other workers idle (Graham's bound for work that
has to wait for other work). How many trials go from rung to rung is taken from those that did, at
least one in η. Budgets limit both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rungwise.core.ladder import Ladder
from rungwise.display.base import Snapshot
from rungwise.formatting import format_duration
from rungwise.views import RungView

MIN_TRAINING = 2.0
"""Seconds of training before a speed is computed."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds to come.

    Attributes:
        low: at least; 0 when the study may end at any time, None when unknown.
        high: at most; None when nothing bounds it.
    """

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None:
            return "not known yet" if self.high is None else f"at most {format_duration(self.high)}"
        if self.high is None:
            return f"at least {format_duration(self.low)}"
        if self.low == 0:
            return f"at most {format_duration(self.high)}"
        if self.high <= 1.25 * self.low:
            return f"about {format_duration(self.high)}"
        low, high = format_duration(self.low), format_duration(self.high)
        if low.split()[1:] == high.split()[1:]:  # the unit once is enough
            low = low.split()[0]
        return f"about {low} to {high}"


class Estimator:
    """Measures how fast a study trains."""

    def __init__(self) -> None:
        # (elapsed, resource, cost) when training was first seen to progress: what came before was
        # spent on starting workers, or in an earlier session.
        self._base: tuple[float, float, float] | None = None
        self._spent: float | None = None

    def left(self, snapshot: Snapshot, ladder: list[RungView] | None = None) -> TimeLeft:
        """The time that is left now.

        Args:
            snapshot: the study.
            ladder: its rungs, if they are known already.
        """
        view = snapshot.view
        if self._spent is None:
            self._spent = view.resource_spent
        if self._base is None and view.resource_spent > self._spent:
            self._base = (snapshot.elapsed, view.resource_spent, view.cost)
        low, high = self._by_trials(snapshot, ladder)
        cap = self._by_budget(snapshot)
        if cap < math.inf:
            low = cap if view.limits.trials is None else low
            low = None if low is None else min(low, cap)
            high = cap if high is None else min(high, cap)
        early = view.limits.target is not None or view.limits.stall is not None
        if early and (low is not None or high is not None):
            low = 0.0  # any report may reach the target, and drawing may end any time
        return TimeLeft(low, high)

    def _speed(self, snapshot: Snapshot) -> float:
        """Resource per second; 0 while it is not known."""
        if self._base is None or snapshot.elapsed - self._base[0] < MIN_TRAINING:
            return 0.0
        spent = snapshot.view.resource_spent - self._base[1]
        return spent / (snapshot.elapsed - self._base[0])

    def _by_trials(
        self, snapshot: Snapshot, ladder: list[RungView] | None
    ) -> tuple[float | None, float | None]:
        view, speed = snapshot.view, self._speed(snapshot)
        if view.limits.trials is None or speed <= 0:
            return None, None
        alone = speed / max(1, len(snapshot.workers))
        remaining = max(
            (_to_next_rung(snapshot, worker.trial) for worker in snapshot.workers), default=0.0
        )
        stays, rises = _totals(snapshot, view.rungs() if ladder is None else ladder)
        low = max((stays - view.resource_spent) / speed, remaining / alone)
        if rises is None:
            return low, None
        climb = max(remaining, view.levels[-1] - remaining)
        return low, max(rises - view.resource_spent, 0.0) / speed + climb / alone

    def _by_budget(self, snapshot: Snapshot) -> float:
        """Seconds until a budget is used up at the latest."""
        view, limits = snapshot.view, snapshot.view.limits
        cap = math.inf
        if limits.seconds is not None:
            cap = limits.seconds - snapshot.elapsed
        speed = self._speed(snapshot)
        if limits.resource is not None and speed > 0:
            cap = min(cap, (limits.resource - view.resource_spent) / speed)
        if limits.cost is not None and self._base is not None and speed > 0:
            pace = (view.cost - self._base[2]) / (snapshot.elapsed - self._base[0])
            cap = min(cap, (limits.cost - view.cost) / pace) if pace > 0 else cap
        return max(0.0, cap)


def _to_next_rung(snapshot: Snapshot, number: int | None) -> float:
    """The resource that a running job still has to train to the next rung."""
    if number is None:
        return 0.0
    trial = snapshot.view.trial(number)
    level = trial.next_level
    return 0.0 if level is None else level - trial.resource


def _totals(snapshot: Snapshot, rungs: list[RungView]) -> tuple[float, float | None]:
    """The resource of the whole study if the ceiling stays, and if it rises to the end."""
    view = snapshot.view
    trials = view.limits.trials or view.trials
    ladder = view.common_ladder
    if ladder is None:
        # Brackets take turns and differ in cost, the cheap ones first: no later trial costs less
        # than those so far, and how much more is not known.
        average = view.resource_spent / max(1, view.trials)
        return trials * average, None
    highest = view.ceiling
    stays = _total(ladder, rungs, trials, math.inf if highest is None else highest)
    if snapshot.max_resource is None:
        return stays, None
    return stays, _total(ladder, rungs, trials, math.inf)


def _total(ladder: Ladder, rungs: list[RungView], trials: int, highest: float) -> float:
    """What ``trials`` trials cost if as many go from rung to rung as did so far.

    Asynchronous promotions are more than one in η, because an early leader may be overtaken.
    """
    going, total = float(trials), float(trials * ladder.levels[0])
    for k in range(1, len(ladder.levels)):
        if ladder.levels[k] > highest:
            break
        share = 1 / ladder.eta
        if k < len(rungs) and rungs[k - 1].entered:
            share = max(share, rungs[k].entered / rungs[k - 1].entered)
        going *= share
        if going < 0.5:  # fewer than one trial gets there
            break
        total += going * (ladder.levels[k] - ladder.levels[k - 1])
    return total
