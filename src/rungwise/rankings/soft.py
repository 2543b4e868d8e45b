"""Soft ranking: configurations may change places within ε of each other.

Law of this file: one test, ``displacement ≤ ε``, which is the paper's list-of-lists test. Sort the
configurations of rung K by their loss there, c₁, c₂, …, and by their loss in rung K−1, p₁, p₂, …;
the paper tests for every i whether cᵢ is in {c : |f_{K−1}(pᵢ) − f_{K−1}(c)| ≤ ε}, that is, whether
|f_{K−1}(cᵢ) − f_{K−1}(pᵢ)| ≤ ε, up to rounding. The classes differ only in where ε comes from.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from rungwise import lazy_numpy as np
from rungwise.rankings.base import NoiseEstimate, Ranking, Verdict, discount_rounding
from rungwise.rankings.standing import Floats, Standing
from rungwise.validation import real, set_frozen


class SoftRanking(Ranking):
    """Stable ⇔ max over i of |f_{K−1}(cᵢ) − f_{K−1}(pᵢ)| ≤ ε."""

    __slots__ = ()

    where: ClassVar[str] = ""
    """What an explanation adds about the values in which the movement is measured."""

    @abstractmethod
    def covers(
        self, moved: float, standing: Standing, noise: NoiseEstimate
    ) -> tuple[bool, float | None]:
        """Whether the ranking moved by at most ε, and ε unless it is too expensive to compute."""

    def measure(self, standing: Standing) -> float:
        """How far the ranking moved."""
        return standing.displacement()

    def judge(self, standing: Standing, noise: NoiseEstimate) -> Verdict:
        moved = self.measure(standing)
        if moved == 0:
            # Stable for every ε, so ε is not computed.
            return Verdict(stable=True, measure=0.0)
        stable, epsilon = self.covers(discount_rounding(moved), standing, noise)
        return Verdict(stable, moved, epsilon, epsilon)

    def explain(self, verdict: Verdict) -> str:
        if verdict.measure == 0:
            return "no configuration changed its place"
        word = "within" if verdict.stable else "more than"
        limit = "ε" if verdict.bound is None else f"ε = {verdict.bound:.4g}"
        return f"the ranking moved by {verdict.measure:.4g}{self.where}, {word} {limit}"


@dataclass(frozen=True, slots=True)
class Soft(SoftRanking):
    """Soft ranking with a given ε.

    Args:
        epsilon: ε, in units of the metric.

    Example:
        >>> Soft(0.05).stable(top=[0.2, 0.1], below=[0.50, 0.54])
        True
        >>> Soft(0.03).stable(top=[0.2, 0.1], below=[0.50, 0.54])
        False

    Reference:
        The paper, section 4.1 and appendix C.1 (ε = 0.01, 0.02, 0.025, 0.03, 0.05).
    """

    epsilon: float

    def __post_init__(self) -> None:
        set_frozen(self, epsilon=real("epsilon", self.epsilon, at_least=0))

    def covers(
        self,
        moved: float,
        standing: Standing,  # noqa: ARG002 - ε is given
        noise: NoiseEstimate,  # noqa: ARG002
    ) -> tuple[bool, float | None]:
        return moved <= self.epsilon, self.epsilon


class SpreadRanking(SoftRanking):
    """Soft ranking with ε from the spread of the losses in rung K−1."""

    __slots__ = ()

    @abstractmethod
    def tolerance(self, losses: Floats) -> float:
        """ε for two or more finite losses, ascending."""

    def covers(
        self,
        moved: float,
        standing: Standing,
        noise: NoiseEstimate,  # noqa: ARG002 - ε comes from the losses
    ) -> tuple[bool, float | None]:
        losses = _finite(standing.below)
        epsilon = self.tolerance(losses) if losses.size > 1 else 0.0
        return moved <= epsilon, epsilon


@dataclass(frozen=True, slots=True)
class SoftSigma(SpreadRanking):
    """Soft ranking with ε = k·σ, σ the population standard deviation in rung K−1.

    It is taken over the configurations of rung K, diverged ones left out.

    Args:
        k: the multiple.

    Reference:
        The paper, appendix C.1 (k = 1, 2, 3).
    """

    words: ClassVar[tuple[str, ...]] = ("sigma",)

    k: float

    def __post_init__(self) -> None:
        set_frozen(self, k=real("k", self.k, at_least=0))

    def tolerance(self, losses: Floats) -> float:
        return self.k * float(losses.std())


@dataclass(frozen=True, slots=True)
class SoftMean(SpreadRanking):
    """Soft ranking with ε = the mean distance between two configurations in rung K−1.

    Reference:
        The paper, appendix C.1, mean distance.
    """

    words: ClassVar[tuple[str, ...]] = ("mean",)

    def tolerance(self, losses: Floats) -> float:
        n = losses.size
        # In ascending order x₀ ≤ x₁ ≤ … the pairs add up to Σ (2i − n + 1) xᵢ.
        total = float(((2 * np.arange(n) - n + 1) * losses).sum())
        return total / (n * (n - 1) / 2)


@dataclass(frozen=True, slots=True)
class SoftMedian(SpreadRanking):
    """Soft ranking with ε = the median distance between two configurations in rung K−1.

    Reference:
        The paper, appendix C.1, median distance.
    """

    words: ClassVar[tuple[str, ...]] = ("median",)

    def covers(
        self,
        moved: float,
        standing: Standing,
        noise: NoiseEstimate,
    ) -> tuple[bool, float | None]:
        losses = _finite(standing.below)
        pairs = losses.size * (losses.size - 1) // 2
        if losses.size > _FEW:
            # Listing all pairs is expensive; counting those closer than the move is mostly enough.
            closer = _pairs_closer_than(moved, losses)
            if closer <= (pairs - 1) // 2:
                return True, None
            if closer > pairs // 2:
                return False, None
        return SpreadRanking.covers(self, moved, standing, noise)

    def tolerance(self, losses: Floats) -> float:
        first, second = np.triu_indices(losses.size, k=1)
        return float(np.median(losses[second] - losses[first]))


def _finite(ascending: Floats) -> Floats:
    """The losses without the infinite ones at the end."""
    return ascending[: np.searchsorted(ascending, math.inf)]


_FEW = 128
"""Up to this number of configurations, all pairs are listed."""


def _pairs_closer_than(gap: float, ascending: Floats) -> int:
    """How many pairs have a distance below the gap, by one binary search per configuration."""
    n = ascending.size
    ends = np.searchsorted(ascending, ascending + gap)
    # The sum above is rounded and so are the distances: move the ends to where the distances are.
    places = np.arange(n)
    while (low := (ends < n) & (ascending[np.minimum(ends, n - 1)] - ascending < gap)).any():
        ends = ends + low
    while (high := (ends > places + 1) & (ascending[ends - 1] - ascending >= gap)).any():
        ends = ends - high
    return int((ends - places - 1).sum())
