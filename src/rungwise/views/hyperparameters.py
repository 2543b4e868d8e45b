"""What hyperparameters have to do with the metric: at one rung, where trials compare.

Law of this file: it reads and draws nothing. Plots and pages show what it returns.
"""

from __future__ import annotations

import importlib
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.errors import InvalidArgumentError, MissingExtraError, Words
from rungwise.space.domains import Choice, Float, Int
from rungwise.views.study_view import StudyView

Floats = NDArray[np.float64]

ENOUGH = 12
"""How many trials a rung must have to be looked at by itself; a lower one has more."""

REPEATS, TREES = 10, 100
"""Of the permutations, and in the forest."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How the values of a hyperparameter lie on an axis.

    Attributes:
        name: the hyperparameter.
        options: its options, in order, if they are no numbers; else empty.
        log: whether equal ratios are equally far from each other.
        low: the smallest number.
        high: the largest number.
    """

    name: str
    options: tuple[Any, ...] = ()
    log: bool = False
    low: float = 0.0
    high: float = 1.0

    def place(self, value: Any) -> float:
        """Where a value lies, from 0 to 1."""
        if self.options:
            return self.options.index(_hashable(value)) / max(1, len(self.options) - 1)
        if self.high == self.low:
            return 0.5
        low, high, at = self.low, self.high, float(value)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return min(max((at - low) / (high - low), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Point:
    """A trial at the rung.

    Attributes:
        trial: its number.
        config: its configuration.
        value: its value at the rung.
    """

    trial: int
    config: Mapping[str, Any]
    value: float


@dataclass(frozen=True, slots=True)
class Comparable:
    """The trials that can be compared, because they have all been trained as far.

    Attributes:
        level: the rung: how far.
        points: the trials with a finite value there, in the order drawn.
        scales: the hyperparameters that have more than one value, in the user's order.
    """

    level: float
    points: tuple[Point, ...]
    scales: tuple[Scale, ...]

    def find(self, name: str) -> Scale:
        """The scale of a hyperparameter."""
        for scale in self.scales:
            if scale.name == name:
                return scale
        names = ", ".join(scale.name for scale in self.scales)
        raise InvalidArgumentError("parameter", name, f"it must be one of {names}")


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a hyperparameter matters.

    Attributes:
        name: the hyperparameter.
        share: of what all of them explain, from 0 to 1.
        std: how much the share varies from permutation to permutation.
    """

    name: str
    share: float
    std: float


def compare_trials(view: StudyView, level: float | None = None) -> Comparable:
    """The trials at one rung, with their values there.

    Args:
        view: the study.
        level: how far trials must have been trained; by default the highest rung that at least
            :data:`ENOUGH` trials have reached, or the lowest.

    Raises:
        InvalidArgumentError: fewer than two trials have a finite value there.
    """
    curves = view.curves()
    if level is None:
        level = _choose_level(view, curves)
    points = []
    for number, curve in curves.items():
        place = bisect_left(curve, (level, -math.inf))
        if place < len(curve) and math.isfinite(curve[place][1]):
            points.append(Point(number, view.trial(number).config, curve[place][1]))
    if len(points) < 2:
        found = Words(f"a study with {len(points)} finite values at resource {level:g}")
        raise InvalidArgumentError("source", found, "at least two trials must be compared")
    return Comparable(level, tuple(points), tuple(_make_scales(view, points)))


def rank_importance(comparable: Comparable, *, seed: int = 0) -> list[Importance]:
    """How much each hyperparameter matters for the value at the rung, the most important first.

    A random forest learns the values from the configurations; a hyperparameter matters as much as
    the forest errs when its values are shuffled (permutation importance). With few trials this is
    a rough guess; what the study has not tried, it does not know.

    Args:
        comparable: the trials.
        seed: of the forest and the permutations.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    try:
        ensemble: Any = importlib.import_module("sklearn.ensemble")
    except ImportError:
        raise MissingExtraError("the importance of hyperparameters", "importance") from None
    columns, owners = _encode(comparable)
    values = _rank_values([point.value for point in comparable.points])
    forest = ensemble.RandomForestRegressor(TREES, min_samples_leaf=2, random_state=seed)
    forest.fit(columns, values)
    totals = np.zeros((len(comparable.scales), REPEATS))
    rng = np.random.RandomState(seed)
    for number in range(len(comparable.scales)):
        mine = [column for column, owner in enumerate(owners) if owner == number]
        totals[number] = _shuffle(forest, columns, values, mine, rng)
    totals = totals.clip(min=0)
    whole = totals.mean(axis=1).sum() or 1.0
    found = [
        Importance(scale.name, float(row.mean() / whole), float(row.std() / whole))
        for scale, row in zip(comparable.scales, totals, strict=True)
    ]
    return sorted(found, key=lambda one: -one.share)


def estimate_surface(
    comparable: Comparable, first: Scale, second: Scale, *, cells: int = 24
) -> list[tuple[int, int, float]]:
    """[(column, row, value), …]: the values between the trials, over two hyperparameters.

    Each cell has the mean of all trials, weighted by the inverse square of their distance.

    Args:
        comparable: the trials.
        first: the hyperparameter of the columns.
        second: the hyperparameter of the rows.
        cells: how many columns and rows there are.
    """
    known = [p for p in comparable.points if {first.name, second.name} <= p.config.keys()]
    places = np.array([[s.place(p.config[s.name]) for s in (first, second)] for p in known])
    values = np.array([point.value for point in known])
    found = []
    for column in range(cells):
        for row in range(cells):
            centre = (np.array([column, row]) + 0.5) / cells
            weights = 1 / (((places - centre) ** 2).sum(axis=1) + 0.25 / cells**2)
            found.append((column, row, float(weights @ values / weights.sum())))
    return found


def _choose_level(view: StudyView, curves: Mapping[int, Sequence[tuple[float, float]]]) -> float:
    reached = [curve[-1][0] for curve in curves.values() if curve]
    levels = [level for level in view.levels if any(end >= level for end in reached)]
    if not levels:
        return max(reached, default=1.0)
    enough = [level for level in levels if sum(end >= level for end in reached) >= ENOUGH]
    return max(enough, default=levels[0])


def _make_scales(view: StudyView, points: Sequence[Point]) -> list[Scale]:
    space = view.space
    domains = {} if space is None else {one.name: one.domain for one in space.parameters}
    order = space.written if space is not None else ()
    names = dict.fromkeys([*order, *(name for point in points for name in point.config)])
    scales = []
    for name in names:
        values = [point.config[name] for point in points if name in point.config]
        kinds = {_hashable(value) for value in values}
        if len(kinds) > 1 or (kinds and len(values) < len(points)):
            scales.append(_make_scale(name, values, domains.get(name)))
    return scales


def _make_scale(name: str, values: Sequence[Any], domain: Any) -> Scale:
    if isinstance(domain, (Float, Int)):
        return Scale(name, log=domain.log, low=float(domain.low), high=float(domain.high))
    if isinstance(domain, Choice):
        there = {_hashable(value) for value in values}
        options = tuple(o for o in map(_hashable, domain.options) if o in there)
        if domain.ordered or not all(_is_number(value) for value in values):
            return Scale(name, options)
    if all(_is_number(value) for value in values):
        low, high = float(min(values)), float(max(values))
        return Scale(name, log=low > 0 and high / low >= 100, low=low, high=high)
    return Scale(name, tuple(dict.fromkeys(map(_hashable, sorted(values, key=repr)))))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _hashable(value: Any) -> str:
    """An option as text: True, 1 and "1" are three of them."""
    return value if isinstance(value, str) else repr(value)


def _encode(comparable: Comparable) -> tuple[Floats, list[int]]:
    """The configurations as numbers, and the hyperparameter that each column belongs to.

    Numbers have a column, options one each; an inactive hyperparameter is −1 everywhere.
    """
    columns, owners = [], []
    for number, scale in enumerate(comparable.scales):
        given = [point.config.get(scale.name) for point in comparable.points]
        active = [scale.name in point.config for point in comparable.points]
        if scale.options:
            for option in scale.options:
                columns.append([
                    float(_hashable(value) == option) if on else -1.0
                    for value, on in zip(given, active, strict=True)
                ])  # fmt: skip
                owners.append(number)
        else:
            columns.append([
                scale.place(value) if on else -1.0
                for value, on in zip(given, active, strict=True)
            ])  # fmt: skip
            owners.append(number)
    return np.array(columns, dtype=np.float64).T, owners


def _rank_values(values: Sequence[float]) -> Floats:
    """The ranks of the values: a few that exploded do not hide what matters for the others."""
    order = np.argsort(np.argsort(np.array(values), kind="stable"), kind="stable")
    ranks: Floats = order.astype(np.float64) / max(1, len(values) - 1)
    return ranks


def _shuffle(
    forest: Any, columns: Floats, values: Floats, mine: Sequence[int], rng: Any
) -> list[float]:
    """By how much the forest errs more when some columns are shuffled together, each time."""
    base = float(((forest.predict(columns) - values) ** 2).mean())
    found = []
    for _ in range(REPEATS):
        turned = columns.copy()
        turned[:, mine] = columns[rng.permutation(len(columns))][:, mine]
        found.append(float(((forest.predict(turned) - values) ** 2).mean()) - base)
    return found
