"""Direct ranking: every configuration keeps its place."""

from __future__ import annotations

from dataclasses import dataclass

from rungwise import lazy_numpy as np
from rungwise.rankings.base import NoiseEstimate, Ranking, Verdict
from rungwise.rankings.standing import Standing


@dataclass(frozen=True, slots=True)
class Exact(Ranking):
    """Stable ⇔ both rungs list the configurations in the same order, ties by trial id.

    It differs from ``Soft(0)`` only if losses are equal in rung K−1: ``Exact`` compares places,
    ``Soft`` losses.

    Example:
        >>> Exact().stable(top=[0.1, 0.2, 0.3], below=[0.4, 0.5, 0.6])
        True
        >>> Exact().stable(top=[0.2, 0.1, 0.3], below=[0.4, 0.5, 0.6])
        False

    Reference:
        The paper, appendix C.1, direct ranking.
    """

    def judge(self, standing: Standing, noise: NoiseEstimate) -> Verdict:  # noqa: ARG002 - no noise here
        moved = int(np.count_nonzero(standing.order != standing.order_below))
        return Verdict(moved == 0, moved, 0)

    def explain(self, verdict: Verdict) -> str:
        if verdict.stable:
            return "no configuration changed its place"
        return f"{verdict.measure:g} configurations changed their places"
