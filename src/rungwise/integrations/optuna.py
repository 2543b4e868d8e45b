"""PASHA and ASHA as pruners of Optuna: trials run until a rung stops them (extra ``optuna``).

Optuna cannot pause a trial, so these are the stopping variants; ``rungwise.tune`` with
``searcher="optuna"`` pauses trials and promotes them later.

Several processes may work on one study, with any storage. A storage does not keep the order in
which different trials reported. So each arrival at a rung is written into its trial once, as a
*mark*: the level, the time and the decision. Every process folds all marks in their order into a
scheduler of rungwise, so that all see the same rungs and the same ceiling; a decision that stands
in a mark stands.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from weakref import WeakKeyDictionary

from rungwise.core.decisions import STOP
from rungwise.core.scheduler import Scheduler
from rungwise.core.trials import Trial
from rungwise.errors import InvalidArgumentError, NothingFoundError, RetrainingError
from rungwise.packages import check_package
from rungwise.rankings import Noise, Ranking
from rungwise.schedulers import ASHA, PASHA
from rungwise.schedulers.presets import Promote
from rungwise.views import BestTrial

check_package("rungwise.integrations.optuna", "optuna", extra="optuna", at_least="4")

import optuna  # noqa: E402 - named if missing

MARK = "rungwise:rung:"
"""System attributes of a trial: its arrivals at rungs, numbered from 0."""

RETRAIN = "rungwise:retrain"
"""The user attribute of a trial that trains the winner in full: the number of the winner."""

_logger = optuna.logging.get_logger(__name__)


class RungPruner(optuna.pruners.BasePruner):  # type: ignore[misc]  # Optuna's types are not read
    """What the pruners share: marks, and the scheduler that they are folded into.

    Args:
        recipe: the scheduler, of the stopping variant.
    """

    def __init__(self, recipe: PASHA | ASHA) -> None:
        recipe.build(trials=None)  # raises now if something is wrong with it
        self._recipe = recipe
        self._lock = threading.Lock()
        self._folds: WeakKeyDictionary[Any, dict[int, _Fold]] = WeakKeyDictionary()  # by storage
        self._announced = False

    def __repr__(self) -> str:
        levels = self._recipe.ladder.levels
        shown = ", ".join(str(level) for level in levels[:6]) + ", …" * (len(levels) > 6)
        return f"{type(self).__name__}(rungs at {shown})"

    def __getstate__(self) -> dict[str, Any]:
        # Another process folds the marks by itself.
        return {"recipe": self._recipe}

    def __setstate__(self, state: dict[str, Any]) -> None:
        RungPruner.__init__(self, state["recipe"])

    def prune(self, study: Any, trial: Any) -> bool:
        """Whether the trial is to be stopped; called by ``trial.should_prune()``."""
        _check_single(study)
        step = trial.last_step
        if step is None or RETRAIN in trial.user_attrs:
            return False
        with self._lock:
            fold = self._find_fold(study)
            resource = step + _find_offset(trial)
            if resource > step and not self._announced:
                self._announced = True
                _logger.info("Steps are counted from 0 here: step 0 is one unit of resource.")
            return fold.is_to_stop(study, trial, resource)

    def why(self, study: Any) -> str:
        """Why the ceiling of a study is where it is, in one sentence."""
        with self._lock:
            text = self._read(study).scheduler.explain()
        return f"{text[0].upper()}{text[1:]}."

    def ceiling(self, study: Any) -> int:
        """The resource that trials may reach now; beyond it every trial is stopped."""
        with self._lock:
            return int(self._read(study).scheduler.ceilings[-1][1])

    def _read(self, study: Any) -> _Fold:
        _check_single(study)
        fold = self._find_fold(study)
        fold.read(study)
        return fold

    def _find_fold(self, study: Any) -> _Fold:
        """What is known of a study; a pruner may serve several."""
        # As Optuna's own pruners do, since marks are attributes of the system.
        folds = self._folds.setdefault(study._storage, {})  # noqa: SLF001
        number = study._study_id  # noqa: SLF001
        if number not in folds:
            maximise = study.direction == optuna.study.StudyDirection.MAXIMIZE
            folds[number] = _Fold(self._recipe, sign=-1.0 if maximise else 1.0)
        return folds[number]


class PASHAPruner(RungPruner):
    """Stops trials at rungs, below a ceiling that rises only while rankings still change.

    Args:
        min_resource: the first rung; steps of ``trial.report`` are the resource. Where a trial has
            reported step 0, as callbacks of libraries do, a step counts as one more.
        max_resource: the last rung; without it the ceiling alone decides.
        eta: η, the reduction factor: about one trial in η goes on at a rung.
        ranking: the criterion for a stable ranking, or its name; the paper's by default.
        promote: see :class:`rungwise.PASHA`.

    Example::

        study = optuna.create_study(pruner=PASHAPruner(max_resource=81))
        study.optimize(objective, n_trials=100)
        finish(study, objective)  # trains the winner in full

    Reference:
        Bohdal et al., PASHA: Efficient HPO and NAS with Progressive Resource Allocation (2023).
    """

    def __init__(
        self,
        *,
        min_resource: int = 1,
        max_resource: int | None = None,
        eta: int = 3,
        ranking: Ranking | str | None = None,
        promote: Promote = "floor",
    ) -> None:
        given: Any = Noise() if ranking is None else ranking
        super().__init__(
            PASHA(min_resource, max_resource, eta, given, promote, variant="stopping"),
        )


class ASHAPruner(RungPruner):
    """Stops trials at rungs, up to a fixed maximum.

    Args:
        max_resource: the last rung, in the unit of :class:`PASHAPruner`; there a trial completes.
        min_resource: the first rung.
        eta: η, the reduction factor: about one trial in η goes on at a rung.
        promote: see :class:`rungwise.PASHA`.

    Reference:
        Li et al., A System for Massively Parallel Hyperparameter Tuning (2020).
    """

    def __init__(
        self,
        *,
        max_resource: int,
        min_resource: int = 1,
        eta: int = 3,
        promote: Promote = "floor",
    ) -> None:
        super().__init__(ASHA(min_resource, max_resource, eta, promote, variant="stopping"))


def best(study: Any) -> BestTrial:
    """The best trial of a study, pruned ones included: by the best value reported at any step.

    ``study.best_trial`` knows completed trials only, and PASHA may complete none before
    :func:`finish`.

    Args:
        study: a study of Optuna.

    Raises:
        NothingFoundError: no trial has reported a finite value.
    """
    _check_single(study)
    sign = -1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1.0
    found: tuple[float, int, int] | None = None
    trials = study.get_trials(deepcopy=False)
    for trial in trials:
        if RETRAIN in trial.user_attrs:
            continue
        for step, value in trial.intermediate_values.items():
            if math.isfinite(value):
                key = (sign * value, trial.number, step)
                found = key if found is None else min(found, key)
    if found is None:
        reasons = ["no trial has called trial.report(value, step)"]
        raise NothingFoundError(None, reasons)
    loss, number, step = found
    winner = trials[number]
    return BestTrial(number, dict(winner.params), sign * loss, step + _find_offset(winner))


def finish(
    study: Any, objective: Callable[[Any], Any], *, trial: int | None = None, **options: Any
) -> Any:
    """Train the winner in full, as a trial that is never pruned.

    It completes, so that ``study.best_trial`` and optuna-dashboard know a best trial. A winner that
    has completed, by itself or here, is not trained again.

    Args:
        study: a study of Optuna.
        objective: the objective; trials that are waiting in the study are run by it first.
        trial: the number of another trial than the best.
        options: passed on to ``study.optimize``, such as ``callbacks``.

    Returns:
        The completed trial.

    Raises:
        RetrainingError: it failed.
    """
    winner = best(study).trial if trial is None else trial
    trials = study.get_trials(deepcopy=False)
    if type(winner) is not int or not 0 <= winner < len(trials):
        rule = f"the study has the trials 0 to {len(trials) - 1}"
        raise InvalidArgumentError("trial", trial, rule)
    complete = optuna.trial.TrialState.COMPLETE
    for each in trials:
        ours = winner in (each.number, each.user_attrs.get(RETRAIN))
        if ours and each.state == complete:
            return each
    study.enqueue_trial(trials[winner].params, user_attrs={RETRAIN: winner})
    # Others may enqueue at the same time: the last one with this mark is ours, or does as well.
    number = max(
        each.number
        for each in study.get_trials(deepcopy=False)
        if each.user_attrs.get(RETRAIN) == winner
    )
    waiting = optuna.trial.TrialState.WAITING
    while study.get_trials(deepcopy=False)[number].state == waiting:
        study.optimize(objective, n_trials=1, **options)
    done = study.get_trials(deepcopy=False)[number]
    if done.state.is_finished() and done.state != complete:
        reason = f"trial {number} of the study ended as {done.state.name}"
        raise RetrainingError(winner, reason, str(done.system_attrs.get("fail_reason", "")))
    return done


def _check_single(study: Any) -> None:
    if len(study.directions) > 1:
        rule = "PASHA and ASHA rank trials by one metric: give create_study(direction=…) one"
        names = [direction.name.lower() for direction in study.directions]
        raise InvalidArgumentError("directions", names, rule)


def _find_offset(trial: Any) -> int:
    """1 where steps are counted from 0: then step s means that s + 1 units have been trained."""
    return int(0 in trial.intermediate_values)


# -- marks ---------------------------------------------------------------------------------------


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


class _Fold:
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
        self._trials: dict[int, Trial] = {}

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
        offset = _find_offset(trial)
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
            trial = self._trials[event.number] = Trial(event.number, {}, 0)
            self.scheduler.started(trial)
        stop = False
        for resource, loss in event.points:
            trial.resource = resource
            trial.resources.append(resource)
            trial.losses.append(loss)
            # A trial may report more often than it asks whether to stop.
            stop = self.scheduler.reported(trial, resource, loss) is STOP or stop
        if event.ended and trial.rung < len(self._levels) - 1:
            self.scheduler.dropped(trial)
        return stop
