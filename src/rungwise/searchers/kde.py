"""Proposals from where good configurations are dense, as in BOHB."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from rungwise.core.checks import real, whole
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.base import History, Observed
from rungwise.searchers.candidates import fresh, nudged
from rungwise.searchers.observations import Floats
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Choice, Space

NARROWEST = 0.02
"""The least bandwidth, so that a density of equal points is one."""


@dataclass(frozen=True, slots=True)
class KDE:
    """Draws near good configurations and keeps what is likelier among the good than the bad.

    The model is that of the highest level with enough reports, so it moves up with the study. A
    third of all proposals is random, so that no region is shut out for good.

    Args:
        good: the share of the reports at a level that counts as good.
        candidates: how many draws the best is chosen from.
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
        pool = fresh(space, history, [better.draw(rng) for _ in range(self.candidates)])
        if not pool:
            return RandomSearcher().propose(space, history, rng)
        ratios = [better.log_of(config) - worse.log_of(config) for config in pool]
        return pool[int(np.argmax(ratios))]

    def _split(self, space: Space, history: History) -> tuple[list[Any], list[Any]] | None:
        """(good, bad) configurations of the highest level with enough reports."""
        enough = len(space.parameters) + 2
        for level in sorted(history.levels, reverse=True):
            losses = [(_loss_at(trial, level), trial.id, trial) for trial in history]
            told = sorted(entry for entry in losses if not math.isnan(entry[0]))
            finite = sum(loss < math.inf for loss, *_ in told)
            count = max(enough, math.ceil(self.good * len(told)))
            if finite >= enough and len(told) >= 2 * enough:
                configs = [trial.config for *_, trial in told]
                worst = configs[max(count, len(told) - 4 * len(told) // 5) :]
                return configs[:count], worst or configs[-enough:]
        return None


def _loss_at(trial: Observed, level: float) -> float:
    """The loss at a level, which is the first at or beyond it, as for a rung.

    inf for a trial that failed before, NaN if it has not come there.
    """
    place = bisect_left(trial.resources, level)
    if place < len(trial.losses):
        return trial.losses[place]
    return math.inf if trial.failed else math.nan


class _Density:
    """A product of kernels around each configuration: normal for numbers, sticky for options."""

    def __init__(self, space: Space, configs: list[Any]) -> None:
        self._space = space
        self._configs = configs
        self._places = np.array([space.encode(config) for config in configs])
        # Scott's rule, for each dimension by itself.
        spread = np.nan_to_num(np.nanstd(_seen(self._places), axis=0), nan=0.3)
        factor = len(configs) ** (-1 / (4 + len(space.parameters)))
        self._widths: Floats = np.maximum(spread * factor, NARROWEST)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """A legal configuration from near one of those; forbidden ones are drawn again."""
        for _ in range(20):
            centre = self._configs[int(rng.random() * len(self._configs))]
            config: dict[str, Any] = {}
            for position, parameter in enumerate(self._space.parameters):
                if not parameter.is_active(config):
                    continue
                domain = parameter.domain
                if parameter.name not in centre:
                    config[parameter.name] = parameter.draw(rng)
                elif isinstance(domain, Choice) and not domain.ordered:
                    stay = rng.random() < 1 - _looseness(domain.size, len(self._configs))
                    config[parameter.name] = (
                        centre[parameter.name] if stay else domain.at(rng.random())
                    )
                else:
                    width = float(self._widths[position])
                    config[parameter.name] = nudged(domain, centre[parameter.name], width, rng)
            if not any(rule.holds(config) for rule in self._space.forbidden):
                return config
        return self._space.sample(rng)

    def log_of(self, config: Any) -> float:
        """The logarithm of the density, up to a constant."""
        at = self._space.encode(config)
        total = np.zeros(len(self._configs))
        for position, parameter in enumerate(self._space.parameters):
            here, there = at[position], self._places[:, position]
            domain = parameter.domain
            size = domain.size or 0
            if size == 1:
                continue
            if np.isnan(here):
                total += np.where(np.isnan(there), 0.0, np.log(0.1))
            elif isinstance(domain, Choice) and not domain.ordered:
                loose = _looseness(size, len(self._configs))
                same, other = np.log(1 - loose + loose / size), np.log(loose / size)
                total += np.where(here == there, same, other)
            else:
                gap = (here - there) / self._widths[position]
                near = -0.5 * gap * gap - np.log(self._widths[position])
                total += np.where(np.isnan(there), np.log(0.1), np.maximum(near, -50.0))
        return float(np.logaddexp.reduce(total))


def _looseness(options: int, points: int) -> float:
    """How likely an option is left for another: less with more points."""
    return 0.0 if options < 2 else max(0.05, 1 / (1 + points))


def _seen(places: Floats) -> Floats:
    """Columns that nobody has a value in become 0, so that their spread is no warning."""
    return np.where(np.isnan(places).all(axis=0), 0.0, places)
