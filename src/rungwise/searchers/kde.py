"""Proposals near good configurations, by two kernel densities, as in BOHB.

``TPE`` has replaced it. It stays as it is, because a replay of a study that was begun with it asks
it again and compares.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from rungwise.core.searcher import History, Observed, Searcher
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.candidates import draw_near, keep_apart, select_new
from rungwise.searchers.observations import Floats
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Space
from rungwise.space.domains import is_unordered
from rungwise.validation import real, whole

TURNS = (-2, 0, 2)
"""Reflections at 0 and at 1 repeat with period 2; images further away than this are negligible."""

TINY = 1e-300
"""Replaces 0 in logarithms."""


@dataclass(frozen=True, slots=True)
class KDE(Searcher):
    """Draws near good configurations and keeps what is likelier among the good than the bad.

    The model is that of the highest level with enough reports, so it moves up with the study. A
    third of all proposals is random, so that no region is excluded permanently.

    Args:
        good: the share of the finite losses at a level that counts as good.
        candidates: the number of draws from which the best is chosen.
        random: the share of random proposals.

    Reference:
        Falkner et al. (2018), BOHB: robust and efficient hyperparameter optimization at scale.
    """

    good: float = 0.15
    candidates: int = 64
    random: float = 1 / 3

    def __post_init__(self) -> None:
        for name in ("good", "random"):
            if not 0 <= real(name, getattr(self, name)) <= 1:
                raise InvalidArgumentError(name, getattr(self, name), "it must be from 0 to 1")
        whole("candidates", self.candidates, at_least=1)

    def propose(self, space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The next configuration to try; there always is one."""
        split = self._split(space, history)
        if split is None or rng.random() < self.random:
            return RandomSearcher().propose(space, history, rng)
        better, worse = (_Density(space, part) for part in split)
        pool = select_new(space, history, [better.draw(rng) for _ in range(self.candidates)])
        if not pool:
            return RandomSearcher().propose(space, history, rng)
        ratios = np.array(
            [better.log_density(config) - worse.log_density(config) for config in pool]
        )
        ranked = [pool[i] for i in np.argsort(-ratios, kind="stable")]
        waiting = [trial.config for trial in history if not trial.resources and not trial.failed]
        chosen: dict[str, Any] = keep_apart(space, ranked, waiting, 1)[0]
        return chosen

    def _split(self, space: Space, history: History) -> tuple[list[Any], list[Any]] | None:
        """(good, bad) configurations of the highest level with enough reports."""
        enough = len(space.parameters) + 2
        lowest = min(history.levels)
        for level in sorted(history.levels, reverse=True):
            losses = [(_loss_at(trial, level), trial.id, trial) for trial in history]
            reached = sorted(entry for entry in losses if not math.isnan(entry[0]))
            finite = sum(loss < math.inf for loss, *_ in reached)
            # A failed trial is never good, however few others there are.
            count = min(max(enough, math.ceil(self.good * finite)), finite)
            if finite >= enough and len(reached) >= 2 * enough:
                configs = [trial.config for *_, trial in reached]
                # A trial that reached a lower rung and not this one is worse by selection, except
                # for a few that are running. Without them, if all trials of this rung are alike,
                # the density ratio would be largest far from all of them.
                behind = [
                    trial.config
                    for loss, _, trial in losses
                    if math.isnan(loss) and trial.resources and trial.resources[-1] >= lowest
                ]
                if bad := [*configs[count:], *behind]:
                    return configs[:count], bad
        return None


def _loss_at(trial: Observed, level: float) -> float:
    """The loss at a level, which is the first at or beyond it, as for a rung.

    inf for a trial that failed, even if its losses were good; NaN if it has not reached the level.
    """
    if trial.failed:
        return math.inf
    place = bisect_left(trial.resources, level)
    return trial.losses[place] if place < len(trial.losses) else math.nan


