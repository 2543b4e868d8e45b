"""The methods that are compared with ASHA at equal resource; to add one is to add a row.

A method makes a recipe for a table of a given length. All of them draw the same configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rungwise.core.scheduler import Recipe
from rungwise.lab.frontier.adaptive_brackets import AdaptiveHyperband
from rungwise.lab.frontier.baselines import Deepening, TopK
from rungwise.rankings import Leader, Noise, Ranking, RungNoise, SoftSigma
from rungwise.schedulers import (
    ASHA,
    PASHA,
    AdaptiveHalving,
    AsyncHyperband,
    FixedResource,
    Hyperband,
    SharpHalving,
    SuccessiveHalving,
)

Maker = Callable[[int], Recipe]
"""The maximum → a recipe."""

SIZES = (16, 32, 48, 64, 96, 128, 192, 256)
"""With how many trials ASHA is run, for its own curve of regret against resource."""

SHARE = 4
"""How many times too high or too low a maximum is guessed."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method.

    Attributes:
        name: on the command line and in the files.
        label: in tables and figures.
        make: makes its recipe.
    """

    name: str
    label: str
    make: Maker


@dataclass(frozen=True, slots=True)
class Guess:
    """A method whose maximum was guessed wrongly.

    Attributes:
        name: in the files.
        label: in tables.
        make: makes its recipe from the guess.
        numerator: the guess is the right maximum times this …
        denominator: … divided by this.
    """

    name: str
    label: str
    make: Maker
    numerator: int = 1
    denominator: int = 1


def _make_asha(most: int) -> Recipe:
    return ASHA(max_resource=most)


def _make_pasha(most: int, ranking: Ranking | None = None) -> Recipe:
    return PASHA(max_resource=most, ranking=Noise() if ranking is None else ranking)


_METHODS = (
    Method("asha", "ASHA", _make_asha),
    Method("asha-eta2", "ASHA, η = 2", lambda most: ASHA(max_resource=most, eta=2)),
    Method("asha-eta4", "ASHA, η = 4", lambda most: ASHA(max_resource=most, eta=4)),
    Method(
        "asha-quantile",
        "ASHA, promotion by quantile",
        lambda most: ASHA(max_resource=most, promote="quantile"),
    ),
    Method("pasha", "PASHA (noise, 90)", _make_pasha),
    Method(
        "pasha-quantile",
        "PASHA, promotion by quantile",
        lambda most: PASHA(max_resource=most, promote="quantile"),
    ),
    Method(
        "pasha-leader", "PASHA, leader", lambda most: PASHA(max_resource=most, ranking=Leader())
    ),
    Method(
        "pasha-2sigma", "PASHA, 2σ", lambda most: PASHA(max_resource=most, ranking=SoftSigma(2))
    ),
    Method("pasha-rung-noise", "PASHA, rung noise", lambda most: _make_pasha(most, RungNoise())),
    Method("halving", "Synchronous halving", lambda most: SuccessiveHalving(max_resource=most)),
    Method("adaptive", "Adaptive halving", lambda most: AdaptiveHalving(max_resource=most)),
    Method("sharp", "Sharp halving", lambda most: SharpHalving(max_resource=most)),
    Method("hyperband", "Hyperband", lambda most: Hyperband(max_resource=most)),
    Method("async-hyperband", "ASHA's Hyperband", lambda most: AsyncHyperband(max_resource=most)),
    Method(
        "adaptive-hyperband",
        "ASHA's Hyperband, adaptive brackets",
        lambda most: AdaptiveHyperband(max_resource=most),
    ),
    Method("deepening", "iSHA, maximum raised twice", lambda most: Deepening(max_resource=most)),
    Method("top-5", "One unit for all, 5 in full", lambda most: TopK(1, 5, max_resource=most)),
    Method("one-unit", "One unit for all", lambda _most: FixedResource(1)),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _METHODS})
"""Every method, by name, in the order of the report."""

REFERENCE = METHODS["asha"]
"""The method whose curve of regret against resource is the line to beat."""

GUESSES = (
    Guess("asha-low", "ASHA, maximum 4 times too low", _make_asha, denominator=SHARE),
    Guess("asha-high", "ASHA, maximum 4 times too high", _make_asha, numerator=SHARE),
    Guess("pasha-low", "PASHA, safety net 4 times too low", _make_pasha, denominator=SHARE),
    Guess("pasha-high", "PASHA, safety net 4 times too high", _make_pasha, numerator=SHARE),
)
"""Maximums that were guessed wrongly."""
