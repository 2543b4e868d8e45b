"""From values to pixels: the scales of the axes of a picture, and where their ticks stand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rungwise.formatting import format_tick

Kind = Literal["linear", "log", "category"]
Tick = tuple[float, str]


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis.

    Attributes:
        kind: ``"linear"``, ``"log"`` or ``"category"``.
        low: where it begins: a value, its logarithm to base 10, or the place of a category.
        high: where it ends.
        start: the pixel of ``low``.
        end: the pixel of ``high``.
        names: the categories, in order.
        given: ticks that were asked for.
    """

    kind: Kind
    low: float
    high: float
    start: float
    end: float
    names: tuple[str, ...] = ()
    given: tuple[Tick, ...] | None = None

    def __call__(self, value: Any) -> float | None:
        """The pixel of a value; None for what has no place: nothing, NaN, 0 on a logarithm."""
        place = _place(self.kind, value, self.names)
        if place is None:
            return None
        return self.start + (self.end - self.start) * (place - self.low) / (self.high - self.low)

    def ticks(self) -> list[Tick]:
        """[(pixel, label), …] of the ticks within the axis."""
        if self.kind == "category":
            wanted: Iterable[tuple[Any, str]] = [(name, name) for name in self.names]
        elif self.given is not None:
            wanted = self.given
        else:
            values = log_ticks(self.low, self.high) if self.kind == "log" else self._even()
            wanted = [(value, format_tick(value)) for value in values]
        low, high = sorted((self.start, self.end))
        placed = [(self(value), label) for value, label in wanted]
        return [
            (pixel, label)
            for pixel, label in placed
            if pixel is not None and low - 0.5 <= pixel <= high + 0.5
        ]

    def _even(self) -> list[float]:
        """Ticks at 1, 2 or 5 times a power of ten, where labels have room beside each other."""
        room = 80 if self.start < self.end else 45  # pixels grow downwards, vertical axes upwards
        most = max(2.0, abs(self.end - self.start) / room)
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        # Rounded to the digits of the step: 3 * 0.1 is to be read as 0.3.
        digits = max(0, 1 - math.floor(math.log10(step)))
        return [round(n * step, digits) + 0.0 for n in range(first, last + 1)]


def scale(axis: Any, values: Sequence[Any], start: float, end: float, *, pad: float) -> Scale:
    """The scale that an axis of a plotly figure asks for.

    Args:
        axis: the axis: ``figure.layout.xaxis`` or ``yaxis``.
        values: all that is drawn along it.
        start: the pixel where it begins.
        end: the pixel where it ends.
        pad: how much room is left at either end, as a share of the whole.
    """
    names = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    if axis.type == "category":
        return Scale("category", -0.5, max(len(names), 1) - 0.5, start, end, names)
    kind: Kind = "log" if axis.type == "log" else "linear"
    given = None
    if axis.tickvals is not None:
        labels = axis.ticktext if axis.ticktext is not None else map(format_tick, axis.tickvals)
        given = tuple(zip(axis.tickvals, map(str, labels), strict=True))
    if axis.range is not None:
        low, high = axis.range
    else:
        low, high = _extent(kind, values, pad, zero=axis.rangemode == "tozero")
    return Scale(kind, low, high, start, end, given=given)


def _place(kind: Kind, value: Any, names: Sequence[str]) -> float | None:
    if kind == "category":
        return float(names.index(value)) if value in names else None
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return None
    if kind == "log":
        return math.log10(value) if value > 0 else None
    return float(value)


def _extent(kind: Kind, values: Sequence[Any], pad: float, *, zero: bool) -> tuple[float, float]:
    placed = [place for value in values if (place := _place(kind, value, ())) is not None]
    low, high = (min(placed), max(placed)) if placed else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):  # all the same
        room = abs(low) / 10 or 1.0
        return low - room, high + room
    room = pad * (high - low)
    return (low if zero and low == 0 else low - room), high + room


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten; between them 2 and 5 as well where there are few."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    between = (1,) if high - low > 3 else (1, 2, 5)
    return [n * 10.0**decade for decade in decades for n in between]
