"""What trials of Optuna have done at rungs: marks in a storage, folded into a scheduler.

Several processes may work on one study, with any storage. A storage does not keep the order in
which different trials reported. So each arrival at a rung is written into its trial once, as a
*mark*: the level, the time and the decision. Every process folds all marks in their order into a
scheduler of rungwise, so that all see the same rungs and the same ceiling; a decision that stands
in a mark stands.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, ClassVar

import optuna

from rungwise.core.decisions import STOP
from rungwise.core.scheduler import Scheduler
from rungwise.core.trials import State
from rungwise.schedulers import ASHA, PASHA

MARK = "rungwise:rung:"
"""System attributes of a trial: its arrivals at rungs, numbered from 0."""

RETRAIN = "rungwise:retrain"
"""The user attribute of a trial that trains the winner in full: the number of the winner."""

_logger = optuna.logging.get_logger("rungwise.integrations.optuna")  # one for all of the adapter


def find_offset(trial: Any) -> int:
    """1 where steps are counted from 0: then step s means that s + 1 units have been trained."""
    return int(0 in trial.intermediate_values)


@dataclass(frozen=True, slots=True, order=True)
class _Event:
    """A trial has arrived at a rung, or has ended before its next one.

    Attributes:
        at: when; what is folded later is never dated earlier.
        number: the trial.
        index: which event of the trial it is.
        points: [(resource, loss), …] that it has reported since the event before.
        ended: whether it has ended without an arrival.
    """

    at: float
    number: int
    index: int
    points: tuple[tuple[int, float], ...] = field(compare=False)
    ended: bool = field(compare=False)


@dataclass(slots=True)
class _Progress:
    """How far a trial has come.

    Attributes:
        marks: how many there are of it.
        resource: the resource of the last one.
        stopped: whether that decided to stop it.
    """

    marks: int = 0
    resource: int = 0
    stopped: bool = False


@dataclass(slots=True)
class _Followed:
    """A trial of Optuna as a scheduler sees it; see :class:`rungwise.core.trials.Candidate`.

    Attributes:
        id: its number.
        resources: at which it has reported.
        losses: what it has reported there.
    """

    id: int
    resources: array[float] = field(default_factory=lambda: array("d"))
    losses: array[float] = field(default_factory=lambda: array("d"))
    bracket: ClassVar[int] = 0
    state: ClassVar[State] = State.RUNNING
    failed: ClassVar[bool] = False
    until: ClassVar[float] = math.inf

    @property
    def resource(self) -> float:
        """The furthest one."""
        return self.resources[-1] if self.resources else 0

    def add(self, resource: float, loss: float) -> None:
        """Add a report."""
        self.resources.append(resource)
        self.losses.append(loss)


class Fold:
    """The scheduler of one study, as all marks that are known make it.

    Args:
        recipe: the scheduler.
        sign: turns values into losses.
    """

    def __init__(self, recipe: PASHA | ASHA, *, sign: float) -> None:
        self._recipe, self._sign = recipe, sign
        self._levels = recipe.ladder.levels
        self._events: list[_Event] = []
        self._progress: dict[int, _Progress] = {}
        self._said_silent = False
        self._known = 0  # trials that have been looked at
        self._open: set[int] = set()  # those of them that have not ended
        self._start_over()

    def _start_over(self) -> None:
        self.scheduler: Scheduler = self._recipe.build(trials=None)
        self._trials: dict[int, _Followed] = {}

    def is_to_stop(self, study: Any, trial: Any, resource: int) -> bool:
        """Decide on the last report of a trial that runs in this process."""
        progress = self._progress.get(trial.number)
        if progress is None:
            if resource < self._levels[0]:
                return False
        elif not self._is_due(progress, resource):
            return self._is_stopped(progress)
        self.read(study)
        progress = self._progress.setdefault(trial.number, _Progress())
        if self._is_due(progress, resource):
            self._decide(study, trial, resource, progress)
        return self._is_stopped(progress)

    def _is_due(self, progress: _Progress, resource: int) -> bool:
        """Whether the trial has arrived at a rung that it has no mark of."""
        if progress.stopped or resource <= progress.resource:
            return False
        passed = bisect_left(self._levels, progress.resource + 1)
        return passed < len(self._levels) and resource >= self._levels[passed]

    def _is_stopped(self, progress: _Progress) -> bool:
        # At the last rung a trial completes by itself.
        return progress.stopped and progress.resource < self._levels[-1]

    def _decide(self, study: Any, trial: Any, resource: int, progress: _Progress) -> None:
        now = datetime.now().replace(tzinfo=timezone.utc).timestamp()  # noqa: DTZ005 - as Optuna's
        last = self._events[-1].at if self._events else 0.0
        at = max(now, math.nextafter(last, math.inf))
        points = tuple(self._list_points(trial, progress.resource, resource))
        event = _Event(at, trial.number, progress.marks, points, ended=False)
        stop = self._apply(event)
        mark = {"trial": trial.number, "resource": resource, "at": at, "stop": stop}
        key = f"{MARK}{progress.marks}"
        try:
            study._storage.set_trial_system_attr(trial._trial_id, key, mark)  # noqa: SLF001
        except BaseException:
            self._refold()  # without it
            raise
        self._events.append(event)
        progress.marks, progress.resource, progress.stopped = progress.marks + 1, resource, stop

    def _list_points(
        self, trial: Any, after: int, until: float = math.inf
    ) -> Iterator[tuple[int, float]]:
        """(resource, loss) of a trial, within some resources."""
        offset = find_offset(trial)
        values: Mapping[int, float] = trial.intermediate_values
        for step in sorted(step for step in values if after < step + offset <= until):
            loss = self._sign * values[step]
            yield step + offset, loss if math.isfinite(loss) else math.inf

    # -- folding -------------------------------------------------------------------------------

    def read(self, study: Any) -> None:
        """Fold what other processes have written, and what has ended."""
        trials = study.get_trials(deepcopy=False)
        found: list[_Event] = []
        for number in (*sorted(self._open), *range(self._known, len(trials))):
            found += self._read_trial(trials[number])
        self._known = len(trials)
        if not found:
            return
        in_order = not self._events or min(found) > self._events[-1]
        for event in sorted(found):
            insort(self._events, event)
            if in_order:
                self._apply(event)
        if not in_order:  # two processes have decided at the same time
            self._refold()

    def _read_trial(self, trial: Any) -> Iterator[_Event]:
        number = trial.number
        if RETRAIN in trial.user_attrs:
            self._open.discard(number)
            return
        self._open.add(number)
        progress = self._progress.setdefault(number, _Progress())
        attributes = trial.system_attrs
        while True:
            mark = attributes.get(f"{MARK}{progress.marks}")
            # A trial that repeats a failed one has a copy of its marks.
            if mark is None or mark["trial"] != number:
                break
            points = tuple(self._list_points(trial, progress.resource, mark["resource"]))
            yield _Event(mark["at"], number, progress.marks, points, ended=False)
            progress.marks += 1
            progress.resource, progress.stopped = mark["resource"], mark["stop"]
        if trial.state.is_finished():
            self._open.discard(number)
            self._say_if_silent(trial)
            if not progress.stopped:
                # Failed, or ended before its next rung: it ranks last there.
                at = trial.datetime_complete.replace(tzinfo=timezone.utc).timestamp()
                points = tuple(self._list_points(trial, progress.resource))
                progress.stopped = True
                yield _Event(at, number, progress.marks, points, ended=True)

    def _say_if_silent(self, trial: Any) -> None:
        complete = trial.state == optuna.trial.TrialState.COMPLETE
        if complete and not trial.intermediate_values and not self._said_silent:
            self._said_silent = True
            _logger.warning(
                "Trial %d has completed without trial.report(value, step): only what is reported "
                "is compared, so that no trial of such an objective is ever stopped.",
                trial.number,
            )

    def _refold(self) -> None:
        self._start_over()
        for event in self._events:
            self._apply(event)

    def _apply(self, event: _Event) -> bool:
        """Let the scheduler see an event; whether it stops the trial."""
        trial = self._trials.get(event.number)
        if trial is None:
            trial = self._trials[event.number] = _Followed(event.number)
            self.scheduler.started(trial)
        stop = False
        for resource, loss in event.points:
            if trial.resource >= self._levels[-1]:
                break  # it trains on beyond the maximum, where nothing is compared
            trial.add(resource, loss)
            # A trial may report more often than it asks whether to stop.
            stop = self.scheduler.reported(trial, resource, loss) is STOP or stop
        if event.ended and trial.resource < self._levels[-1]:
            self.scheduler.dropped(trial)
        return stop
