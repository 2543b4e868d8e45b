"""A searcher on the rows of a table, as it is stored in the log of a simulated study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rungwise.core.searcher import History, Searcher
from rungwise.space import Space


@dataclass(frozen=True, slots=True)
class AmongRows(Searcher):
    """A searcher whose proposals are replaced by the nearest rows of a table.

    :func:`rungwise.simulate` creates it and replaces the proposals. What was drawn depends on the
    table, so a replay takes it from the log.

    Args:
        searcher: makes the proposals.
    """

    words: ClassVar[tuple[str, ...]] = ()

    searcher: Searcher
    repeatable: ClassVar[bool] = False

    @property
    def slow(self) -> bool:
        """Whether the searcher takes long to answer."""
        return self.searcher.slow

    def propose(
        self, space: Space, history: History, rng: np.random.Generator
    ) -> dict[str, Any] | None:
        """What the searcher proposes, before a row is found for it."""
        return self.searcher.propose(space, history, rng)
