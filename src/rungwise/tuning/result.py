"""What came of a study."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rungwise import counterfactual, views
from rungwise.backends.base import Failure
from rungwise.core.decisions import Job
from rungwise.core.engine import Engine
from rungwise.errors import InvalidArgumentError, MissingExtraError, NothingFoundError
from rungwise.storage.documents import types_of
from rungwise.storage.study_file import About, StudyFile, files_of
from rungwise.study_options import RunOptions
from rungwise.tuning import functions
from rungwise.tuning.exports import trials_of
from rungwise.tuning.retraining import Retrained, Retraining
from rungwise.tuning.upkeep import trial_folder


@dataclass(frozen=True, slots=True)
class BestTrial:
    """The best configuration found.

    Attributes:
        trial: its number.
        config: the configuration.
        value: its best value.
        resource: where that value was reported.
        checkpoint: the folder of its last checkpoint, if that was kept.
    """

    trial: int
    config: Mapping[str, Any]
    value: float
    resource: float
    checkpoint: Path | None


class TuningResult:
    """What came of a study; everything in it can be had again with ``rungwise.load(path)``.

    Attributes:
        path: the study file.
        metric: the name of the metric.
        goal: ``"min"`` or ``"max"``.
        seconds: how long the study has taken, downtimes not counted.
        failures: what failed, in order, retried or not.
        engine: the whole story, for reading.
    """

    def __init__(
        self,
        engine: Engine,
        path: Path,
        about: About,
        *,
        seconds: float,
        failures: Sequence[Failure] = (),
        options: RunOptions | None = None,
        workers: int = 1,
    ) -> None:
        self.engine = engine
        self.path = path
        self.metric = about.metric
        self.goal = engine.study.goal
        self.seconds = seconds
        self.failures = tuple(failures)
        self._about = about
        self._options = RunOptions() if options is None else options
        self._workers = workers

    def __repr__(self) -> str:
        best = "nothing yet" if self.engine.best is None else f"{self.metric}={self.best.value:g}"
        return f"<result of {len(self.engine.trials)} trials: {best}; {self.path}>"

    # -- what was found ------------------------------------------------------------------------

    @property
    def best(self) -> BestTrial:
        """The best configuration.

        Raises:
            NothingFoundError: no trial has reported a finite value.
        """
        found, value = self.engine.best, self.engine.best_value
        if found is None or value is None:
            raise NothingFoundError(str(self.path), [failure.reason for failure in self.failures])
        kept = trial_folder(files_of(self.path), found.id).latest(at_most=found.resource)
        place = None if kept is None else kept.path
        return BestTrial(found.id, dict(found.config), value, self.engine.best_resource, place)

    @property
    def why(self) -> str:
        """Why the study ended and why the ceiling stands where it stands."""
        return self.engine.why()

    @property
    def ended(self) -> bool:
        """Whether the study is over."""
        return self.engine.ended is not None

    @property
    def trials(self) -> int:
        """How many configurations were drawn."""
        return len(self.engine.trials)

    @property
    def reports(self) -> int:
        """How many reports brought something new."""
        return self.engine.reports

    @property
    def resource_spent(self) -> float:
        """The resource trained in total, as far as it was reported."""
        return self.engine.spent

    @property
    def max_resource(self) -> float:
        """How far the furthest configuration was trained."""
        return max((trial.resource for trial in self.engine.trials), default=0)

    @property
    def ceilings(self) -> list[tuple[int, float]]:
        """[(number of reports so far, level), …], from the first ceiling on."""
        return list(self.engine.scheduler.ceilings)

    def leaderboard(self, limit: int | None = 10) -> list[views.Row]:
        """The trials, best first.

        Args:
            limit: how many; None for all.
        """
        return views.leaderboard(self.engine, limit)

    def curve(self, trial: int) -> list[tuple[float, float]]:
        """[(resource, value), …] of a trial."""
        return views.curve(self.engine.trials[trial], self.goal)

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
            rule = "this study has no maximum, but others need one: say how far they would train"
            raise InvalidArgumentError("max_resource", None, rule)
        return counterfactual.saving(
            self.engine, scheduler, workers=self._workers, max_resource=max_resource
        )

    def to_dataframe(self) -> Any:
        """One row a trial, as a pandas DataFrame: the leaderboard with a column a parameter."""
        try:
            pd: Any = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtraError("to_dataframe()", "pandas") from None
        return pd.DataFrame(trials_of(self.engine))

    # -- phase 2 -------------------------------------------------------------------------------

    def retrain(
        self,
        train: Any,
        *,
        resource: int | None = None,
        trial: int | None = None,
        fresh: bool = False,
        on_report: Callable[[float, float], None] | None = None,
    ) -> Retrained:
        """Train the winner from scratch to the maximum, with ``run.phase == "retrain"``.

        One that was begun and not finished, because it failed, was interrupted or was killed, is
        gone on with from its last checkpoint. One that was finished is trained anew, and what it
        left is removed.

        Args:
            train: the training function.
            resource: how far; the study's maximum by default, or where the ceiling stands if it
                has none.
            trial: another trial than the best.
            fresh: from scratch, even if there is one to go on with; for when the training
                function was changed.
            on_report: called with (resource, value) after every new report.

        Raises:
            RetrainingError: it failed more often than the study's retries allow.
            StudyInterrupted: Ctrl-C or SIGTERM; what was reported is kept.
        """
        number = self.best.trial if trial is None else trial
        if not 0 <= number < len(self.engine.trials):
            rule = f"the study has the trials 0 to {len(self.engine.trials) - 1}"
            raise InvalidArgumentError("trial", trial, rule)
        until = self.goal_of_retraining(resource)
        functions.check(train)  # before there is a folder
        with StudyFile(self.path, types=types_of(self.engine.study)) as file:
            return Retraining(
                train,
                Job(0, number, dict(self.engine.trials[number].config), 0, until),
                file=file,
                metric=self.metric,
                seed=self.engine.study.seed,
                options=self._options,
                on_report=on_report,
            ).run(fresh=fresh)

    def goal_of_retraining(self, resource: int | None = None) -> float:
        """How far the winner is trained, unless something else is asked for."""
        if resource is not None:
            if not resource > 0:
                raise InvalidArgumentError("resource", resource, "it must be above 0")
            return resource
        maximum = self.engine.study.scheduler.max_resource
        if maximum is not None and not self._about.open_ended:
            return maximum
        ceiling = views.ceiling(self.engine)
        return self.max_resource if ceiling is None else ceiling
