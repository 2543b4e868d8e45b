"""The trials drawn so far, as a searcher may see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rungwise.core.trials import Trial
from rungwise.space import Space


class TrialHistory:
    """A read-only view of the engine's trials.

    Args:
        trials: the engine's own list, which grows.
        space: gives configurations their keys.
        levels: returns the levels at which trials are compared now.
    """

    __slots__ = ("_counted", "_levels", "_space", "_times", "_trials")

    def __init__(
        self, trials: Sequence[Trial], space: Space, levels: Callable[[], Sequence[float]]
    ) -> None:
        self._trials = trials
        self._space = space
        self._levels = levels
        self._times: Counter[str] = Counter()
        self._counted = 0

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials)

    @property
    def levels(self) -> Sequence[float]:
        """The levels at which trials are compared, ascending, up to the current ceiling."""
        return self._levels()

    def times_drawn(self, key: str) -> int:
        """How often the configuration with this key was drawn."""
        # Counted on the first call, so that searchers that do not need it do not pay for it.
        for trial in self._trials[self._counted :]:
            self._times[self._space.key(trial.config)] += 1
        self._counted = len(self._trials)
        return self._times[key]
