"""Which trial wins: the best of those trained furthest, or the best value at any resource.

The winner is trained in full in the end. So where a metric can get worse again, as cross-entropy
does when a network overfits, an early peak is not what counts, and ``"top"`` is the better rule. It
needs a highest rung that the good trials have reached: under Hyperband, for example, it holds the
few that were sent there at random.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rungwise.core.scheduler import Recipe
from rungwise.core.trials import Trial

Winner = Literal["top", "best"]
"""``"top"``: the best at the highest rung; ``"best"``: the best value at any resource."""

Key = tuple[bool, int, float, int]


@dataclass(frozen=True, slots=True)
class Record:
    """What a trial is ranked by.

    Attributes:
        key: smaller is better.
        loss: the loss that counts; infinite if the trial has none.
        place: which of its reports that is; None if it has none.
    """

    key: Key
    loss: float
    place: int | None


def choose_winner(asked: Winner | None, recipe: Recipe) -> Winner:
    """The rule that was asked for, else that of the scheduler, else ``"best"``."""
    return recipe.winner if asked is None else asked


def find_record(trial: Trial, levels: Sequence[int], winner: Winner) -> Record:
    """What a trial is ranked by.

    For ``"top"`` that is the loss at the highest rung that it has reached, and higher rungs come
    first. A trial that has diverged there comes after all others, whatever it had reached before.

    Args:
        trial: the trial.
        levels: the levels of the rungs, ascending.
        winner: the rule.
    """
    reached = bisect_right(levels, trial.resource) if winner == "top" and trial.losses else 0
    if reached:
        place = bisect_left(trial.resources, levels[reached - 1])
        loss = trial.losses[place]
    else:
        loss = min(trial.losses, default=math.inf)
        place = trial.losses.index(loss) if loss < math.inf else -1
    finite = loss < math.inf
    key = (not finite, -reached if finite else 0, loss, trial.id)
    return Record(key, loss, place if finite else None)
