"""The ladder: at which resource levels trials are compared.

Law of this file: levels come from integer multiplication only. Counting rungs with float
logarithms loses one (``log(243) / log(3) = 4.999…``).
"""

from __future__ import annotations

from dataclasses import dataclass

from rungwise.core.events import FURTHEST
from rungwise.errors import InvalidArgumentError
from rungwise.validation import whole


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rung levels r, rη, rη², … while below R, then R itself.

    Build one with :meth:`between`; rung ``k`` is at ``levels[k]``.

    Example:
        >>> Ladder.between(1, 200, eta=3).levels
        (1, 3, 9, 27, 81, 200)
        >>> len(Ladder.between(1, 243, eta=3).levels)
        6
    """

    levels: tuple[int, ...]
    eta: int

    @classmethod
    def between(cls, min_resource: int, max_resource: int | None, *, eta: int) -> Ladder:
        """The ladder from r to R; without R it is open-ended.

        Args:
            min_resource: r, the smallest resource at which configurations can be compared.
            max_resource: R, the safety net; ``None``: no maximum (the last level is 2⁵³).
            eta: η, the reduction factor.
        """
        low = whole("min_resource", min_resource, at_least=1)
        factor = whole("eta", eta, at_least=2)
        high = FURTHEST
        if max_resource is not None:
            high = whole("max_resource", max_resource, at_least=1)
        if low > high:
            raise InvalidArgumentError(
                "min_resource", low, f"it must not exceed max_resource = {high}"
            )
        levels = []
        level = low
        while level < high:
            levels.append(level)
            level *= factor
        levels.append(high)
        return cls(tuple(levels), factor)

    @property
    def top(self) -> int:
        """The index of the last rung."""
        return len(self.levels) - 1

    @property
    def max_resource(self) -> int:
        """The level of the last rung."""
        return self.levels[-1]

    def starting_at(self, rung: int) -> Ladder:
        """The part of the ladder from a rung up (a bracket of Hyperband)."""
        return Ladder(self.levels[rung:], self.eta)