class _Density:
    """A product of kernels around each configuration, and a uniform part that counts as one more.

    Kernels are normal for numbers and ordered options, in the positions of their domains and
    reflected at the bounds; other options keep most of their weight, and a parameter that the
    centre does not have is uniform. Without the uniform part the ratio of two densities would be
    largest far from all points, where both are almost 0.
    """

    def __init__(self, space: Space, configs: list[Any]) -> None:
        self._space = space
        self._configs = configs
        self._places = np.array([self._place(config) for config in configs])
        # Scott's rule, for each dimension separately; but n points cannot resolve distances below
        # 1/(n + 1), and with narrower kernels it would draw only around the first good place (TPE
        # has the same bound). Nor may a kernel be narrower than the cell of a whole number.
        spread = np.nanstd(_seen(self._places), axis=0)
        factor = len(configs) ** (-1 / (4 + len(space.parameters)))
        least = [max(1 / (len(configs) + 1), self._cell(p) / 2) for p in space.parameters]
        self._widths: Floats = np.maximum(spread * factor, least)

    def _place(self, config: Any) -> list[float]:
        return [
            parameter.domain.place(config[parameter.name]) if parameter.name in config else np.nan
            for parameter in self._space.parameters
        ]

    def _cell(self, parameter: Any) -> float:
        """How wide the part of a whole number is, on average; 0 for a continuum."""
        name, domain = parameter.name, parameter.domain
        if domain.size is None:
            return 0.0
        cells = [domain.cell(config[name]) for config in self._configs if name in config]
        return float(np.mean([high - low for low, high in cells])) if cells else 0.0

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """A legal configuration near one of the given ones; forbidden ones are drawn again."""
        for _ in range(20):
            centre = self._configs[int(rng.random() * len(self._configs))]
            config: dict[str, Any] = {}
            for position, parameter in enumerate(self._space.parameters):
                if not parameter.is_active(config):
                    continue
                domain = parameter.domain
                if parameter.name not in centre:
                    config[parameter.name] = parameter.draw(rng)
                elif is_unordered(domain):
                    stay = rng.random() < 1 - _looseness(domain.size or 1, len(self._configs))
                    config[parameter.name] = (
                        centre[parameter.name] if stay else domain.at(rng.random())
                    )
                else:
                    width = float(self._widths[position])
                    config[parameter.name] = draw_near(domain, centre[parameter.name], width, rng)
            if not any(rule.holds(config) for rule in self._space.forbidden):
                return config
        return self._space.sample(rng)

    def log_density(self, config: Any) -> float:
        """The logarithm of the density, in the positions of numbers and over options."""
        kernels = np.zeros(len(self._configs))
        uniform = 0.0
        for position, parameter in enumerate(self._space.parameters):
            domain, there = parameter.domain, self._places[:, position]
            if domain.size == 1 or parameter.name not in config:
                continue  # which parameters are inactive follows from the others
            value, lacking = config[parameter.name], np.isnan(there)
            if is_unordered(domain):
                size = domain.size or 1
                loose = _looseness(size, len(self._configs))
                same, other = np.log(1 - loose + loose / size), np.log(loose / size)
                kernels += np.select(
                    [lacking, domain.place(value) == there], [-np.log(size), same], other
                )
                uniform -= np.log(size)
            else:
                width = float(self._widths[position])
                near = _log_normal(domain, value, np.where(lacking, 0.5, there), width)
                kernels += np.where(lacking, 0.0, near)
        total = np.logaddexp.reduce(np.append(kernels, uniform))
        return float(total - np.log(len(self._configs) + 1))


def _log_normal(domain: Any, value: Any, there: Floats, width: float) -> Floats:
    """A normal density around each centre, with what lies beyond 0 and 1 reflected.

    Of whole numbers and ordered options it is the mean over the part of the range that is theirs.
    """
    if domain.size is None:
        here = domain.place(value)
        images = np.stack([side * here + turn - there for turn in TURNS for side in (1, -1)])
        gaps: Floats = -0.5 * (images / width) ** 2
        found: Floats = np.logaddexp.reduce(gaps, axis=0) - np.log(width * np.sqrt(2 * np.pi))
        return found
    from scipy.special import ndtr  # noqa: PLC0415 - an import that few studies need

    low, high = domain.cell(value)
    ends = [(low + turn, high + turn) for turn in TURNS] + [(t - high, t - low) for t in TURNS]
    shares = [ndtr((b - there) / width) - ndtr((a - there) / width) for a, b in ends]
    share: Floats = np.log(np.maximum(np.sum(shares, axis=0), TINY) / (high - low))
    return share


def _looseness(options: int, points: int) -> float:
    """The probability that an option is replaced by another: less with more points."""
    return 0.0 if options < 2 else max(0.05, 1 / (1 + points))


def _seen(places: Floats) -> Floats:
    """Columns without any value become 0, so that NumPy does not warn about their spread."""
    return np.where(np.isnan(places).all(axis=0), 0.0, places)
