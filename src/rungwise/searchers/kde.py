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
from rungwise.searchers.candidates import apart, fresh, nudged
from rungwise.searchers.observations import Floats
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Choice, Space

UNLIKE = 0.1
"""The density of a value next to a configuration whose parameter is inactive, and the reverse."""


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
        ratios = np.array([better.log_of(config) - worse.log_of(config) for config in pool])
        ranked = [pool[i] for i in np.argsort(-ratios, kind="stable")]
        waiting = [trial.config for trial in history if not trial.resources and not trial.failed]
        chosen: dict[str, Any] = apart(space, ranked, waiting, 1)[0]
        return chosen

    def _split(self, space: Space, history: History) -> tuple[list[Any], list[Any]] | None:
        """(good, bad) configurations of the highest level with enough reports."""
        enough = len(space.parameters) + 2
        for level in sorted(history.levels, reverse=True):
            losses = [(_loss_at(trial, level), trial.id, trial) for trial in history]
            told = sorted(entry for entry in losses if not math.isnan(entry[0]))
            finite = sum(loss < math.inf for loss, *_ in told)
            # What failed is never good, however few others there are.
            count = min(max(enough, math.ceil(self.good * len(told))), finite)
            if finite >= enough and len(told) >= 2 * enough:
                configs = [trial.config for *_, trial in told]
                # Who told something and has not come here is worse by selection. Without them a
                # rung of survivors, all alike, would say that the best lies away from all.
                behind = [t.config for loss, _, t in losses if math.isnan(loss) and t.resources]
                if bad := [*configs[count:], *behind]:
                    return configs[:count], bad
        return None


def _loss_at(trial: Observed, level: float) -> float:
    """The loss at a level, which is the first at or beyond it, as for a rung.

    inf for a trial that failed, however good it looked before; NaN if it has not come there.
    """
    if trial.failed:
        return math.inf
    place = bisect_left(trial.resources, level)
    return trial.losses[place] if place < len(trial.losses) else math.nan


class _Density:
    """A product of kernels around each configuration, and a uniform part that counts as one more.

    Kernels are normal for numbers, in the positions of their domains and reflected at the bounds;
    an option keeps most of its weight. Without the uniform part a ratio of two densities would be
    largest far from everything, where both are next to nothing.
    """

    def __init__(self, space: Space, configs: list[Any]) -> None:
        self._space = space
        self._configs = configs
        self._places = np.array([self._place(config) for config in configs])
        # Scott's rule, for each dimension by itself; but n points do not tell places apart that
        # are closer than 1/(n + 1), and with narrower kernels it would settle on the first good
        # place and draw nothing else any more (TPE has the same bound).
        spread = np.nan_to_num(np.nanstd(_seen(self._places), axis=0), nan=0.3)
        factor = len(configs) ** (-1 / (4 + len(space.parameters)))
        self._widths: Floats = np.maximum(spread * factor, 1 / (len(configs) + 1))

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
                elif _loose(domain):
                    stay = rng.random() < 1 - _looseness(domain.size or 1, len(self._configs))
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
        """The logarithm of the density."""
        at = self._place(config)
        kernels = np.zeros(len(self._configs))
        uniform = 0.0
        for position, parameter in enumerate(self._space.parameters):
            domain, here, there = parameter.domain, at[position], self._places[:, position]
            size = domain.size or 0
            if size == 1 or np.isnan(here):
                # What only one of two has sets them apart, as options do.
                kernels += 0.0 if size == 1 else np.where(np.isnan(there), 0.0, np.log(UNLIKE))
            elif _loose(domain):
                loose = _looseness(size, len(self._configs))
                same, other = np.log(1 - loose + loose / size), np.log(loose / size)
                kernels += np.where(here == there, same, other)
                uniform -= np.log(size)
            else:
                near = _log_normal(here, there, float(self._widths[position]))
                kernels += np.where(np.isnan(there), np.log(UNLIKE), near)
        total = np.logaddexp.reduce(np.append(kernels, uniform))
        return float(total - np.log(len(self._configs) + 1))

    def _place(self, config: Any) -> list[float]:
        return [
            parameter.domain.place(config[parameter.name]) if parameter.name in config else np.nan
            for parameter in self._space.parameters
        ]


def _log_normal(here: float, there: Floats, width: float) -> Floats:
    """A normal density around each centre, with what lies beyond 0 and 1 reflected."""
    images = np.stack([here - there, -here - there, 2 - here - there])
    gaps: Floats = -0.5 * (images / width) ** 2
    found: Floats = np.logaddexp.reduce(gaps, axis=0) - np.log(width * np.sqrt(2 * np.pi))
    return found


def _loose(domain: Any) -> bool:
    """Whether the options of a domain have no order."""
    return isinstance(domain, Choice) and not domain.ordered


def _looseness(options: int, points: int) -> float:
    """How likely an option is left for another: less with more points."""
    return 0.0 if options < 2 else max(0.05, 1 / (1 + points))


def _seen(places: Floats) -> Floats:
    """Columns that nobody has a value in become 0, so that their spread is no warning."""
    return np.where(np.isnan(places).all(axis=0), 0.0, places)
