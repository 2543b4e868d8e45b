"""The loss of a trial at a level."""

from __future__ import annotations

import math
from bisect import bisect_left

from rungwise.core.trials import Candidate


def find_loss(trial: Candidate, level: float) -> float:
    """The loss of the first report at or beyond a level; inf if there is none."""
    place = bisect_left(trial.resources, level)
    return trial.losses[place] if place < len(trial.losses) else math.inf
