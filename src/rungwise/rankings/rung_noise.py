"""A criterion that is not in the paper: movement and noise in the values of the same rung."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rungwise.rankings.base import NoiseEstimate, Ranking, Verdict, discount_rounding
from rungwise.rankings.standing import Standing
from rungwise.validation import real, set_frozen


@dataclass(frozen=True, slots=True)
class RungNoise(Ranking):
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

    percentile: float = 90.0

    def __post_init__(self) -> None:
        set_frozen(self, percentile=real("percentile", self.percentile, at_least=0, at_most=100))

    def noise_percentile(self) -> float:
        return self.percentile

    def judge(self, standing: Standing, noise: NoiseEstimate) -> Verdict:
        own, other = standing.top, standing.top_in_below_order
        differ = own != other  # so that two infinite losses have no difference
        with np.errstate(over="ignore"):
            moved = float(np.abs(own[differ] - other[differ]).max(initial=0.0))
        if moved == 0:
            # Stable for every ε, so ε is not computed.
            return Verdict(stable=True, measure=0.0)
        stable, epsilon = noise.covers(discount_rounding(moved))
        return Verdict(stable, moved, epsilon, epsilon)

    def explain(self, verdict: Verdict) -> str:
        if verdict.measure == 0:
            return "no configuration changed its place"
        word = "within" if verdict.stable else "more than"
        limit = "ε" if verdict.bound is None else f"ε = {verdict.bound:.4g}"
        return f"the ranking moved by {verdict.measure:.4g} at this level, {word} {limit}"
