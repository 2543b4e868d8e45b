"""Where configurations come from: a study's initial ones, then what its searcher proposes.

Law of this file: what a slow searcher proposes for trial n depends on what was known when trial
n − 1 had just been drawn, and on nothing later. So it can be computed while workers train, in
another thread, however long that takes, and the same study still takes the same decisions.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rungwise.core import seeding
from rungwise.core.history import TrialHistory
from rungwise.core.searcher import History, Observed, Searcher
from rungwise.core.study import Study
from rungwise.core.trials import Trial
from rungwise.errors import SpaceError
from rungwise.space import Space

Config = Mapping[str, Any]
Levels = Callable[[], Sequence[float]]


def is_slow(searcher: Searcher | None) -> bool:
    """Whether proposing takes long: then it is prefetched, and a replay does not repeat it."""
    return searcher is not None and searcher.slow


def is_repeatable(searcher: Searcher | None) -> bool:
    """Whether a replay may ask it again and gets the same: quick, and a function of its inputs."""
    return searcher is None or (searcher.repeatable and not searcher.slow)


class Proposals:
    """Proposes the configurations of one study.

    Args:
        study: what the study is.
        trials: the engine's own list, which grows.
        levels: returns the levels at which trials are compared now.
    """

    def __init__(self, study: Study, trials: Sequence[Trial], levels: Levels) -> None:
        self._study = study
        self._trials = trials
        self._levels = levels
        self._slow = is_slow(study.searcher)
        self._added: deque[Config] = deque()
        self._keys: list[str] = []
        self._history: History | None = None
        if study.space is not None:
            live = TrialHistory(trials, study.space, levels)
            self._history = self._frozen() if self._slow else live

    def __call__(self, number: int) -> Config | None:
        """The configuration of trial ``number``, which is drawn now; None: none is left."""
        config = self.propose(number)
        self.drawn(number, config)
        return config

    def propose(self, number: int) -> Config | None:
        """The configuration, without drawing it. For a slow searcher any one thread may call it."""
        study = self._study
        if number < len(study.initial):
            return study.initial[number]
        if self._added:
            return self._added[0]
        if study.space is None or study.searcher is None or self._history is None:
            return None
        rng = seeding.generator(study.seed, "searcher", number)
        config = study.searcher.propose(study.space, self._history, rng)
        if config is None:
            return None
        try:
            return study.space.validate(config)
        except SpaceError as error:
            place = f"{error.argument}, as {study.searcher!r} proposes it for trial {number},"
            raise SpaceError(place, error.value, error.rule) from None

    def drawn(self, number: int, config: Config | None) -> None:
        """Trial ``number`` is drawn with this configuration: freeze what is known now."""
        if self._added and number >= len(self._study.initial) and config == self._added[0]:
            self._added.popleft()
        if self._slow and config is not None:
            self._history = self._frozen(Seen(number, config, 0, Trial(number, config, 0)))

    def extend(self, study: Study) -> None:
        """The study goes on with other limits; what is searched, and how, stays."""
        self._study = study

    def add(self, configs: Iterable[Config]) -> None:
        """Propose these next, after the initial ones, before the searcher is asked again."""
        self._added.extend(configs)

    def should_prefetch(self, number: int) -> bool:
        """Whether the proposal for this trial, the next one, should be computed in advance."""
        limit = self._study.limits.trials
        wanted = self._slow and number >= len(self._study.initial)
        return wanted and (limit is None or number < limit)

    def take_state(self) -> dict[str, Any]:
        """What it knows besides the study and its trials, for a snapshot; plain values."""
        state: dict[str, Any] = {"added": [dict(config) for config in self._added], "seen": None}
        if isinstance(self._history, FrozenHistory):
            seen = list(self._history)
            state["seen"] = [len(each.losses) for each in seen]
            state["failed"] = [each.id for each in seen if each.failed]
            state["levels"] = list(self._history.levels)
        return state

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`take_state` returned; the trials are there already."""
        self._added = deque(state["added"])
        if state["seen"] is None or self._study.space is None:
            return
        failed = set(state["failed"])
        seen: list[Observed] = [
            Seen(trial.id, trial.config, reports, trial, failed=trial.id in failed)
            for trial, reports in zip(self._trials, state["seen"], strict=False)
        ]
        self._history = FrozenHistory(seen, self._study.space, state["levels"], self._keys)

    def _frozen(self, *more: Observed) -> History:
        assert self._study.space is not None
        seen: list[Observed] = [
            Seen(trial.id, trial.config, len(trial.losses), trial, failed=trial.failed)
            for trial in self._trials
        ]
        return FrozenHistory([*seen, *more], self._study.space, list(self._levels()), self._keys)


@dataclass(frozen=True, slots=True)
class Seen:
    """A trial as it was at a point in time: curves only grow, so their length is enough."""

    id: int
    config: Config
    reports: int
    trial: Trial
    failed: bool = False

    @property
    def resources(self) -> Sequence[float]:
        """The resources it had reported at."""
        return self.trial.resources[: self.reports]

    @property
    def losses(self) -> Sequence[float]:
        """The losses there."""
        return self.trial.losses[: self.reports]


class FrozenHistory:
    """The trials of a study as they were at a point in time.

    Args:
        trials: as they were.
        space: gives configurations their keys.
        levels: the levels at which trials were compared.
        keys: keys of configurations found so far, by trial; the list is shared and grows.
    """

    __slots__ = ("_keys", "_space", "_times", "_trials", "levels")

    def __init__(
        self, trials: list[Observed], space: Space, levels: Sequence[float], keys: list[str]
    ) -> None:
        self._trials = trials
        self._space = space
        self._keys = keys
        self._times: Counter[str] | None = None
        self.levels = levels

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Observed]:
        return iter(self._trials)

    def times_drawn(self, key: str) -> int:
        """How often the configuration with this key was drawn."""
        if self._times is None:
            for trial in self._trials[len(self._keys) :]:
                self._keys.append(self._space.key(trial.config))
            self._times = Counter(self._keys[: len(self._trials)])
        return self._times[key]
