"""Grid search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rungwise.core.searcher import History, Searcher
from rungwise.errors import InvalidArgumentError, SpaceError
from rungwise.space import Choice, Space
from rungwise.space.space import MAX_LISTED
from rungwise.validation import whole


@dataclass(frozen=True, slots=True)
class Grid(Searcher):
    """Every combination of a few values of each parameter, once; then nothing is left to propose.

    A number gets values evenly spaced between its bounds, both included (in ratios on a log scale),
    a choice all its options. The seed shuffles the combinations: in the order of a list, the first
    rung would hold one corner of the space for a long time.

    Args:
        points: the largest number of values per parameter that is a number.
        seed: of the order.
    """

    points: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        whole("points", self.points, at_least=2)
        whole("seed", self.seed, at_least=0)

    def propose(
        self, space: Space, history: History, rng: np.random.Generator
    ) -> dict[str, Any] | None:
        """The next configuration to try; None when the grid is used up."""
        del rng  # the order is the study's, not the trial's
        configs = _listed(space, self.points, self.seed)
        # Start at the expected position: the places before it were drawn, except those that were
        # skipped because of initial configurations.
        turn = len(history) % len(configs)
        for key, config in (*configs[turn:], *configs[:turn]):
            if history.times_drawn(key) == 0:
                return dict(config)
        return None

    def check(self, space: Space) -> None:
        """Raise if the grid cannot be listed."""
        _listed(space, self.points, self.seed)


@lru_cache(maxsize=8)
def _listed(space: Space, points: int, seed: int) -> list[tuple[str, dict[str, Any]]]:
    # Counted before it is listed, as if every parameter were always active.
    places = math.prod(len(_values(p.domain, points)) for p in space.parameters)
    if places > MAX_LISTED:
        rule = f"the grid would have {places:,} places; at most {MAX_LISTED:,} are possible"
        raise InvalidArgumentError("points", points, rule)
    found = {space.key(config): config for config in _combined(space, points, {}, 0)}
    if not found:
        rule = "every place of the grid is forbidden in this space: try another number"
        raise InvalidArgumentError("points", points, rule)
    order = np.random.default_rng(seed).permutation(len(found))
    entries = list(found.items())
    return [entries[i] for i in order]


def _combined(
    space: Space, points: int, config: dict[str, Any], number: int
) -> Iterator[dict[str, Any]]:
    if number == len(space.parameters):
        try:
            yield space.validate(config)
        except SpaceError:
            return  # forbidden
        return
    parameter = space.parameters[number]
    if not parameter.is_active(config):
        yield from _combined(space, points, config, number + 1)
        return
    for value in _values(parameter.domain, points):
        yield from _combined(space, points, {**config, parameter.name: value}, number + 1)


def _values(domain: Any, points: int) -> list[Any]:
    if isinstance(domain, Choice) or (domain.size is not None and domain.size <= points):
        return list(domain.values())
    if domain.size is None:
        # The bounds themselves, exactly: a logarithm and its inverse may miss them by a bit.
        inner = [domain.at(k / (points - 1)) for k in range(1, points - 1)]
        return [domain.low, *inner, domain.high]
    if domain.step is not None:
        return sorted({domain.at(k / (points - 1) * (1 - 1e-12)) for k in range(points)})
    low, high = float(domain.low), float(domain.high)
    spread = np.geomspace(low, high, points) if domain.log else np.linspace(low, high, points)
    return sorted({min(max(round(value), domain.low), domain.high) for value in spread.tolist()})
