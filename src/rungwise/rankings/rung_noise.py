"""A criterion that is not in the paper: movement and noise in the values of the same rung."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rungwise import lazy_numpy as np
from rungwise.rankings.noise import Noise
from rungwise.rankings.standing import Standing


@dataclass(frozen=True, slots=True)
class RungNoise(Noise):
    """Stable ⇔ max over i of |f_K(cᵢ) − f_K(pᵢ)| ≤ ε.

    c and p are the orders in rung K and in rung K−1. The paper measures how far the ranking moved
    in the values of rung K−1, and ε in those of rung K. Where the metric's scale grows between the
    two (accuracies near 0 at first), any movement is then within ε, and the ceiling stays where it
    is too early. Here both are measured in rung K. ε is estimated as in
    :class:`rungwise.rankings.Noise`.

    Args:
        percentile: which percentile of the noise is ε.

    Example:
        >>> RungNoise().stable(top=[0.31, 0.30], below=[0.50, 0.54], epsilon=0.02)
        True
        >>> RungNoise().stable(top=[0.39, 0.30], below=[0.50, 0.51], epsilon=0.02)
        False
    """

    where: ClassVar[str] = " at this level"

    def measure(self, standing: Standing) -> float:
        own, other = standing.top, standing.top_in_below_order
        differ = own != other  # so that two infinite losses have no difference
        with np.errstate(over="ignore"):
            return float(np.abs(own[differ] - other[differ]).max(initial=0.0))
