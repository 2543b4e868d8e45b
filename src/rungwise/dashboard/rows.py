"""Trials as rows and curves, thinned to what an eye can see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rungwise.core.codec import jsonable
from rungwise.dashboard.texts import short
from rungwise.views import RankedTrial, StudyView

BEST, RUNNING, OTHERS = 60, 60, 180
"""Of how many trials the curves are sent at most: the best, those that run, and some others."""

POINTS = 90
"""How many points a curve has at most."""


def list_rows(view: StudyView, changed: Sequence[int], since: int) -> list[list[Any]]:
    """A row of every trial that has changed.

    [trial, state, value, resource of it, reached, rung, note, values at the rungs, configuration,
    problem, key]: trials are ranked by the key, as the leaderboard ranks them.

    Args:
        view: the study.
        changed: the version in which each trial last changed.
        since: the version that is known.
    """
    numbers = [number for number, version in enumerate(changed) if version > since]
    return [_make_row(found) for found in view.list_rows(numbers)]


def _make_row(found: RankedTrial) -> list[Any]:
    row, (health, rung, loss, _) = found.row, found.key
    at_rungs = [short(value) for value in found.at_rungs]
    ranked = [short(row.value), row.resource, row.reached, len(at_rungs), row.note, at_rungs]
    key = [health, rung, loss if loss < math.inf else None]
    return [row.trial, row.state, *ranked, jsonable(row.config), row.problem, key]


class CurveChoice:
    """Which curves are sent: all of a small study, the telling ones of a large one."""

    def __init__(self) -> None:
        self._since: dict[int, int] = {}

    def choose(self, view: StudyView, version: int) -> None:
        """Choose again."""
        trials = view.trials
        if trials <= BEST + RUNNING + OTHERS:
            chosen = set(range(trials))
        else:
            chosen = {row.trial for row in view.leaderboard(BEST)}
            chosen.update(view.job(job).trial for job in view.open_jobs[-RUNNING:])
            # A stride that doubles: those chosen from fewer trials are mostly chosen again.
            stride = 2 ** math.ceil(math.log2(trials / OTHERS))
            chosen.update(range(0, trials, stride))
        self._since = {number: self._since.get(number, version) for number in sorted(chosen)}

    def list_curves(self, view: StudyView, changed: Sequence[int], since: int) -> list[list[Any]]:
        """[[trial, resources, values], …] of chosen trials that have changed."""
        return [
            [number, *thin(view, number)]
            for number, chosen in self._since.items()
            if chosen > since or changed[number] > since
        ]


def thin(view: StudyView, number: int, points: int = POINTS) -> list[list[Any]]:
    """The resources and the values of a curve; of a long one its first, last, best, and some."""
    curve = view.curve(number)
    count = len(curve)
    kept: Sequence[int] = range(count)
    if count > points:
        some = {round(place * (count - 1) / (points - 2)) for place in range(points - 1)}
        best = view.record(number).place
        kept = sorted(some | ({best} if best is not None else set()))
    return [[curve[place][0] for place in kept], [short(curve[place][1]) for place in kept]]
