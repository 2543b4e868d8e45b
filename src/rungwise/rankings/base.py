"""What a ranking criterion is: it decides whether two rungs rank their configurations alike.

A criterion is a frozen value with one pure method. PASHA asks it whether rung K ranks its
configurations as rung K−1 does, and raises the ceiling if it does not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rungwise import lazy_numpy as np
from rungwise.rankings.standing import Standing
from rungwise.validation import Goal, parse_goal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class NoiseEstimate(Protocol):
    """ε as estimated from criss-crossing curves; computed only when it is needed."""

    def covers(self, gap: float) -> tuple[bool, float | None]:
        """Whether a gap is within ε, and ε itself unless it was too expensive to compute."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a criterion found.

    Attributes:
        stable: whether the ranking is the same, by this criterion.
        measure: the quantity that was computed.
        bound: what the quantity was compared with, if it had to be.
        epsilon: ε, if the criterion has one and needed it.
    """

    stable: bool
    measure: float
    bound: float | None = None
    epsilon: float | None = None


ROUNDING = 1e-9
"""The part of a difference that may come from rounding.

Accuracies come in steps: 1/359 on 359 images. A ranking that moved by one step and an ε of one step
are the same number, computed from different pairs, and differ in the last bits; such bits must
not raise a ceiling.
"""


def discount_rounding(gap: float) -> float:
    """A gap without what rounding may have added to it: for differences of losses, against ε."""
    return gap * (1 - ROUNDING)


SLACK = 1e-12
"""How far a measure without a unit, as a share or a correlation, may miss its threshold.

Such measures are sums of weights or quotients of whole numbers, so their rounding does not grow
with the losses: compare ``value >= t - SLACK`` or ``value <= t + SLACK``.
"""


class Ranking(ABC):
    """A criterion; subclasses are frozen dataclasses."""

    __slots__ = ()

    @abstractmethod
    def judge(self, standing: Standing, noise: NoiseEstimate) -> Verdict:
        """Whether the two rungs rank alike."""

    @abstractmethod
    def explain(self, verdict: Verdict) -> str:
        """The verdict as a clause of a message, read behind "because" or a colon.

        It begins with a small letter unless with a proper name, as in "Kendall's tau is 0.4, less
        than 0.8", and has no full stop at its end.
        """

    def noise_percentile(self) -> float | None:
        """Which percentile of the noise in the curves is ε; None: the criterion needs no ε."""
        return None

    def stable(
        self, top: ArrayLike, below: ArrayLike, *, goal: Goal = "min", epsilon: float = 0.0
    ) -> bool:
        """The criterion on plain arrays, one entry per configuration.

        Args:
            top: the metric in rung K.
            below: the metric of the same configurations in rung K−1.
            goal: whether the metric is minimised or maximised.
            epsilon: ε for the criteria that estimate it from curves.
        """
        return self.judge(
            Standing.of(top, below, goal=parse_goal(goal)), GivenNoise(epsilon)
        ).stable


@dataclass(frozen=True, slots=True)
class GivenNoise:
    """A known ε.

    Args:
        epsilon: ε; 0 for a criterion that does not use curves.
    """

    epsilon: float = 0.0

    def covers(self, gap: float) -> tuple[bool, float | None]:
        return gap <= self.epsilon, self.epsilon


def rank_weights(p: float, n: int) -> NDArray[np.float64]:
    """wᵢ = pⁱ / Σ pⁱ for i = 0 … n−1: the smaller p, the more the top of the ranking counts."""
    weights = p ** np.arange(n, dtype=np.float64)
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised
