"""Proposals by the tree-structured Parzen estimator, with one density over all parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rungwise.core.searcher import History
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.candidates import select_new
from rungwise.searchers.observations import Floats, Observations, standings
from rungwise.searchers.parzen import Columns, Parzen
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Space
from rungwise.validation import real, whole

MOST_GOOD = 25
"""The largest number of good trials."""

RECENT = 25
"""This number of the newest trials have their full weight; older ones less."""


@dataclass(frozen=True, slots=True)
class TPE:
    """Draws near good configurations and keeps what is likelier among the good than the bad.

    Trials are in one order: whoever got further is better, then the lower loss.
    """

    repeatable: ClassVar[bool] = False

    startup: int = 10
    good: float = 0.1
    candidates: int = 24

    def __post_init__(self) -> None:
        if not 0 < real("good", self.good) < 1:
            raise InvalidArgumentError("good", self.good, "it must be between 0 and 1")
        whole("startup", self.startup, at_least=2)
        whole("candidates", self.candidates, at_least=1)

    def propose(self, space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The next configuration to try; there always is one."""
        seen = standings(history)
        if len(seen) < self.startup or np.ptp(seen.scores) == 0:
            return RandomSearcher().propose(space, history, rng)
        columns = Columns(space)
        better, worse = self._densities(space, columns, seen)
        drawn = [columns.config(row) for row in better.draw(self.candidates, rng)]
        pool = select_new(space, history, [config for config in drawn if config is not None])
        if not pool:
            return RandomSearcher().propose(space, history, rng)
        rows = columns.of(pool)
        return pool[int(np.argmax(better.log_density(rows) - worse.log_density(rows)))]

    def _densities(
        self, space: Space, columns: Columns, seen: Observations
    ) -> tuple[Parzen, Parzen]:
        """The densities of the good and of the bad configurations."""
        count = min(math.ceil(self.good * len(seen)), MOST_GOOD)
        order = np.argsort(seen.scores, kind="stable")
        rows = columns.of([trial.config for trial in seen.trials])
        good, bad = np.sort(order[:count]), np.sort(order[count:])
        # Running trials count as bad, so that workers keep a distance from each other.
        running = columns.of([trial.config for trial in seen.pending])
        weights = np.append(_weigh(len(bad)), np.ones(len(running)))
        return (
            Parzen(space, rows[good], np.ones(count)),
            Parzen(space, np.vstack([rows[bad], running]), weights),
        )


def _weigh(count: int) -> Floats:
    """The weights of trials, from the oldest to the newest."""
    older = max(count - RECENT, 0)
    return np.append(np.linspace(1 / max(count, 1), 1.0, older), np.ones(count - older))
