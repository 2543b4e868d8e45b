"""The configurations of the top rung, ranked there and one rung below."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from rungwise import lazy_numpy as np
from rungwise.errors import InvalidArgumentError, Words
from rungwise.validation import Goal, find_sign

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Places: TypeAlias = "NDArray[np.intp]"
_HUGE = 1e300


class Standing:
    """The trials of rung K, ranked by their losses there and by those in rung K−1.

    Both orders are kept sorted as trials arrive (ties by id), so that a criterion reads arrays
    and never sorts: an arrival costs two binary searches and two block moves.
    """

    __slots__ = ("_by_below", "_by_top", "_keys_below", "_keys_top", "size")

    def __init__(self) -> None:
        self.size = 0
        self._keys_top: list[tuple[float, int]] = []
        self._keys_below: list[tuple[float, int]] = []
        # Rows of each: loss in rung K, loss in rung K−1, trial id.
        self._by_top = np.empty((3, 16))
        self._by_below = np.empty((3, 16))

    @classmethod
    def of(cls, top: ArrayLike, below: ArrayLike, *, goal: Goal = "min") -> Standing:
        """The standing of plain arrays of metric values, one entry per configuration.

        Args:
            top: the values in rung K.
            below: the values of the same configurations in rung K−1.
            goal: whether they are minimised or maximised.
        """
        sign = find_sign(goal)
        upper, lower = (sign * np.asarray(x, dtype=np.float64).ravel() for x in (top, below))
        if upper.shape != lower.shape:
            raise InvalidArgumentError(
                "below",
                Words(f"of length {lower.size}"),
                f"it must be as long as top: {upper.size} values",
            )
        upper, lower = (np.where(np.isfinite(x), x, math.inf) for x in (upper, lower))
        standing = cls()
        standing.extend(zip(range(upper.size), upper.tolist(), lower.tolist(), strict=True))
        return standing

    def extend(self, arrivals: Iterable[tuple[int, float, float]]) -> None:
        """Add (id, loss in rung K, loss in rung K−1) one after the other."""
        for trial, top, below in arrivals:
            self.add(trial, top, below)

    def add(self, trial: int, top: float, below: float) -> None:
        """A trial arrived in rung K."""
        n = self.size
        if n == self._by_top.shape[1]:
            self._by_top = np.concatenate([self._by_top, np.empty_like(self._by_top)], axis=1)
            self._by_below = np.concatenate([self._by_below, np.empty_like(self._by_below)], axis=1)
        place = _place(self._keys_top, (top, trial))
        _insert(self._by_top, n, place, top, below, trial)
        place = _place(self._keys_below, (below, trial))
        _insert(self._by_below, n, place, top, below, trial)
        self.size = n + 1

    @property
    def members(self) -> set[int]:
        """The ids of the trials."""
        return {trial for _, trial in self._keys_top}

    @property
    def top(self) -> Floats:
        """f_K in rung K's order: ascending."""
        return self._by_top[0, : self.size]

    @property
    def below(self) -> Floats:
        """f_{K−1} in rung K−1's order: ascending."""
        return self._by_below[1, : self.size]

    @property
    def below_in_top_order(self) -> Floats:
        """f_{K−1}(c₁), f_{K−1}(c₂), … for rung K's order c."""
        return self._by_top[1, : self.size]

    @property
    def top_in_below_order(self) -> Floats:
        """f_K(p₁), f_K(p₂), … for rung K−1's order p."""
        return self._by_below[0, : self.size]

    @property
    def order(self) -> Floats:
        """The ids in rung K's order."""
        return self._by_top[2, : self.size]

    @property
    def order_below(self) -> Floats:
        """The ids in rung K−1's order."""
        return self._by_below[2, : self.size]

    @property
    def ranks(self) -> Places:
        """The place of each trial in rung K, 0 for the best; trials in the order of their ids."""
        return np.argsort(self.order)

    @property
    def ranks_below(self) -> Places:
        """The place of each of the same trials in rung K−1."""
        return np.argsort(self.order_below)

    def displacement(self) -> float:
        """Max over i of |f_{K−1}(cᵢ) − f_{K−1}(pᵢ)|: how far the ranking moved, in loss."""
        if self.size < 2:
            return 0.0
        a, b = self.below_in_top_order, self.below
        # Ascending: an infinite loss is at the end. Losses so large that a difference overflows
        # are treated as infinite.
        if self._keys_below[-1][0] > _HUGE or self._keys_below[0][0] < -_HUGE:
            with np.errstate(over="ignore"):
                moved = a != b
                return float(np.abs(a[moved] - b[moved]).max(initial=0.0))
        return float(np.abs(a - b).max())


def _place(keys: list[tuple[float, int]], key: tuple[float, int]) -> int:
    place = bisect_left(keys, key)
    keys.insert(place, key)
    return place


def _insert(rows: Floats, n: int, place: int, top: float, below: float, trial: int) -> None:
    if place < n:
        rows[:, place + 1 : n + 1] = rows[:, place:n]
    # One by one: making an array of three numbers takes longer than setting them.
    rows[0, place] = top
    rows[1, place] = below
    rows[2, place] = trial
