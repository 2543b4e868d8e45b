"""Proposals by the tree-structured Parzen estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rungwise.core.searcher import History, Searcher
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.candidates import keep_apart, select_new
from rungwise.searchers.observations import Floats, Observations, standings
from rungwise.searchers.parzen import Columns, Parzen
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Space
from rungwise.validation import real, whole

MOST_GOOD = 25
"""The largest number of good trials."""

RECENT = 25
"""This number of the newest bad trials have their full weight; older ones have less."""

POOL = 3
"""How many configurations are put together from separate parameters, before others are tried."""


@dataclass(frozen=True, slots=True)
class TPE(Searcher):
    """Draws near good configurations and keeps what is likelier among the good than the bad.

    All trials are in one order: the highest level reached, then the loss there; a NaN and a failed
    trial are last. So it learns what passes the rungs, not only what looks good at the first one.
    The first of them are good, all others bad. For both there is a density, the sum of a kernel
    around each configuration; of several draws from the density of the good ones the one with the
    largest ratio of the two is proposed.

    Half of the proposals take the densities over all parameters jointly, which shows what belongs
    together. The others take each parameter by itself, which is safer where few good trials stand
    in a space of many parameters. Neither was better everywhere.

    Where several workers ask at the same time, a configuration that is almost equal to one that
    has no report yet is proposed only if there is no other candidate.

    Args:
        startup: how many trials must have reported before it stops proposing at random.
        good: the share of the trials that counts as good; at most 25 trials do.
        candidates: the number of draws from which the best is chosen.
        joint: the share of the proposals that take all parameters jointly; with 1 it proposes from
            the same distribution as the TPE of Optuna 5.

    Example:
        >>> from rungwise.testing.searchers import ListHistory
        >>> space = Space.parse({"act": ["relu"]})
        >>> TPE().propose(space, ListHistory(space), np.random.default_rng(0))
        {'act': 'relu'}

    Reference:
        Bergstra et al. (2011), Algorithms for hyper-parameter optimization; Falkner et al. (2018),
        BOHB, for joint densities.
    """

    # A replay takes its proposals from the log, so that a better TPE can read older studies.
    repeatable: ClassVar[bool] = False

    startup: int = 10
    good: float = 0.1
    candidates: int = 24
    joint: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < real("good", self.good) < 1:
            raise InvalidArgumentError("good", self.good, "it must be between 0 and 1")
        if not 0 <= real("joint", self.joint) <= 1:
            raise InvalidArgumentError("joint", self.joint, "it must be from 0 to 1")
        whole("startup", self.startup, at_least=2)
        whole("candidates", self.candidates, at_least=1)

    def propose(self, space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The next configuration to try; there always is one."""
        seen = standings(history)
        if len(seen) < self.startup or np.ptp(seen.scores) == 0:
            return RandomSearcher().propose(space, history, rng)
        columns = Columns(space)
        better, worse = self._densities(space, columns, seen)
        drawn = columns.configs(better.draw(self.candidates, rng))
        ratios = better.log_ratio(columns.of(drawn), worse)
        ranked = [drawn[i] for i in np.argsort(-ratios, kind="stable")]
        if rng.random() >= self.joint:
            more = better.draw(self.candidates * POOL, rng)
            ranked = [*columns.configs(_compose(more, better, worse)), *ranked]
        pool = select_new(space, history, ranked)
        if not pool:
            return RandomSearcher().propose(space, history, rng)
        chosen: dict[str, Any] = keep_apart(space, pool, [t.config for t in seen.pending], 1)[0]
        return chosen

    def _densities(
        self, space: Space, columns: Columns, seen: Observations
    ) -> tuple[Parzen, Parzen]:
        """The densities of the good and of the bad configurations."""
        count = min(math.ceil(self.good * len(seen)), MOST_GOOD)
        order = np.argsort(seen.scores, kind="stable")
        rows = columns.of([trial.config for trial in seen.trials])
        good, bad = np.sort(order[:count]), np.sort(order[count:])
        return (
            Parzen(space, rows[good], np.ones(count)),
            Parzen(space, rows[bad], _weigh(len(bad))),
        )


def _compose(rows: Floats, better: Parzen, worse: Parzen) -> Floats:
    """Rows whose every number is the best of its own draws, whatever the other numbers are."""
    ratios = better.log_ratios(rows, worse)
    groups = rows.reshape(POOL, -1, rows.shape[1])
    best = ratios.reshape(groups.shape).argmax(axis=1)
    found: Floats = np.take_along_axis(groups, best[:, None, :], axis=1)[:, 0]
    return found


def _weigh(count: int) -> Floats:
    """The weights of bad trials, from the oldest to the newest."""
    older = max(count - RECENT, 0)
    return np.append(np.linspace(1 / max(count, 1), 1.0, older), np.ones(count - older))
