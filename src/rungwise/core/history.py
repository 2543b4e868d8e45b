"""What a searcher may see of the trials drawn so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rungwise.core.trials import Trial
from rungwise.space import Space


class TrialHistory:
    """A read-only view of the engine's trials.

    Args:
        trials: the engine's own list, which grows.
        space: names configurations.
    """

    __slots__ = ("_counted", "_space", "_times", "_trials")

    def __init__(self, trials: Sequence[Trial], space: Space) -> None:
        self._trials = trials
        self._space = space
        self._times: Counter[str] = Counter()
        self._counted = 0

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials)

    def times_drawn(self, key: str) -> int:
        """How often the configuration with this key was drawn."""
        # Counted when asked for, so that searchers that never ask do not pay.
        for trial in self._trials[self._counted :]:
            self._times[self._space.key(trial.config)] += 1
        self._counted = len(self._trials)
        return self._times[key]
