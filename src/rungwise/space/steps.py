"""Numbers with steps between them: low, low + step, …, high.

Decimal fractions are rounded as they are written, so that 0 + 3 · 0.1 is 0.3.
"""

from __future__ import annotations

import math
from typing import Any

from rungwise.errors import SpaceError
from rungwise.space.scalars import is_number, plain

TOLERANCE = 1e-9
"""The share of a step by which a number may miss one of the values: floats are rounded."""


def check_step(given: Any, low: float, high: float) -> float | None:
    """The clean step of a range whose bounds are clean; None if every number is allowed.

    Raises:
        SpaceError: it is no step, or does not lead from low to high.
    """
    step = plain(given)
    if step is None:
        return None
    whole = isinstance(low, int)
    if not is_number(step) or not step > 0 or (whole and type(step) is not int):
        kind = "whole number" if whole else "finite number"
        raise SpaceError("step", step, f"it must be a {kind} above 0")
    if whole and step == 1:
        return None
    step = step if whole else float(step)
    count = (high - low) / step
    if count < 2**53 and abs(count - round(count)) <= TOLERANCE * max(1, count) and count > 0.5:
        return step
    below = value_at(low, step, math.floor(count)) if count < 2**53 else low
    above = value_at(low, step, math.floor(count) + 1) if count < 2**53 else high
    near = f"{above!r}" if below == low else f"{below!r} or {above!r}"
    rule = f"it must be a whole number of steps of {step!r} above low = {low!r}, such as {near}"
    raise SpaceError("high", high, rule)


def count_values(low: float, high: float, step: float) -> int:
    """How many values there are."""
    return round((high - low) / step) + 1


def value_at(low: float, step: float, number: int) -> float:
    """The value of a number, counted from 0."""
    if isinstance(low, int) and isinstance(step, int):
        return low + number * step
    digits = max(_count_decimals(low), _count_decimals(step))
    return round(float(low) + number * step, digits)


def _count_decimals(number: float) -> int:
    """How many decimals a float has as it is written: 0.25 has 2, 1e-05 has 5."""
    mantissa, _, exponent = repr(float(number)).partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def find_number(low: float, step: float, value: float) -> int:
    """The number of the value that is nearest."""
    return round((value - low) / step)


def edges(low: float, high: float, step: float) -> tuple[float, float]:
    """Between which numbers the values lie on a log scale, with half a step to either side."""
    return max(low - step / 2, low / 2), high + step / 2


def hits(low: float, step: float, value: float) -> bool:
    """Whether a number is one of the values, but for rounding."""
    there = value_at(low, step, find_number(low, step, value))
    return abs(value - there) <= TOLERANCE * max(step, abs(there))
