"""What a searcher may see of the trials drawn so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rungwise.core.trials import Trial
from rungwise.space import Space


class TrialHistory:
    """A read-only view of the engine's trials.

    Args:
        trials: the engine's own list, which grows.
        space: names configurations.
        levels: tells where trials are compared at the moment.
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
        """Where trials are compared, ascending, up to the ceiling of the moment."""
        return self._levels()

    def times_drawn(self, key: str) -> int:
        """How often the configuration with this key was drawn."""
        # Counted when asked for, so that searchers that never ask do not pay.
        for trial in self._trials[self._counted :]:
            self._times[self._space.key(trial.config)] += 1
        self._counted = len(self._trials)
        return self._times[key]
