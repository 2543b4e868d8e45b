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

    def raised_to(self, max_resource: int) -> Ladder:
        """The same rungs, and further ones above them up to a higher maximum.

        The old maximum stays a rung, so that trials that have reached it are compared there and
        not trained again; above it the levels grow by η as below.

        Example:
            >>> Ladder.between(1, 27, eta=3).raised_to(300).levels
            (1, 3, 9, 27, 81, 243, 300)
            >>> Ladder.between(1, 50, eta=3).raised_to(100).levels
            (1, 3, 9, 27, 50, 100)
        """
        if max_resource <= self.max_resource:
            rule = f"it must be above {self.max_resource}, the maximum so far"
            raise InvalidArgumentError("max_resource", max_resource, rule)
        above = Ladder.between(self.max_resource, max_resource, eta=self.eta)
        return Ladder((*self.levels, *above.levels[1:]), self.eta)

    def starting_at(self, rung: int) -> Ladder:
        """The part of the ladder from a rung up (a bracket of Hyperband)."""
        return Ladder(self.levels[rung:], self.eta)
