"""Whether the order of trials at one level lasted to the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

Pair = tuple[float, float]
"""(loss at the lower level, loss at the higher level) of a trial."""


def keeps_order(pairs: Sequence[Pair]) -> bool:
    """Whether more pairs of trials kept their order than changed it (Kendall's τ > 0).

    Equal losses, at either level, are no order. It takes O(n log n) steps.

    Example:
        >>> keeps_order([(0.1, 0.2), (0.3, 0.1), (0.5, 0.6)])
        True
    """
    places = {loss: place for place, loss in enumerate(sorted({high for _, high in pairs}), 1)}
    counts = [0] * (len(places) + 1)  # a Fenwick tree over the places at the higher level
    kept = changed = seen = 0
    for _, equal in groupby(sorted(pairs), key=lambda pair: pair[0]):
        reached = [places[high] for _, high in equal]
        for place in reached:
            kept += _count_up_to(counts, place - 1)
            changed += seen - _count_up_to(counts, place)
        for place in reached:
            _add(counts, place)
        seen += len(reached)
    return kept > changed


def _count_up_to(counts: Sequence[int], place: int) -> int:
    found = 0
    while place > 0:
        found += counts[place]
        place &= place - 1
    return found


def _add(counts: list[int], place: int) -> None:
    while place < len(counts):
        counts[place] += 1
        place += place & -place
