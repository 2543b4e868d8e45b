"""The interface of searchers, and what they may see of a study.

The law of searchers: a searcher keeps no state. The same space, history and state of the
generator give the same proposal, in this process and in any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rungwise import lazy_numpy as np
from rungwise.space import Space


class Observed(Protocol):
    """A trial as a searcher sees it."""

    @property
    def id(self) -> int:
        """The trial's number."""

    @property
    def config(self) -> Mapping[str, Any]:
        """Its configuration."""

    @property
    def resources(self) -> Sequence[float]:
        """The resources it has reported at, ascending."""

    @property
    def losses(self) -> Sequence[float]:
        """The loss at each of these resources: always minimised, and inf for NaN."""

    @property
    def failed(self) -> bool:
        """Whether it failed and will not be retried."""


class History(Protocol):
    """All trials so far, for reading."""

    def __len__(self) -> int:
        """How many trials there are."""

    def __iter__(self) -> Iterator[Observed]:
        """The trials, by id."""

    @property
    def levels(self) -> Sequence[float]:
        """The levels of the rungs, where trials are compared, up to the current ceiling."""

    def times_drawn(self, key: str) -> int:
        """How often the configuration with this :meth:`Space.key` has been drawn."""


class NoHistory:
    """The history of a study that has not begun."""

    levels: Sequence[float] = (1.0,)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Observed]:
        return iter(())

    def times_drawn(self, key: str) -> int:
        """Nothing was drawn."""
        del key
        return 0


@runtime_checkable
class Searcher(Protocol):
    """Proposes configurations.

    A searcher whose class has ``slow = True`` takes long to answer. Its proposals are prefetched
    while workers train: for trial n with what was known when trial n − 1 had just been drawn. A
    replay does not ask it again but takes its proposals from the log; the same holds for a
    searcher with ``repeatable = False``.
    """

    def propose(
        self, space: Space, history: History, rng: np.random.Generator
    ) -> dict[str, Any] | None:
        """The next configuration to try.

        Args:
            space: where to search.
            history: what is known so far; must not be changed.
            rng: the only source of randomness.

        Returns:
            A legal configuration of the space, or ``None`` when nothing is left to propose: then
            the study draws no further trials.
        """
