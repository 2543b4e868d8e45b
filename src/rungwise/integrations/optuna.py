"""PASHA and ASHA as pruners of Optuna: trials run until a rung stops them (extra ``optuna``).

Optuna cannot pause a trial, so these are the stopping variants; ``rungwise.tune`` with
``searcher="optuna"`` pauses trials and promotes them later.
Several processes may work on one study: ``optuna_marks.py`` says how they agree.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from rungwise.errors import InvalidArgumentError, NothingFoundError, RetrainingError
from rungwise.packages import check_package
from rungwise.rankings import Noise, Ranking
from rungwise.schedulers import ASHA, PASHA
from rungwise.schedulers.presets import Promote
from rungwise.validation import whole
from rungwise.views import BestTrial
from rungwise.views.winners import judge_health, rank_curve

check_package("rungwise.integrations.optuna", "optuna", extra="optuna", at_least="4")

import optuna  # noqa: E402 - named if missing

from rungwise.integrations.optuna_marks import MARK, RETRAIN, Fold, find_offset  # noqa: E402

__all__ = ["MARK", "RETRAIN", "ASHAPruner", "PASHAPruner", "RungPruner", "best", "finish"]

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
        self._folds: WeakKeyDictionary[Any, dict[int, Fold]] = WeakKeyDictionary()  # by storage
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
            resource = step + find_offset(trial)
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

    def _read(self, study: Any) -> Fold:
        _check_single(study)
        fold = self._find_fold(study)
        fold.read(study)
        return fold

    def _find_fold(self, study: Any) -> Fold:
        """What is known of a study; a pruner may serve several."""
        # As Optuna's own pruners do, since marks are attributes of the system.
        folds = self._folds.setdefault(study._storage, {})  # noqa: SLF001
        number = study._study_id  # noqa: SLF001
        if number not in folds:
            maximise = study.direction == optuna.study.StudyDirection.MAXIMIZE
            folds[number] = Fold(self._recipe, sign=-1.0 if maximise else 1.0)
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
    return _rank_trials(study)[0]


def _rank_trials(study: Any) -> list[BestTrial]:
    """Trials that have reported a finite value, the best first, ranked as any study is."""
    _check_single(study)
    sign = -1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1.0
    found = []
    trials = study.get_trials(deepcopy=False)
    for trial in trials:
        curve = {} if RETRAIN in trial.user_attrs else trial.intermediate_values
        steps = sorted(curve)
        if steps:
            values = (sign * curve[step] for step in steps)
            losses = [loss if math.isfinite(loss) else math.inf for loss in values]
            failed = trial.state is optuna.trial.TrialState.FAIL
            health = judge_health(losses, steps[-1], failed=failed)
            found.append(rank_curve(trial.number, steps, losses, health))
    ranked = sorted((one for one in found if one.place is not None), key=lambda one: one.key)
    if not ranked:
        reasons = ["no trial has called trial.report(value, step)"]
        raise NothingFoundError(None, reasons)
    best_first = [(one, trials[one.key[-1]]) for one in ranked]
    return [
        BestTrial(
            each.number,
            dict(each.params),
            sign * one.loss,
            sorted(each.intermediate_values)[one.place or 0] + find_offset(each),
            problem=one.problem,
        )
        for one, each in best_first
    ]


def finish(
    study: Any,
    objective: Callable[[Any], Any],
    *,
    trial: int | None = None,
    top: int = 1,
    **options: Any,
) -> Any:
    """Train the winner in full, as a trial that is never pruned.

    It completes, so that ``study.best_trial`` and optuna-dashboard know a best trial. A winner that
    has completed, by itself or here, is not trained again.

    Args:
        study: a study of Optuna.
        objective: the objective; trials that are waiting in the study are run by it first.
        trial: the number of another trial than the best.
        top: how many of the best configurations are trained in full, the best first. Importances
            of parameters need two completed trials.
        options: passed on to ``study.optimize``, such as ``callbacks``.

    Returns:
        The completed trial of the winner.

    Raises:
        RetrainingError: it failed.
    """
    count = whole("top", top, at_least=1)
    if trial is None:
        winners = _choose_distinct(_rank_trials(study), count)
    elif count == 1:
        winners = [_check_number(study, trial)]
    else:
        raise InvalidArgumentError("top", top, "it must be 1 where a trial is given")
    done = [_train_in_full(study, objective, winner, options) for winner in winners]
    return done[0]


def _choose_distinct(ranked: list[BestTrial], count: int) -> list[int]:
    """The first trials that have different configurations."""
    seen: list[Any] = []
    chosen: list[int] = []
    for each in ranked:
        if len(chosen) < count and each.config not in seen:
            seen.append(each.config)
            chosen.append(each.trial)
    return chosen


def _check_number(study: Any, trial: int) -> int:
    _check_single(study)
    last = len(study.get_trials(deepcopy=False)) - 1
    if type(trial) is not int or not 0 <= trial <= last:
        raise InvalidArgumentError("trial", trial, f"the study has the trials 0 to {last}")
    return trial


def _train_in_full(
    study: Any, objective: Callable[[Any], Any], winner: int, options: dict[str, Any]
) -> Any:
    """The completed trial of a winner; it is trained if there is none."""
    trials = study.get_trials(deepcopy=False)
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
