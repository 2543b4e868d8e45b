"""The data for a model: points of configuration, resource and score.

Scores, not losses: losses of all levels are ranked together and become quantiles of a normal
distribution. So a model needs no assumption about their scale, outliers have no leverage, and a
NaN, an infinite loss or a failed trial simply ranks last, without spoiling a fit.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rungwise.core.searcher import History, Observed
from rungwise.space import Choice, Space
from rungwise.space.domains import is_unordered

Floats = npt.NDArray[np.float64]


class Features:
    """Configurations as vectors for models.

    A number is its position between its bounds (in ratios on a log scale), an unordered choice
    becomes one column per option, so that all options are equally far apart. An inactive parameter
    has 0 everywhere, and a conditional parameter has one more column that says if it is active.

    Args:
        space: of the configurations.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._first: list[int] = []
        width = 0
        for parameter in space.parameters:
            self._first.append(width)
            width += _columns(parameter.domain) + (parameter.condition is not None)
        self.width = width

    def of(self, config: Any) -> Floats:
        """The vector of a legal configuration."""
        vector = np.zeros(self.width)
        for parameter, first in zip(self._space.parameters, self._first, strict=True):
            if parameter.name not in config:
                continue
            domain, value = parameter.domain, config[parameter.name]
            columns = _columns(domain)
            if isinstance(domain, Choice) and columns > 1:
                vector[first + domain.index(value)] = 1.0
            elif columns:
                vector[first] = domain.unit(value)
            if parameter.condition is not None:
                vector[first + columns] = 1.0
        return vector


def _columns(domain: Any) -> int:
    if is_unordered(domain) and domain.size > 2:
        return domain.size
    return 0 if domain.size == 1 else 1


@dataclass(frozen=True, slots=True)
class Observations:
    """Points for a model.

    Attributes:
        trials: the trial of each point.
        levels: the resource of each point.
        scores: what is minimised, about standard normal.
        pending: trials without a report yet.
    """

    trials: list[Observed]
    levels: Floats
    scores: Floats
    pending: list[Observed]

    def __len__(self) -> int:
        return len(self.trials)


def gather(history: History, *, limit: int, every: bool = False) -> Observations:
    """The reports at the levels where trials are compared, the highest levels first.

    A trial that has not reached any level yet counts where it is. A failed one ranks last at every
    level it reached, and at the next one. If there are more points than the limit, the lowest
    levels are left out first, and the oldest of a level; with all reports, the earliest of each
    trial.

    Args:
        history: of the study.
        limit: the largest number of points.
        every: take all reports, also those between levels.
    """
    levels = sorted(history.levels)
    points: list[tuple[int, float, int, Observed, float]] = []
    pending: list[Observed] = []
    for trial in history:
        resources, losses = trial.resources, trial.losses
        found = list(zip(resources, losses, strict=True)) if every else _at_levels(trial, levels)
        if trial.failed:
            # At the levels it reached and at the next one, even if its losses were good: similar
            # configurations would probably fail too.
            ahead = [level for level in levels if not resources or level > resources[-1]][:1]
            found = [(resource, math.inf) for resource in (*(r for r, _ in found), *ahead)]
        elif not found and resources:
            found = [(resources[-1], losses[-1])]
        if not found:
            pending.append(trial)
        # Of all reports, the last of every trial come before the last but one of any.
        points += [
            (len(found) - place if every else 0, -resource, -trial.id, trial, loss)
            for place, (resource, loss) in enumerate(found, start=1)
        ]
    points.sort(key=lambda point: point[:3])
    del points[limit:]
    return Observations(
        [trial for *_, trial, _ in points],
        np.array([-below for _, below, *_ in points], dtype=np.float64),
        normal_scores([loss for *_, loss in points]),
        pending[-limit:],
    )


def normal_scores(losses: list[float]) -> Floats:
    """Ranks as quantiles of the normal distribution; equal losses get equal scores."""
    from scipy.special import ndtri  # noqa: PLC0415 - a second of import that few studies need
    from scipy.stats import rankdata  # noqa: PLC0415

    scores: Floats = ndtri((rankdata(losses) - 0.5) / max(len(losses), 1))
    return scores


def standings(history: History) -> Observations:
    """One point per trial, by id: a higher level is better, then a lower loss.

    The level is the highest one at which the trial has reported, or, before the first, its
    resource. NaN, an infinite loss and a failure are worst, and equal.

    Args:
        history: of the study.
    """
    levels = sorted(history.levels)
    reported: list[Observed] = []
    pending: list[Observed] = []
    reached: list[float] = []
    keys: list[tuple[bool, float, float]] = []
    for trial in history:
        if not trial.resources and not trial.failed:
            pending.append(trial)
            continue
        level, loss = _furthest(trial, levels)
        reported.append(trial)
        reached.append(level)
        lost = trial.failed or not loss < math.inf
        keys.append((True, 0.0, 0.0) if lost else (False, -level, loss))
    places = {key: float(place) for place, key in enumerate(sorted(set(keys)))}
    return Observations(
        reported,
        np.array(reached, dtype=np.float64),
        normal_scores([places[key] for key in keys]),
        pending,
    )


def _at_levels(trial: Observed, levels: Sequence[float]) -> list[tuple[float, float]]:
    """[(level, loss), …] of the levels that a trial has reached, ascending.

    The first report at or beyond a level counts there, as for a rung; one that is beyond several
    levels counts at the highest of them.
    """
    resources, losses = trial.resources, trial.losses
    places = {bisect_left(resources, level): level for level in levels}
    return [(level, losses[place]) for place, level in places.items() if place < len(resources)]


def _furthest(trial: Observed, levels: Sequence[float]) -> tuple[float, float]:
    """(level, loss) at the highest level reached; of the last report if there is none."""
    resources, losses = trial.resources, trial.losses
    if not resources:
        return 0.0, math.inf
    below = bisect_right(levels, resources[-1])
    if not below:
        return resources[-1], losses[-1]
    level = levels[below - 1]
    return level, losses[bisect_left(resources, level)]
