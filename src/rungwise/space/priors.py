"""Priors: how a parameter is drawn when not uniformly.

They come with a ``ConfigSpace.ConfigurationSpace`` only, and change the draw, never which values
are legal. ConfigSpace itself draws from the bell-shaped ones, so that they mean what they mean
there. It is an optional dependency: without it a space that has them can be read, checked and
written, but not drawn from.
"""

from __future__ import annotations

import importlib.util
import math
from bisect import bisect_right
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeAlias

from rungwise import lazy_numpy as np
from rungwise.errors import MissingExtraError, SpaceError
from rungwise.space.domains import Choice, Domain, Float, Int
from rungwise.space.scalars import Scalar, is_number
from rungwise.space.steps import find_number, value_at


@dataclass(frozen=True, slots=True)
class Weights:
    """Options drawn in proportion to their weights."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        legal = all(is_number(weight) and weight >= 0 for weight in self.weights)
        total = sum(self.weights) if legal else 0.0
        if not (total > 0 and math.isfinite(total)):
            raise SpaceError("weights", self.weights, "no weight may be negative, nor all be zero")

    def fits(self, domain: Domain) -> bool:
        """Whether the domain has one option for each weight."""
        return isinstance(domain, Choice) and domain.size == len(self.weights)

    def draw(self, domain: Any, rng: np.random.Generator) -> Scalar:
        """An option of the domain."""
        sums = list(accumulate(self.weights))
        found = bisect_right(sums, rng.random() * sums[-1])
        # Rounding may reach the total, and options of weight 0 may follow the one that is meant.
        option: Scalar = domain.options[min(found, sums.index(sums[-1]))]
        return option


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal distribution, cut off at the bounds of the domain."""

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise SpaceError("sigma", self.sigma, "it must be positive")

    def fits(self, domain: Domain) -> bool:
        """Whether the domain is one of numbers, and has a place for μ on its scale."""
        return isinstance(domain, (Float, Int)) and (self.mu > 0 or not domain.log)

    def draw(self, domain: Any, rng: np.random.Generator) -> Scalar:
        """A number of the domain."""
        return _draw_shaped(self, domain, rng)


@dataclass(frozen=True, slots=True)
class Beta:
    """A beta distribution, stretched over the domain."""

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for shape in ("alpha", "beta"):
            if not getattr(self, shape) >= 1:  # below, the density has no finite maximum
                raise SpaceError(shape, getattr(self, shape), "it must be at least 1")

    def fits(self, domain: Domain) -> bool:
        """Whether the domain is one of numbers."""
        return isinstance(domain, (Float, Int))

    def draw(self, domain: Any, rng: np.random.Generator) -> Scalar:
        """A number of the domain."""
        return _draw_shaped(self, domain, rng)


Prior: TypeAlias = Weights | Normal | Beta


def is_drawable(prior: Prior | None) -> bool:
    """Whether a prior can be drawn from with the packages that are installed."""
    shaped = isinstance(prior, (Normal, Beta))
    return not shaped or importlib.util.find_spec("ConfigSpace") is not None


def _draw_shaped(prior: Normal | Beta, domain: Float | Int, rng: np.random.Generator) -> Scalar:
    # The legacy interface over the caller's own generator: no seeding, and rng moves on.
    state = np.random.RandomState(rng.bit_generator)
    value = _hyperparameter(prior, domain).sample_value(seed=state)
    # ConfigSpace rounds bounds to 13 decimals; ours are exact.
    kept: Any = min(max(value, domain.low), domain.high)
    if domain.step is not None:
        kept = value_at(domain.low, domain.step, find_number(domain.low, domain.step, kept))
    drawn: Scalar = kept
    return drawn


@lru_cache(maxsize=256)
def _hyperparameter(prior: Normal | Beta, domain: Float | Int) -> Any:
    """ConfigSpace's own object for the prior; building one takes longer than drawing from it."""
    try:
        import ConfigSpace  # noqa: PLC0415  # slow to import, and few spaces need it
    except ImportError:
        raise MissingExtraError("drawing from a normal or beta prior", "configspace") from None
    kind = f"{type(prior).__name__}{'Float' if isinstance(domain, Float) else 'Integer'}"
    build = getattr(ConfigSpace, f"{kind}Hyperparameter")
    return build("drawn", lower=domain.low, upper=domain.high, log=domain.log, **asdict(prior))
