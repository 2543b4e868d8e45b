"""Two methods over the same seeds: how much better one ends, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rungwise.lab.reproduction import number_text
from rungwise.lab.reproduction.results import Outcome, Section

Runs = Mapping[str, Sequence[Outcome]]
"""The runs of a section by method, all in the same order of seeds."""

ROUNDING = 1e-12
"""A difference of final values that is none."""


def paired(
    section: Section, mine: Sequence[Outcome], theirs: Sequence[Outcome]
) -> tuple[float, float]:
    """(mean gain, its standard error) over runs with the same seeds; above 0, mine is better."""
    sign = 1.0 if section.final_goal == "max" else -1.0
    gains = sign * np.array(
        [one.final - other.final for one, other in zip(mine, theirs, strict=True)]
    )
    error = float(gains.std(ddof=1) / math.sqrt(gains.size)) if gains.size > 1 else math.nan
    gain = float(gains.mean())
    return (gain if abs(gain) > ROUNDING else 0.0), error


def at_equal_resource(
    mine: Sequence[Outcome], theirs: Sequence[Outcome]
) -> tuple[list[Outcome], list[Outcome], float]:
    """Both as they stood when the thriftier of the two had ended, seed by seed.

    Returns:
        Mine, theirs, and the mean resource that each had spent then.
    """
    least = [min(one.spent, other.spent) for one, other in zip(mine, theirs, strict=True)]
    return (
        [one.within(spent) for one, spent in zip(mine, least, strict=True)],
        [other.within(spent) for other, spent in zip(theirs, least, strict=True)],
        float(np.mean(least)),
    )


def margin(error: float) -> float:
    """A standard error, for comparisons; none with a single run."""
    # With one differing run gain and error are equal but for rounding: that is still within it.
    return 0.0 if math.isnan(error) else error * (1 + 1e-9)


def told(section: Section, gain: float, error: float) -> str:
    """``0.31 points worse, standard error 0.12 points``."""
    if gain == 0:
        return "equally good"
    words = f"{number_text.difference(section, gain)} {'better' if gain > 0 else 'worse'}"
    if math.isnan(error):
        return words
    return f"{words}, standard error {number_text.difference(section, error)}"
