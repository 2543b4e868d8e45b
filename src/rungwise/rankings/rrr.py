"""Reciprocal rank regret: what would it cost to rank as the rung below does?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from rungwise import lazy_numpy as np
from rungwise.rankings.base import SLACK, NoiseEstimate, Ranking, Verdict, rank_weights
from rungwise.rankings.standing import Standing
from rungwise.validation import real, set_frozen


@dataclass(frozen=True, slots=True)
class Regret(Ranking):
    """Base of both kinds of regret: the weights, the threshold, the test."""

    p: float = 1.0
    t: float = 0.05

    absolute: ClassVar[bool] = False

    def __post_init__(self) -> None:
        set_frozen(self, p=real("p", self.p, at_least=0, at_most=1))
        set_frozen(self, t=real("t", self.t, at_least=0))

    def judge(self, standing: Standing, noise: NoiseEstimate) -> Verdict:  # noqa: ARG002 - no noise here
        value = weighted_regret(standing, self.p, absolute=self.absolute)
        # A regret of exactly t is stable, however its sum was rounded.
        return Verdict(value <= self.t + SLACK, value, self.t)

    def explain(self, verdict: Verdict) -> str:
        name = "absolute reciprocal" if self.absolute else "reciprocal"
        word = "at most" if verdict.stable else "more than"
        return f"the {name} rank regret is {verdict.measure:.4g}, {word} {self.t:g}"


@dataclass(frozen=True, slots=True)
class RRR(Regret):
    """Stable ⇔ RRR = Σ wᵢ (f′ᵢ − fᵢ) / fᵢ ≤ t, with wᵢ = pⁱ / Σ pⁱ.

    f are the scores in rung K in their own order, f′ the same scores in rung K−1's order. For a
    maximised metric it is (fᵢ − f′ᵢ) / fᵢ on the metric itself. The paper divides by fᵢ; here it
    is |fᵢ|, the same for positive scores and still a regret for negative ones (log likelihoods).

    Args:
        p: from 0 to 1; the smaller, the more the top of the ranking counts.
        t: the largest relative regret that counts as stable.

    Reference:
        The paper, appendix C.1 (p = 1 and 0.5, t = 0.05).
    """


@dataclass(frozen=True, slots=True)
class ARRR(Regret):
    """Stable ⇔ ARRR = Σ wᵢ |f′ᵢ − fᵢ| / fᵢ ≤ t: :class:`RRR` with absolute differences.

    Args:
        p: from 0 to 1; the smaller, the more the top of the ranking counts.
        t: the largest relative regret that counts as stable.

    Reference:
        The paper, appendix C.1 (p = 1 and 0.5, t = 0.05).
    """

    absolute: ClassVar[bool] = True


def weighted_regret(standing: Standing, p: float, *, absolute: bool) -> float:
    """Σ wᵢ (f′ᵢ − fᵢ) / |fᵢ|, or with |f′ᵢ − fᵢ|.

    Losses work for both goals: a maximised metric is −loss, so (f − f′) / |f| is the same number.
    A configuration that diverged in rung K costs +inf if rung K−1 ranked it before one that
    did not.
    """
    own, other = standing.top, standing.top_in_below_order
    differ = own != other
    if not differ.any():
        return 0.0
    weights = rank_weights(p, own.size)
    counted = differ & (weights > 0)
    weights, own, other = weights[counted], own[counted], other[counted]
    if np.isinf(other[np.isfinite(own)]).any():
        return math.inf
    # A score of 0 makes a relative regret infinite; two of opposite sign make it NaN: unstable.
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.abs(other - own) if absolute else other - own
        return float((weights * (gap / np.abs(own))).sum())
