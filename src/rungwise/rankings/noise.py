"""The paper's criterion: soft ranking with ε estimated from criss-crossing curves."""

from __future__ import annotations

from dataclasses import dataclass

from rungwise.rankings.base import NoiseEstimate
from rungwise.rankings.soft import SoftRanking
from rungwise.rankings.standing import Standing
from rungwise.validation import real, set_frozen


@dataclass(frozen=True, slots=True)
class Noise(SoftRanking):
    """Soft ranking with ε = P_N of |f_{r_j}(c) − f_{r_j}(c′)| over S, the default of PASHA.

    S holds the pairs of configurations in the top rung whose curves criss-crossed, that is,
    swapped their order at least twice; r_j is the furthest resource both have reported. See
    :class:`rungwise.rankings.crossings.Crossings` for how S is kept.

    Args:
        percentile: N, from 0 to 100.

    Reference:
        The paper, section 4.2 (N = 90) and appendix G (N = 80, 90, 95, 100).
    """

    percentile: float = 90.0

    def __post_init__(self) -> None:
        set_frozen(self, percentile=real("percentile", self.percentile, at_least=0, at_most=100))

    def noise_percentile(self) -> float:
        return self.percentile

    def covers(
        self,
        moved: float,
        standing: Standing,  # noqa: ARG002 - ε comes from the curves
        noise: NoiseEstimate,
    ) -> tuple[bool, float | None]:
        return noise.covers(moved)
