"""Soft ranking: configurations may change places within ε of each other.

Law of this file: one test, ``displacement ≤ ε``, which is the paper's list-of-lists test. Sort the
configurations of rung K by their loss there, c₁, c₂, …, and by their loss in rung K−1, p₁, p₂, …;
the paper asks for every i whether cᵢ is in {c : |f_{K−1}(pᵢ) − f_{K−1}(c)| ≤ ε}, that is, whether
|f_{K−1}(cᵢ) − f_{K−1}(pᵢ)| ≤ ε. The classes differ only in where ε comes from.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from rungwise.core.checks import real
from rungwise.rankings.base import Noise, Ranking, Verdict
from rungwise.rankings.standing import Floats, Standing


class SoftRanking(Ranking):
    """Stable ⇔ max over i of |f_{K−1}(cᵢ) − f_{K−1}(pᵢ)| ≤ ε."""

    __slots__ = ()

    @abstractmethod
    def tolerance(self, standing: Standing, noise: Noise) -> float:
        """The tolerance ε."""

    def judge(self, standing: Standing, noise: Noise) -> Verdict:
        moved = standing.displacement()
        if moved == 0:
            # Stable whatever ε is, so nobody has to work it out.
            return Verdict(stable=True, measure=0.0)
        epsilon = self.tolerance(standing, noise)
        return Verdict(moved <= epsilon, moved, epsilon, epsilon)

    def explain(self, verdict: Verdict) -> str:
        if verdict.bound is None:
            return "no configuration changed place"
        word = "within" if verdict.stable else "more than"
        return f"the ranking moved by {verdict.measure:.4g}, {word} ε = {verdict.bound:.4g}"


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
        real("epsilon", self.epsilon, at_least=0)

    def tolerance(self, standing: Standing, noise: Noise) -> float:  # noqa: ARG002 - a given one
        return self.epsilon


@dataclass(frozen=True, slots=True)
class SoftSigma(SoftRanking):
    """Soft ranking with ε = k·σ, σ the population standard deviation in rung K−1.

    It is taken over the configurations of rung K, diverged ones left out.

    Args:
        k: the multiple.

    Reference:
        The paper, appendix C.1 (k = 1, 2, 3).
    """

    k: float

    def __post_init__(self) -> None:
        real("k", self.k, at_least=0)

    def tolerance(self, standing: Standing, noise: Noise) -> float:  # noqa: ARG002 - from spread
        losses = _finite(standing.below)
        return self.k * float(losses.std()) if losses.size > 1 else 0.0


@dataclass(frozen=True, slots=True)
class SoftMean(SoftRanking):
    """Soft ranking with ε = the mean distance between two configurations in rung K−1.

    Reference:
        The paper, appendix C.1, mean distance.
    """

    def tolerance(self, standing: Standing, noise: Noise) -> float:  # noqa: ARG002 - from spread
        losses = _finite(standing.below)
        n = losses.size
        if n < 2:
            return 0.0
        # In ascending order x₀ ≤ x₁ ≤ … the pairs add up to Σ (2i − n + 1) xᵢ.
        total = float(((2 * np.arange(n) - n + 1) * losses).sum())
        return total / (n * (n - 1) / 2)


@dataclass(frozen=True, slots=True)
class SoftMedian(SoftRanking):
    """Soft ranking with ε = the median distance between two configurations in rung K−1.

    Reference:
        The paper, appendix C.1, median distance.
    """

    def tolerance(self, standing: Standing, noise: Noise) -> float:  # noqa: ARG002 - from spread
        losses = _finite(standing.below)
        if losses.size < 2:
            return 0.0
        first, second = np.triu_indices(losses.size, k=1)
        return float(np.median(losses[second] - losses[first]))


def _finite(ascending: Floats) -> Floats:
    """The losses without the infinite ones at the end."""
    return ascending[: np.searchsorted(ascending, math.inf)]
