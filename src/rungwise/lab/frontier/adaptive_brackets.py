"""ASHA's Hyperband that chooses brackets by how far their first rung can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import FloorCut
from rungwise.core.scheduler import Draw, Move, Recipe, Scheduler
from rungwise.core.trials import Candidate
from rungwise.schedulers.hyperband import AsyncBrackets
from rungwise.schedulers.trial_losses import find_loss

EVIDENCE = 5
"""How many trials a level must have before brackets are chosen by it."""

EVERY = 8
"""After how many configurations the brackets are weighed again."""


@dataclass(frozen=True, slots=True)
class AdaptiveHyperband(Recipe):
    """Brackets of ASHA; a new configuration goes to a cheap one whose ranking can be trusted.

    A bracket's weight is θ / r: r is the level of its first rung, θ how much of the order at r is
    kept at the highest level that 5 trials have reached (1 if all pairs, 0 if only half of them).

    Args:
        max_resource: R.
        eta: η.

    Reference:
        Li et al., Hyper-Tune: Towards Efficient Hyper-parameter Tuning at Scale (2022), bracket
        selection; θ there is the weight of a level's model, here a rank correlation.
    """

    words: ClassVar[tuple[str, ...]] = ()

    max_resource: int
    eta: int = 3

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A fresh scheduler for one study."""
        return AdaptiveBrackets(Ladder.between(1, self.max_resource, eta=self.eta))

    def limited_to(self, max_resource: int) -> AdaptiveHyperband:
        """The same with a maximum."""
        return replace(self, max_resource=max_resource)


class AdaptiveBrackets(AsyncBrackets):
    """The scheduler of :class:`AdaptiveHyperband`.

    Args:
        ladder: where the rungs are.
    """

    def __init__(self, ladder: Ladder) -> None:
        super().__init__(ladder, cut=FloorCut(ladder.eta))
        self._trials: list[Candidate] = []
        self._counts = [0] * len(self.brackets)
        self._weights: list[float] | None = None

    def started(self, trial: Candidate) -> None:
        super().started(trial)
        self._trials.append(trial)
        self._counts[trial.bracket] += 1

    def next_move(self, *, may_draw: bool) -> Move | None:
        move = super().next_move(may_draw=may_draw)
        if not isinstance(move, Draw):
            return move
        if len(self._trials) % EVERY == 0:
            self._weights = self._weigh()
        weights = self._weights
        if weights is None:
            return move
        best = min(range(len(weights)), key=lambda k: (self._counts[k] + 1) / weights[k])
        return Draw(self.ladder.levels[best], best)

    def _weigh(self) -> list[float] | None:
        """The weights of the brackets; None while there is no evidence."""
        levels = self.ladder.levels
        for top in range(len(levels) - 1, 0, -1):
            there = [one for one in self._trials if find_loss(one, levels[top]) < math.inf]
            if len(there) >= EVIDENCE:
                kept = [_compare_orders(there, level, levels[top]) for level in levels[:top]]
                kept += [1.0] * (len(levels) - top)
                return [max(share, 0.01) / level for share, level in zip(kept, levels, strict=True)]
        return None


def _compare_orders(trials: list[Candidate], low: float, high: float) -> float:
    """Kendall's rank correlation of the losses at two levels."""
    points = [(find_loss(one, low), find_loss(one, high)) for one in trials]
    pairs = list(combinations(points, 2))
    agree = sum(((a[0] - b[0]) * (a[1] - b[1]) > 0) for a, b in pairs)
    return 2 * agree / len(pairs) - 1
