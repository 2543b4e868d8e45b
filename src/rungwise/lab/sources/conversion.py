"""What every converter ends in: arrays and a card, written into the data folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.benchmarks import store
from rungwise.benchmarks.card import Card
from rungwise.errors import TableError, Words

Floats = NDArray[np.floating[Any]]
Progress = Callable[[int, int], None]
"""Is called with how much is done, and of how much in all."""

LARGEST = 1e30
"""The largest number: it fits into a 32-bit float, and so does a difference of two."""

MOST_NAMED = 40
"""The most names in a note."""

_NUMBERS = frozenset({int, float, type(None)})
_BOUND = f"no number may be beyond ±{LARGEST:g}"


@dataclass(frozen=True, kw_only=True)
class ConvertedBenchmark:
    """A benchmark that was read from its source, and is not yet written.

    Attributes:
        card: what is known about it.
        values: the curves [seeds, rows, resources].
        seconds: the time of a unit of resource.
        final: what is reported after full training [seeds, rows]; None for the last value.
        configs: the configuration of each row; None if unknown.
        names: a name for each row.
        quantum: values are multiples of this; None if they are not.
        final_quantum: the same for ``final``.
    """

    card: Card
    values: Floats
    seconds: Floats
    final: Floats | None = None
    configs: Sequence[Mapping[str, Any]] | None
    names: Sequence[str] | None = None
    quantum: float | None = None
    final_quantum: float | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.values).any():
            found = Words(f"{self.card.name} without a single finite value")
            raise TableError("benchmark", found, "no study could be made on it")

    def install(self, folder: Path) -> str:
        """Write it; gives its name."""
        store.write(
            folder,
            self.card,
            values=self.values,
            seconds=self.seconds,
            final=self.final,
            configs=self.configs,
            names=self.names,
            quantum=self.quantum,
            final_quantum=self.final_quantum,
        )
        return self.card.name


def today() -> str:
    """The day for a card."""
    return datetime.now(timezone.utc).date().isoformat()


def note_left_out(names: Iterable[str]) -> list[str]:
    """The note about what a source has without a value, for every card that is made from it."""
    without = [name if len(name) <= 80 else f"{name[:79]}…" for name in names]
    if not without:
        return []
    more = len(without) - MOST_NAMED
    listed = ", ".join(without[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return [f"left out, since they have no value at all: {listed}"]


def find_quantum(values: Floats, candidates: Iterable[float]) -> float | None:
    """The first candidate of which all values are multiples, but for rounding; None if none is."""
    finite = values[np.isfinite(values)].astype(np.float64)
    for quantum in candidates:
        counts = finite / quantum
        if finite.size and np.abs(counts - np.rint(counts)).max() < 0.01:
            return quantum
    return None


def drop_equal_axes(seconds: Floats) -> Floats:
    """Seconds [seeds, rows, resources] without the axes along which they do not differ."""
    if (seconds != seconds[:, :, :1]).any():
        return seconds
    unit = seconds[:, :, 0]
    return unit if (unit != unit[:1]).any() else unit[0]


def fill_seconds(seconds: Floats) -> tuple[Floats, int]:
    """Times of units [rows, resources], all finite and none negative; and how many were filled in.

    Clocks run backwards and logs have holes: what is missing is the median of its row, or of the
    whole table where a row has none.
    """
    times = seconds.astype(np.float64)
    wrong = ~(np.isfinite(times) & (times >= 0))
    times[wrong] = np.nan
    known = ~wrong
    usual = float(np.median(times[known])) if known.any() else 1.0
    for row in np.flatnonzero(wrong.any(axis=1)):
        own = float(np.median(times[row][known[row]])) if known[row].any() else usual
        times[row][wrong[row]] = own
    return times, int(wrong.sum())


def parse_floats(items: Any, place: str) -> Floats:
    """A list of numbers from a JSON file, with NaN for null; null for the list is an empty one."""
    if items is None:
        return np.empty(0)
    if not isinstance(items, list) or not set(map(type, items)) <= _NUMBERS:
        raise TableError(place, Words("malformed"), "it must be a list of numbers and nulls")
    try:
        return check_bounds(np.array(items, dtype=np.float64), place)  # None becomes NaN
    except OverflowError:  # an integer too large for a float
        raise TableError(place, Words("malformed"), _BOUND) from None


def check_bounds(numbers: Floats, place: str) -> Floats:
    """Check that numbers can be written, here, where their place is known."""
    if (np.isfinite(numbers) & (np.abs(numbers) > LARGEST)).any():
        raise TableError(place, Words("malformed"), _BOUND)
    return numbers


def clip_to_range(numbers: Floats, most: float, place: str) -> Floats:
    """Numbers from 0 to a limit, or NaN; what is beyond by no more than rounding is the limit."""
    slack = 1e-6 * most
    wrong = (numbers < -slack) | (numbers > most + slack)
    if wrong.any():
        found = float(numbers[wrong].ravel()[0])
        raise TableError(place, Words(f"{found:g}"), f"it must be from 0 to {most:g}")
    return np.clip(numbers, 0, most)


def pad_curves(curves: Sequence[Floats]) -> Floats:
    """Curves of any lengths as an array, NaN behind their ends."""
    full = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in enumerate(curves):
        full[row, : len(curve)] = curve
    return full
