"""Rungs: which trials reached a level with what loss, and which of them may continue.

A rung answers in O(log n) whether its best trial that has not been promoted belongs to the best
part of the rung. Ties in loss are broken by trial id, so equal histories give equal decisions.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush, heappushpop
from typing import Protocol

Key = tuple[float, float]
"""(loss, trial id): sorts trials from best to worst."""


class Cut(Protocol):
    """Which part of a rung counts as its best part."""

    def size(self, n: int) -> int:
        """How many of ``n`` trials are in the best part by rank; grows by at most 1 with n."""
        ...

    def edge(self, last: Key) -> Key:
        """The largest key that still belongs to the best part, whose last key by rank is given."""
        ...


class FloorCut:
    """The best ⌊n/η⌋ of the rung (paper, Algorithm 1, ``top_k``).

    Args:
        eta: η.
        at_least: the size of the best part while ⌊n/η⌋ is smaller (1 in the stopping variant).
    """

    __slots__ = ("_at_least", "_eta")

    def __init__(self, eta: int, *, at_least: int = 0) -> None:
        self._eta = eta
        self._at_least = at_least

    def size(self, n: int) -> int:
        return max(n // self._eta, self._at_least)

    def edge(self, last: Key) -> Key:
        return last


class QuantileCut:
    """Losses up to the 1/η quantile, linearly interpolated (the variant of the authors' code).

    With n losses the quantile lies between the losses of rank m = ⌊(n−1)/η⌋ + 1 and m + 1, and
    strictly below the latter unless the two are equal; so "loss ≤ quantile" is the same as
    "loss ≤ the loss of rank m", without interpolating. Equal losses are all included.

    Args:
        eta: η.
        at_least: how many trials the rung must hold before the best part has any (2 for promotion).
    """

    __slots__ = ("_at_least", "_eta")

    def __init__(self, eta: int, *, at_least: int = 2) -> None:
        self._eta = eta
        self._at_least = at_least

    def size(self, n: int) -> int:
        return (n - 1) // self._eta + 1 if n >= self._at_least else 0

    def edge(self, last: Key) -> Key:
        return (last[0], math.inf)


class Rung:
    """The trials that reached one level.

    Args:
        level: the resource of the rung.
        cut: which part of it may continue.
    """

    __slots__ = ("_best", "_cut", "_edge", "_rest", "_waiting", "level", "losses")

    def __init__(self, level: int, cut: Cut) -> None:
        self.level = level
        self.losses: dict[int, float] = {}
        self._cut = cut
        # The best part as a heap with its worst on top (keys negated), the others as a heap with
        # their best on top: a new trial moves at most one across the edge.
        self._best: list[Key] = []
        self._rest: list[Key] = []
        self._waiting: list[Key] = []
        self._edge: Key = (-math.inf, -math.inf)  # the last key of the best part; none yet

    def __len__(self) -> int:
        return len(self.losses)

    def __contains__(self, trial: object) -> bool:
        return trial in self.losses

    def enter(self, trial: int, loss: float) -> None:
        """Record that a trial reached this level with this loss (+inf: diverged or failed)."""
        assert trial not in self.losses, f"trial {trial} is in rung {self.level} already"
        self.losses[trial] = loss
        best, rest = self._best, self._rest
        if self._cut.size(len(self.losses)) > len(best):
            # The best part grows by one: the better of the new trial and the best of the rest.
            heappush(best, _negate(heappushpop(rest, (loss, trial))))
        elif best and (-loss, -trial) > best[0]:
            heappush(rest, _negate(heappushpop(best, (-loss, -trial))))
        else:
            heappush(rest, (loss, trial))
            return  # the best part is unchanged
        self._edge = self._cut.edge(_negate(best[0]))

    def offer(self, trial: int) -> None:
        """A trial of this rung waits here for promotion; one with infinite loss never does."""
        loss = self.losses[trial]
        if loss < math.inf:
            heappush(self._waiting, (loss, trial))

    def peek(self) -> int | None:
        """The best waiting trial if it belongs to the best part."""
        if self._waiting and self._waiting[0] <= self._edge:
            return int(self._waiting[0][1])
        return None

    def take(self) -> int | None:
        """Promote the trial of :meth:`peek`: it no longer waits here."""
        trial = self.peek()
        if trial is not None:
            heappop(self._waiting)
        return trial

    def includes(self, trial: int) -> bool:
        """Whether a trial that entered belongs to the best part; infinite losses never do."""
        loss = self.losses[trial]
        return loss < math.inf and (loss, trial) <= self._edge

    def ranked(self) -> list[int]:
        """All trials from best to worst."""
        return sorted(self.losses, key=lambda trial: (self.losses[trial], trial))


def _negate(key: Key) -> Key:
    return (-key[0], -key[1])
