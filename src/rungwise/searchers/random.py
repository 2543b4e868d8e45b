"""Random search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rungwise import lazy_numpy as np
from rungwise.core.searcher import History, Searcher
from rungwise.space import Space
from rungwise.space.space import MAX_LISTED

TRIES = 100
"""Draws before the rest is listed; all fail only when nearly all of the space is used up."""


@dataclass(frozen=True, slots=True)
class RandomSearcher(Searcher):
    """Uniform draws; in a finite space nothing is drawn twice before everything was drawn once.

    When all configurations of a finite space were drawn, a second pass begins, and so on: one of
    those drawn least often is always next. A space of more than a million configurations counts as
    infinite once random draws no longer find a new one.

    Example:
        >>> from rungwise.testing.searchers import ListHistory
        >>> space = Space.parse({"act": ["relu"]})
        >>> RandomSearcher().propose(space, ListHistory(space), np.random.default_rng(0))
        {'act': 'relu'}
    """

    def propose(self, space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The next configuration to try; there always is one."""
        if space.size is None:
            return space.sample(rng)
        for _ in range(TRIES):
            config = space.sample(rng)
            if history.times_drawn(space.key(config)) == 0:
                return config
        if space.size > MAX_LISTED:
            return config
        return _least_drawn(space, history, rng)


def _least_drawn(space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
    """One of the configurations that were drawn least often, all equally likely."""
    counts = [history.times_drawn(key) for key in space.all_keys()]
    least = min(counts)
    candidates = [position for position, count in enumerate(counts) if count == least]
    return space.configurations()[candidates[int(rng.random() * len(candidates))]]
