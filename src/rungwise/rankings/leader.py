"""A criterion that is not in the paper: would the winner change?"""

from __future__ import annotations

from dataclasses import dataclass

from rungwise.rankings.base import NoiseEstimate, Ranking, Verdict, discount_rounding
from rungwise.rankings.standing import Standing
from rungwise.validation import real, set_frozen


@dataclass(frozen=True, slots=True)
class Leader(Ranking):
    """Stable ⇔ f_K(p₁) − min f_K ≤ ε, with p₁ the leader of rung K−1 among rung K's trials.

    It checks only whether the winner would change; the places behind the winner do not matter.
    ε comes from the noise in the curves as in :class:`rungwise.rankings.Noise`.

    Args:
        percentile: which percentile of the noise is ε.

    Example:
        >>> Leader().stable(top=[0.10, 0.11, 0.5], below=[0.31, 0.30, 0.4], epsilon=0.02)
        True
        >>> Leader().stable(top=[0.10, 0.15, 0.5], below=[0.31, 0.30, 0.4], epsilon=0.02)
        False
    """

    percentile: float = 90.0

    def __post_init__(self) -> None:
        set_frozen(self, percentile=real("percentile", self.percentile, at_least=0, at_most=100))

    def noise_percentile(self) -> float:
        return self.percentile

    def judge(self, standing: Standing, noise: NoiseEstimate) -> Verdict:
        if standing.size < 2:
            return Verdict(stable=True, measure=0.0)
        leader, best = float(standing.top_in_below_order[0]), float(standing.top[0])
        if leader == best:
            # The winner is the same whatever ε is (also when all have diverged).
            return Verdict(stable=True, measure=0.0)
        behind = leader - best
        stable, epsilon = noise.covers(discount_rounding(behind))
        return Verdict(stable, behind, epsilon, epsilon)

    def explain(self, verdict: Verdict) -> str:
        if verdict.measure == 0:
            return "the best configuration is the same"
        word = "within" if verdict.stable else "more than"
        limit = "ε" if verdict.bound is None else f"ε = {verdict.bound:.4g}"
        return (
            f"the best configuration of the rung below is {verdict.measure:.4g} worse than the "
            f"best here, {word} {limit}"
        )
