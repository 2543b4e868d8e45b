"""Rank-biased overlap of the two rankings."""

from __future__ import annotations

from dataclasses import dataclass

from rungwise import lazy_numpy as np
from rungwise.rankings.base import SLACK, NoiseEstimate, Ranking, Verdict, rank_weights
from rungwise.rankings.standing import Standing
from rungwise.validation import real, set_frozen


@dataclass(frozen=True, slots=True)
class RBO(Ranking):
    """Stable ⇔ RBO = Σ_d w_d |A_d ∩ B_d| / d ≥ t, with w_d = p^{d−1} / Σ p^{d−1}.

    A_d and B_d are the first d configurations of rung K and rung K−1. The weights are normalised
    over the n places there are, so that equal rankings give 1 for every p (the truncated infinite
    sum gives 1 − pⁿ, which calls small equal rankings different); p = 1 is the average overlap.

    Args:
        p: from 0 to 1; the smaller, the more the top of the ranking counts.
        t: the threshold.

    Example:
        >>> RBO(p=1.0, t=0.5).stable(top=[1, 2, 3], below=[2, 1, 3])  # (0 + 1 + 1) / 3
        True

    Reference:
        The paper, appendix C.1 (p = 1 and 0.5, t = 0.5); Webber, Moffat and Zobel (2010).
    """

    p: float = 1.0
    t: float = 0.5

    def __post_init__(self) -> None:
        set_frozen(self, p=real("p", self.p, at_least=0, at_most=1))
        set_frozen(self, t=real("t", self.t, at_least=0, at_most=1))

    def judge(self, standing: Standing, noise: NoiseEstimate) -> Verdict:  # noqa: ARG002 - no noise here
        n = standing.size
        if n == 0:
            return Verdict(stable=True, measure=1.0, bound=self.t)
        # A configuration is in both prefixes from the later of its two places on.
        later = np.maximum(standing.ranks, standing.ranks_below)
        overlap = np.cumsum(np.bincount(later, minlength=n)) / np.arange(1, n + 1)
        value = float((rank_weights(self.p, n) * overlap).sum())
        # The weights add up to 1 only to rounding; equal rankings must reach t = 1.
        return Verdict(value >= self.t - SLACK, value, self.t)

    def explain(self, verdict: Verdict) -> str:
        word = "at least" if verdict.stable else "less than"
        return f"the rank-biased overlap is {verdict.measure:.4g}, {word} {self.t:g}"
