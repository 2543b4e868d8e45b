"""Trials as rows and curves, thinned to what an eye can see."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import nsmallest
from typing import Any

from rungwise.core.codec import jsonable
from rungwise.core.engine import Engine
from rungwise.core.trials import State, Trial
from rungwise.dashboard.follower import Fold
from rungwise.dashboard.texts import short
from rungwise.views import folds

BEST, RUNNING, OTHERS = 60, 60, 180
"""Of how many trials the curves are sent at most: the best, those that run, and some others."""

POINTS = 90
"""How many points a curve has at most."""


def list_rows(fold: Fold, since: int, levels: Sequence[int]) -> list[list[Any]]:
    """A row of every trial that has changed.

    [trial, state, value, resource of it, reached, rung, note, values at the rungs, configuration]
    """
    engine = fold.engine
    furthest = folds.find_furthest(engine)
    sign = 1.0 if engine.study.goal == "min" else -1.0
    return [
        _make_row(engine.trials[number], levels, furthest, sign)
        for number, version in enumerate(fold.trials)
        if version > since
    ]


def _make_row(trial: Trial, levels: Sequence[int], furthest: float, sign: float) -> list[Any]:
    value = at = None
    losses, resources = trial.losses, trial.resources
    if losses:
        best = min(losses)
        if best < math.inf:
            value, at = short(sign * best), resources[losses.index(best)]
    reached = bisect_right(levels, trial.resource)
    at_rungs = []
    for level in levels[:reached]:
        loss = losses[bisect_left(resources, level)]
        at_rungs.append(short(sign * loss) if loss < math.inf else None)
    state = folds.describe_state(trial, furthest)
    config = jsonable(trial.config)
    return [trial.id, state, value, at, trial.resource, reached, trial.note, at_rungs, config]


class CurveChoice:
    """Which curves are sent: all of a small study, the telling ones of a large one."""

    def __init__(self) -> None:
        self._since: dict[int, int] = {}

    def choose(self, engine: Engine, version: int) -> None:
        """Choose again."""
        trials = engine.trials
        if len(trials) <= BEST + RUNNING + OTHERS:
            chosen = set(range(len(trials)))
        else:
            keys = ((min(trial.losses, default=math.inf), trial.id) for trial in trials)
            chosen = {number for _, number in nsmallest(BEST, keys)}
            running = [t.id for t in trials[-2000:] if t.state is State.RUNNING]
            chosen.update(running[-RUNNING:])
            # A stride that doubles: those chosen from fewer trials are mostly chosen again.
            stride = 2 ** math.ceil(math.log2(len(trials) / OTHERS))
            chosen.update(range(0, len(trials), stride))
        self._since = {number: self._since.get(number, version) for number in sorted(chosen)}

    def list_curves(self, fold: Fold, since: int) -> list[list[Any]]:
        """[[trial, resources, values], …] of chosen trials that have changed."""
        return [
            [number, *thin(fold.engine.trials[number], fold.engine.study.goal)]
            for number, chosen in self._since.items()
            if chosen > since or fold.trials[number] > since
        ]


def thin(trial: Trial, goal: str, points: int = POINTS) -> list[list[Any]]:
    """The resources and the values of a curve; of a long one its first, last, best, and some."""
    count = len(trial.losses)
    kept: Sequence[int] = range(count)
    if count > points:
        some = {round(place * (count - 1) / (points - 2)) for place in range(points - 1)}
        kept = sorted(some | {trial.losses.index(min(trial.losses))})
    sign = 1.0 if goal == "min" else -1.0
    values = [short(sign * trial.losses[place]) for place in kept]
    return [[trial.resources[place] for place in kept], values]
