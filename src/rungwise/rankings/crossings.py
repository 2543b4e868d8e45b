"""ε from noise: how far apart are configurations whose curves criss-cross?

The pairs S of the paper (section 4.2): both trials have trained beyond level K−1, and over the
resources both have reported (up to level K) the sign of their difference changed at least twice;
equal losses have no sign. A pair's distance is |difference| at the last common resource. ε is the
N-th percentile of the distances, and keeps its last value while no pair counts; 0 at first.
Reports that are not finite are not measurements: they are left out.

How it is kept cheap. The value is defined after every report but only computed when a check needs
it (:meth:`Crossings.epsilon`), with the same result: within one pair of rungs a pair that
counts once continues to count, so no history is missed. Trials that have reached level K do not
change any more: the distances of pairs of such trials are computed once and kept. Only the few
trials that are running are compared again, all of them in one batch of array operations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from rungwise import lazy_numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
_BATCH = 1 << 20
"""How many differences are computed at once; limits the memory of an update."""
_MANY = 4096
"""With more distances than this, they are counted and not sorted."""


class Curve(Protocol):
    """The part of a trial that is read here."""

    @property
    def id(self) -> int: ...
    @property
    def resources(self) -> Sequence[float]: ...
    @property
    def losses(self) -> Sequence[float]: ...


class CurveMatrix:
    """The curves of trials as a matrix: a row for each, a column for each resource.

    Attributes:
        row_of: trial → its row.
        read: per row, how many points of its curve have been read.
        grid: the resources of the columns, ascending.
    """

    __slots__ = ("_column_of", "_losses", "grid", "read", "row_of")

    def __init__(self) -> None:
        self.row_of: dict[int, int] = {}
        self.read: list[int] = []
        self.grid: list[float] = []
        self._column_of: dict[float, int] = {}
        self._losses = np.full((8, 8), math.nan)

    @property
    def losses(self) -> Floats:
        """[row, column] losses, NaN where nothing was measured."""
        return self._losses[: len(self.read), : len(self.grid)]

    def add_row(self, trial: Curve) -> int:
        """Add an empty row; its number."""
        row = self.row_of[trial.id] = len(self.read)
        self.read.append(0)
        if row == self._losses.shape[0]:
            more = np.full_like(self._losses, math.nan)
            self._losses = np.concatenate([self._losses, more])
        return row

    def copy(self, trial: Curve, row: int, cap: float) -> None:
        """Copy the points of a curve that have not been read, up to a resource."""
        start = self.read[row]
        self.read[row] = len(trial.resources)
        points = {
            resource: loss
            for resource, loss in zip(trial.resources[start:], trial.losses[start:], strict=True)
            if resource <= cap and loss < math.inf
        }
        for resource in points:
            if resource not in self._column_of:
                self._add_column(resource)
        columns = [self._column_of[resource] for resource in points]
        self._losses[row, columns] = list(points.values())

    def _add_column(self, resource: float) -> None:
        """Add a resource to the grid; if trials report at equal resources it goes to the end."""
        grid = self.grid
        width = len(grid)
        if width == self._losses.shape[1]:
            more = np.full_like(self._losses, math.nan)
            self._losses = np.concatenate([self._losses, more], axis=1)
        place = int(np.searchsorted(grid, resource))
        if place < width:
            self._losses[:, place + 1 : width + 1] = self._losses[:, place:width]
            self._losses[:, place] = math.nan
        grid.insert(place, resource)
        if place < width:
            self._column_of = {value: column for column, value in enumerate(grid)}
        else:
            self._column_of[resource] = place


class SettledDistances:
    """The distances of pairs that will not change any more.

    Attributes:
        count: how many there are.
    """

    __slots__ = ("_distances", "_gap", "_gap_count", "_gap_seen", "count")

    def __init__(self) -> None:
        self.count = 0
        self._distances = np.empty(64)
        self._gap, self._gap_count, self._gap_seen = math.nan, 0, 0

    @property
    def distances(self) -> Floats:
        """The distances, in the order in which they were added."""
        return self._distances[: self.count]

    def add(self, distances: Floats) -> None:
        """Add more."""
        end = self.count + distances.size
        while end > self._distances.size:
            self._distances = np.concatenate([self._distances, np.empty_like(self._distances)])
        self._distances[self.count : end] = distances
        self.count = end

    def count_below(self, gap: float) -> int:
        """How many are below a gap; for the same as the last time only new ones are counted."""
        if gap != self._gap:
            self._gap, self._gap_count, self._gap_seen = gap, 0, 0
        new = self._distances[self._gap_seen : self.count]
        self._gap_count += int(np.count_nonzero(new < gap))
        self._gap_seen = self.count
        return self._gap_count


class Crossings:
    """The criss-crossing pairs of the top rung and the percentile of their distances.

    Args:
        percentile: N, from 0 to 100.
    """

    def __init__(self, percentile: float) -> None:
        self._percentile = percentile
        self._epsilon = 0.0
        self._start_over(0, math.inf)

    def watch(self, floor: float, cap: float, trials: Iterable[Curve]) -> None:
        """Use another pair of rungs from now on; ε keeps its value until a pair counts.

        Args:
            floor: level K−1.
            cap: level K.
            trials: those that may have reported beyond the floor already.
        """
        self.epsilon()  # the value to keep is that of the last report
        self._start_over(floor, cap)
        for trial in trials:
            self.touch(trial)

    def _start_over(self, floor: float, cap: float) -> None:
        self._floor = floor
        self._cap = cap
        self._touched: dict[int, Curve] = {}
        self._under_way: list[int] = []  # rows that have not reached level K
        self._curves = CurveMatrix()
        self._settled = SettledDistances()
        self._passing: list[Floats] = []  # distances of pairs with a running trial
        self._stale = False  # distances have changed since ε was computed

    def touch(self, trial: Curve) -> bool:
        """Note that a trial has a new report; whether that can change ε."""
        if trial.resources and trial.resources[-1] > self._floor:
            self._touched[trial.id] = trial
            return True
        return False

    def epsilon(self) -> float:
        """ε as of the last report."""
        self._catch_up()
        if self._stale:
            distances = np.concatenate([self._settled.distances, *self._passing])
            if distances.size:
                self._epsilon = interpolate_percentile(distances, self._percentile)
            self._stale = False
        return self._epsilon

    def covers(self, gap: float) -> tuple[bool, float | None]:
        """Whether a gap is within ε, and ε itself unless there are very many pairs.

        With many pairs it is cheaper to count the distances below the gap than to find the
        percentile; and cheaper still when the gap is the same as the last time.
        """
        self._catch_up()
        passing = sum(distances.size for distances in self._passing)
        total = self._settled.count + passing
        if total > _MANY and self._stale:
            low, high = _ranks_around(total, self._percentile)
            below = self._settled.count_below(gap)
            below += sum(int(np.count_nonzero(part < gap)) for part in self._passing)
            if below <= low:
                return True, None
            if below > high:
                # The ceiling is about to rise: ε must be known, it may have to be kept.
                return False, self.epsilon()
        epsilon = self.epsilon()
        return gap <= epsilon, epsilon

    def _catch_up(self) -> None:
        if self._touched:
            self._compare(self._copy_points())
            self._stale = True

    def _copy_points(self) -> list[int]:
        """Copy new points into the matrix; return the rows that have just reached level K."""
        arrived = []
        under_way = set(self._under_way)
        for trial in self._touched.values():
            row = self._curves.row_of.get(trial.id)
            if row is None:
                if not self._beyond_floor(trial):
                    continue
                row = self._curves.add_row(trial)
                under_way.add(row)
            self._curves.copy(trial, row, self._cap)
            if trial.resources[-1] >= self._cap and row in under_way:
                under_way.discard(row)
                arrived.append(row)
        self._touched.clear()
        self._under_way = sorted(under_way)
        return arrived

    def _beyond_floor(self, trial: Curve) -> bool:
        """Whether a finite loss was reported beyond level K−1."""
        points = zip(reversed(trial.resources), reversed(trial.losses), strict=True)
        for resource, loss in points:
            if resource <= self._floor:
                return False
            if loss < math.inf:
                return True
        return False

    def _compare(self, arrived: Sequence[int]) -> None:
        """Settle the pairs of trials that have arrived; compare the running ones again."""
        active = [*arrived, *self._under_way]
        losses = self._curves.losses
        # Each pair is compared once: an active row with every row that is not active, and with
        # the active ones that come earlier in the list.
        place = np.full(len(losses), -1)
        place[active] = np.arange(len(active))
        step = max(1, _BATCH // max(1, losses.size))
        self._passing = []
        for start in range(0, len(active), step):
            batch = active[start : start + step]
            distance, counts = criss_crossed(losses[batch], losses)
            counts &= place < np.arange(start, start + len(batch))[:, None]
            settled = max(0, min(len(batch), len(arrived) - start))
            self._settled.add(distance[:settled][counts[:settled]])
            self._passing.append(distance[settled:][counts[settled:]])


def criss_crossed(some: Floats, others: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Compare each of some curves with each of the others.

    Args:
        some: [k, resources] losses, NaN where nothing was measured.
        others: [m, resources], on the same grid of resources.

    Returns:
        [k, m] distances at the last common resource, and whether the pair criss-crossed.
    """
    if some.shape[-1] < 3:  # too few resources to swap twice, perhaps zero
        zeros = np.zeros((len(some), len(others)))
        return zeros, zeros > 0
    with np.errstate(over="ignore"):  # losses near the largest float
        difference = some[:, None, :] - others[None, :, :]
    ahead = difference > 0
    signed = ahead | (difference < 0)
    gaps = signed[..., 1:] > signed[..., :-1]
    if gaps.any():
        # A sign after a place without one: carry the last sign over the gap.
        columns = np.arange(difference.shape[-1])
        last_signed = np.maximum.accumulate(np.where(signed, columns, -1), axis=-1)
        ahead = np.take_along_axis(ahead, np.maximum(last_signed, 0), axis=-1)
        signed = last_signed >= 0
    changes = (ahead[..., 1:] != ahead[..., :-1]) & signed[..., 1:] & signed[..., :-1]
    crossed = np.count_nonzero(changes, axis=-1) >= 2
    measured = difference == difference  # noqa: PLR0124 - false if one of the two is missing
    last = difference.shape[-1] - 1 - np.argmax(measured[..., ::-1], axis=-1)
    distance = np.abs(np.take_along_axis(difference, last[..., None], axis=-1)[..., 0])
    return distance, crossed & (distance < math.inf)


def _ranks_around(count: int, percentile: float) -> tuple[int, int]:
    """The ranks, from 0, between which the percentile of ``count`` values is interpolated."""
    position = (count - 1) * (percentile / 100)
    low = math.floor(position)
    return low, min(low + 1, count - 1)


def interpolate_percentile(values: Floats, percentile: float) -> float:
    """The linearly interpolated percentile, bit for bit as NumPy's, without its overhead."""
    low, high = _ranks_around(values.size, percentile)
    part = (values.size - 1) * (percentile / 100) - low
    ordered = np.partition(values, (low, high)) if values.size > 256 else np.sort(values)
    below, above = float(ordered[low]), float(ordered[high])
    step = above - below
    return above - step * (1 - part) if part >= 0.5 else below + step * part
