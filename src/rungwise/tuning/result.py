"""What came of a study."""

from __future__ import annotations

import importlib
import math
import shlex
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rungwise import counterfactual
from rungwise.backends.shipping import check_function
from rungwise.checkpoints import CheckpointStore
from rungwise.checkpoints.base import RemoteCheckpoint, parse_name
from rungwise.core.codec import jsonable
from rungwise.core.engine import Engine
from rungwise.core.failures import Failure
from rungwise.errors import (
    InvalidArgumentError,
    MissingExtraError,
    NothingFoundError,
    UsageWarning,
)
from rungwise.options.checks import check_backend, check_callbacks
from rungwise.options.study_options import RunOptions
from rungwise.session.checkpoint_retention import trial_place
from rungwise.session.failure_text import describe_failure, describe_traceback
from rungwise.storage.codec import list_study_types
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile, shown
from rungwise.tuning.exports import list_trials
from rungwise.tuning.retrained import Retrained, compare_with_tuning
from rungwise.tuning.retraining import (
    Retraining,
    check_early_stop,
    check_resource,
    list_retrained,
)
from rungwise.views import BestTrial, StudyResult, StudyView


class TuningResult(StudyResult):
    """What came of a study; everything in it can be had again with ``rungwise.load(path)``.

    Attributes:
        path: the study file.
        seconds: how long the study has taken, downtimes not counted.
        failures: what failed, in order, retried or not.
        retrained: what came of training winners in full, in order.
        running: whether another process was working on the study when it was read.
        view: the whole study, for reading.
        engine: what took the decisions; the view is enough for nearly everything.
    """

    def __init__(
        self,
        engine: Engine,
        path: Path,
        about: StudyRecord,
        *,
        seconds: float,
        failures: Sequence[Failure] = (),
        retrained: Sequence[Retrained] = (),
        options: RunOptions | None = None,
        workers: int = 1,
        running: bool = False,
        kept: bool = True,
    ) -> None:
        self.engine = engine
        self._options = RunOptions() if options is None else options
        self.view = StudyView.of(
            engine,
            about,
            path if kept else None,
            running=running,
            seconds=seconds,
            failures=len(failures),
        )
        self.path = path
        self.seconds = seconds
        self.failures = tuple(failures)
        self.retrained = tuple(retrained)
        self.running = running
        self._kept = kept
        self._about = about
        self._workers = workers

    def __repr__(self) -> str:
        found = self.view.best
        best = "nothing yet" if found is None else f"{self.metric}={found.value:g}"
        return f"<result of {self.trials} trials: {best}; {self.path}>"

    @property
    def labels(self) -> tuple[tuple[str, ...], str]:
        """(the tags, the note) that the study was given, by ``rungwise tag`` for example."""
        return self._about.labels

    # -- what was found ------------------------------------------------------------------------

    @property
    def best(self) -> BestTrial:
        """The best configuration.

        Raises:
            NothingFoundError: no trial has reported a finite value.
        """
        found = self.view.best
        if found is None:
            raise self._nothing_found()
        furthest = self.view.trial(found.trial).resource
        checkpoints = self._store.trial(trial_place(found.trial))
        try:
            place = checkpoints.locate(at_most=found.resource)
            if _read_resource(place) != found.resource:  # that of the best value was not kept
                place = checkpoints.locate(at_most=furthest)
        except PermissionError:  # somebody else's study: what was found can be shown all the same
            place = None
        return replace(found, checkpoint=place, checkpoint_resource=_read_resource(place))

    def _found(self) -> BestTrial | None:
        return None if self.view.best is None else self.best

    def _nothing_found(self) -> NothingFoundError:
        hint = "All tracebacks: [failure.trace for failure in result.failures]"
        if self.failures:
            first = self.failures[0]
            hint = f"{describe_traceback(first)}\n{hint}".lstrip()
            if self._kept:
                name = shlex.quote(shown(self.path))
                hint += f", or rungwise show {name} --trial {first.trial}"
        path = str(self.path) if self._kept else None
        return NothingFoundError(path, [describe_failure(each) for each in self.failures], hint)

    def to_json(self, *, top: int | None = 10) -> dict[str, Any]:
        """What came of the study as plain JSON values; what is not finite is null.

        Args:
            top: how many rows of the leaderboard; None for all.
        """
        document = super().to_json(top=top)
        more: dict[str, Any] = {
            "study": str(self.path),
            "way_on": self.view.way_on,
            "failures": len(self.failures),
            "savings": self.view.savings.to_json(),
        }
        tags, note = self.labels
        more |= {"tags": list(tags), "note": note}
        return {**document, **jsonable(more)}

    def saved_versus(
        self, scheduler: str = "asha", *, max_resource: int | None = None
    ) -> counterfactual.Saving:
        """What another scheduler would have spent on the same configurations.

        It is simulated on this study's own curves; see :mod:`rungwise.counterfactual`.

        Args:
            scheduler: ``"asha"``, ``"halving"``, ``"hyperband"`` or ``"random"``.
            max_resource: for a study without one: where the other would have ended.
        """
        if max_resource is None and self._about.open_ended:
            rule = "this study has no maximum, and the other scheduler needs one: give max_resource"
            raise InvalidArgumentError("max_resource", None, rule)
        return self.view.saved_versus(scheduler, workers=self._workers, max_resource=max_resource)

    def to_dataframe(self) -> Any:
        """One row per trial, as a pandas DataFrame: the leaderboard, one column per parameter."""
        try:
            pd: Any = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtraError("to_dataframe()", "pandas") from None
        return pd.DataFrame(list_trials(self.view))

    @property
    def backend(self) -> Any:
        """The backend that the study ran on."""
        return self._options.backend

    # -- phase 2 -------------------------------------------------------------------------------

    def retrain(
        self,
        train: Any,
        *,
        resource: int | None = None,
        trial: int | None = None,
        early_stop: int | None = None,
        fresh: bool = False,
        on_report: Callable[[float, float], None] | None = None,
        callbacks: Sequence[Any] = (),
        backend: Any = None,
    ) -> Retrained:
        """Train the winner from scratch to the maximum, with ``run.phase == "retrain"``.

        One that was begun and not finished, because it failed, was interrupted or was killed, is
        resumed from its last checkpoint. One that was finished is trained again, and its
        checkpoints are removed. Otherwise, if the study itself has trained the trial as far,
        nothing is trained, and the result is that of the trial (``from_trial``).

        Two checkpoints are kept: the last, and that of the best report. A
        :class:`rungwise.UsageWarning` says so if the last value is worse than tuning had seen.

        Args:
            train: the training function.
            resource: how far; the study's maximum by default, or its ceiling if it has none.
            trial: another trial than the best.
            early_stop: end it once so many units of resource have brought no better value.
            fresh: from scratch in any case, even if there is one to resume, or the study itself has
                trained the trial as far; for when the training function was changed, or does
                something else in the phase ``"retrain"``.
            on_report: called with (resource, value) after every new report.
            callbacks: called with everything that happens, as of :func:`tune`.
            backend: where it is trained, a backend or the name of one; by default on one worker of
                the backend that the study ran on.

        Raises:
            RetrainingError: it failed more often than the study's retries allow.
            StudyInterrupted: Ctrl-C or SIGTERM; what was reported is kept.
        """
        number = self.best.trial if trial is None else trial
        if not 0 <= number < self.trials:
            rule = f"the study has the trials 0 to {self.trials - 1}"
            raise InvalidArgumentError("trial", trial, rule)
        until, patience = self.find_retraining_goal(resource), check_early_stop(early_stop)
        check_function(train)  # before the file is opened
        listeners = check_callbacks("callbacks", callbacks)
        chosen = self._options.backend if backend is None else check_backend("backend", backend)
        types, durability = list_study_types(self.engine.study), self._options.durability
        with StudyFile(self.path, types=types, durability=durability) as file:
            retraining = Retraining(
                file=file,
                study=self.engine.study,
                trial=number,
                config=dict(self.view.trial(number).config),
                until=until,
                store=self._store,
                early_stop=patience,
            )
            if not fresh and not self.view.record(number).problem:
                own = retraining.find_trained(self.engine.trials[number], keep=self._options.keep)
                if own is not None:
                    return own
            found = retraining.run(
                train, chosen, self._options, fresh=fresh, on_report=on_report, callbacks=listeners
            )
            self.retrained = tuple(list_retrained(file, self._store))
        kept = self._store.trial(trial_place(number))
        worse = compare_with_tuning(
            found, self.curve(number), self.goal, lambda resource: kept.locate(at_most=resource)
        )
        if worse:
            warnings.warn(worse, UsageWarning, stacklevel=2)
        return found

    @property
    def _store(self) -> CheckpointStore:
        return self._options.store_beside(self.path)

    def find_retraining_goal(self, resource: int | None = None) -> int:
        """How far the winner is trained, unless something else is asked for."""
        if resource is not None:
            return check_resource(resource)
        maximum = self.view.recipe.max_resource
        if maximum is not None and not self._about.open_ended:
            return maximum
        ceiling = self.view.ceiling
        return math.ceil(self.max_resource if ceiling is None else ceiling)


def _read_resource(place: Path | RemoteCheckpoint | None) -> float | None:
    """How far a checkpoint was trained, by its name; None where there is none, or no name."""
    found = None if place is None else parse_name(str(place).rpartition("/")[2], Path())
    return None if found is None else found.resource
