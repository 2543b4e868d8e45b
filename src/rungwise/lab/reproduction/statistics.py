"""Two methods over the same seeds: how much better one ends, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rungwise.lab.reproduction import number_text
from rungwise.lab.reproduction.results import Outcome, Section

Runs = Mapping[str, Sequence[Outcome]]
"""The runs of a section by method, all in the same order of seeds."""

ROUNDING = 1e-12
"""Differences of final values up to this size are rounding errors."""


def compare_pairs(
    section: Section, first: Sequence[Outcome], second: Sequence[Outcome]
) -> tuple[float, float]:
    """(mean gain, its standard error) over runs with the same seeds; above 0, first is better."""
    sign = 1.0 if section.final_goal == "max" else -1.0
    gains = sign * np.array(
        [one.final - other.final for one, other in zip(first, second, strict=True)]
    )
    error = float(gains.std(ddof=1) / math.sqrt(gains.size)) if gains.size > 1 else math.nan
    gain = float(gains.mean())
    return (gain if abs(gain) > ROUNDING else 0.0), error


def at_equal_resource(
    first: Sequence[Outcome], second: Sequence[Outcome]
) -> tuple[list[Outcome], list[Outcome], float]:
    """Both at the total resource of the one that spent less, seed by seed.

    Returns:
        First, second, and the mean resource that each had spent then.
    """
    least = [min(one.spent, other.spent) for one, other in zip(first, second, strict=True)]
    return (
        [one.within(spent) for one, spent in zip(first, least, strict=True)],
        [other.within(spent) for other, spent in zip(second, least, strict=True)],
        float(np.mean(least)),
    )


def margin(error: float) -> float:
    """A standard error, for comparisons; none with a single run."""
    # If only one run differs, gain and error are equal up to rounding: that is within the error.
    return 0.0 if math.isnan(error) else error * (1 + 1e-9)


def format_gain(section: Section, gain: float, error: float) -> str:
    """``0.31 points worse, standard error 0.12 points``."""
    if gain == 0:
        return "equally good"
    words = f"{number_text.difference(section, gain)} {'better' if gain > 0 else 'worse'}"
    if math.isnan(error):
        return words
    return f"{words}, standard error {number_text.difference(section, error)}"
