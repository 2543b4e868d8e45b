"""The interface of searchers, and what they may see of a study.

The law of searchers: a searcher keeps no state. The same space, history and state of the
generator give the same proposal, in this process and in any other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

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
    """Proposes configurations. Inherit from it: all but :meth:`propose` has a default."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def slow(self) -> bool:
            """Whether it takes long to answer.

            Its proposals are then prefetched while workers train: for trial n with what was known
            when trial n − 1 had just been drawn. A replay takes them from the log.
            """
            return False

        @property
        def repeatable(self) -> bool:
            """Whether a replay may ask it again; else it takes the proposals from the log."""
            return True

        @property
        def needs(self) -> tuple[str, ...]:
            """The modules that must be installed, then the extra of rungwise with all of them."""
            return ()

    else:  # plain values, so that a class may have attributes of these names
        slow, repeatable, needs = False, True, ()

    def check(self, space: Space) -> None:
        """Raise now what would go wrong later in a space."""
        del space

    @abstractmethod
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
