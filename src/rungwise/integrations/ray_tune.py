"""PASHA and ASHA in Ray Tune, with pauses and promotions (extra ``ray-tune``).

Ray Tune asks a searcher for configurations and a scheduler for decisions, and starts whatever the
searcher proposes. So that few trials are drawn and promotions come first, the two must be parts of
one: a :class:`TuneStudy` has both. It keeps its state in a study file of its own, since Ray saves
none of a scheduler.

Law of this file: the engine hears that a job has left when Ray shows its trial paused, and not when
that was decided. Else it would promote trials that are still running.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any
from weakref import WeakValueDictionary

from rungwise.core.decisions import Wait
from rungwise.core.trials import State
from rungwise.errors import MISSING, InvalidArgumentError, MissingExtraError
from rungwise.integrations.ray_space import convert_space, split_constants
from rungwise.integrations.ray_trials import TrialIds
from rungwise.options import make_count_check
from rungwise.packages import check_package
from rungwise.tuning.ask_tell import AskTellStudy
from rungwise.tuning.asked_job import Job
from rungwise.tuning.loading import load
from rungwise.tuning.open_study import open_study
from rungwise.tuning.result import TuningResult
from rungwise.views import StudyView

check_package("rungwise.integrations.ray_tune", "ray", extra="ray-tune", at_least="2.40")

try:
    from ray.tune.experiment import Trial
    from ray.tune.schedulers import TrialScheduler
    from ray.tune.search import Searcher
except ImportError:  # ray without what ray[tune] brings
    raise MissingExtraError("rungwise.integrations.ray_tune", "ray-tune") from None

OURS = ("retries", "auto_end", "goal", "metric", "study", "space")
"""Arguments of open_study that are not passed on."""

_open: WeakValueDictionary[str, TuneStudy] = WeakValueDictionary()
"""The studies that this process has open, by their files."""


@dataclass(frozen=True, slots=True)
class _SplitSpace:
    """A search space of Ray Tune: what is the same for all trials, and what is searched."""

    constants: Mapping[str, Any]
    domains: Any

    @classmethod
    def of(cls, space: Any) -> _SplitSpace:
        constants, domains = split_constants(space)
        return cls(constants, convert_space(domains))


@dataclass(frozen=True, slots=True)
class _Opened:
    """The study while its file is open, how it is read, and how Ray calls its trials."""

    study: AskTellStudy
    view: StudyView
    ids: TrialIds


@dataclass(slots=True)
class _OpenJob:
    """A job that Ray trains: how far it has reported, and what Ray was told if it is to leave."""

    job: Job
    reached: float
    leaving: str | None = None


class TuneStudy:
    """A study that Ray Tune trains: give its parts as ``search_alg`` and ``scheduler``.

    Args:
        study: file that keeps the study. ``Tuner.restore`` continues from it, with all rungs.
        space: the search space, of rungwise or with the domains of ``ray.tune``. Constants are
            passed on to all trials.
        metric: the metric, as trials report it.
        mode: "min" or "max".
        workers: how many trials are trained at a time.
        time_attr: the entry of a report that counts what has been trained in all. Give one of your
            own, such as "epoch": ``training_iteration`` starts again from 1 where training does not
            restore it.
        options: what :func:`rungwise.open_study` takes, such as ``trials``, ``max_resource``,
            ``scheduler``, ``seed``.

    Attributes:
        searcher: for ``TuneConfig(search_alg=…)``.
        scheduler: for ``TuneConfig(scheduler=…)``.

    Example::

        pasha = TuneStudy("digits.db", space, metric="accuracy", mode="max", workers=4, trials=64)
        config = tune.TuneConfig(
            search_alg=pasha.searcher, scheduler=pasha.scheduler, num_samples=-1, reuse_actors=True
        )
        tune.Tuner(train, tune_config=config).fit()
    """

    def __init__(
        self,
        study: str | os.PathLike[str],
        space: Any,
        *,
        metric: str,
        mode: str,
        workers: int,
        time_attr: str = "training_iteration",
        **options: Any,
    ) -> None:
        given: Any = study
        if not isinstance(given, (str, os.PathLike)):
            rule = "it must be the path of a file: Ray Tune restores nothing of a scheduler itself"
            raise InvalidArgumentError("study", given, rule)
        if mode not in ("min", "max"):
            raise InvalidArgumentError("mode", mode, "it must be 'min' or 'max'")
        known = [name for name in signature(open_study).parameters if name not in OURS]
        for name in options:
            if name not in known:
                rule = f"it must be one of {', '.join(known)}"
                raise InvalidArgumentError("options", name, rule)
        self.path = os.path.abspath(study)  # noqa: PTH100 - as text
        self.metric, self.mode, self.time_attr = metric, mode, time_attr
        self.workers: int = make_count_check(1)("workers", workers)
        self.searched, self.options = _SplitSpace.of(space), options
        self.searcher, self.scheduler = TuneSearcher(self), TuneScheduler(self)
        self._begin()

    def _begin(self) -> None:
        self._opened: _Opened | None = None
        self._result: TuningResult | None = None
        self._done = False
        self._trials: dict[str, Any] = {}  # Ray's, by their ids
        self._jobs: dict[str, _OpenJob] = {}  # by the ids of their trials
        self._promoted: list[str] = []  # those that Ray is still to start again

    def __getstate__(self) -> dict[str, Any]:
        """The arguments: Ray keeps the parts of a study for Tuner.restore."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """A study that is not open."""
        vars(self).update(state)
        self._begin()

    @property
    def constants(self) -> Mapping[str, Any]:
        """What is the same for all trials."""
        return self.searched.constants

    @property
    def space(self) -> Any:
        """What is searched."""
        return self.searched.domains

    @property
    def _open_study(self) -> _Opened:
        assert self._opened is not None, "Ray has our scheduler, which opens the study"
        return self._opened

    # -- for people ----------------------------------------------------------------------------

    @property
    def result(self) -> TuningResult:
        """What came of the study so far."""
        if self._opened is not None:
            return self._opened.study.result
        return load(self.path) if self._result is None else self._result

    def close(self) -> None:
        """Close the file; jobs that are open are lost. Done by itself when the study has ended."""
        if self._opened is not None:
            study, self._opened = self._opened.study, None
            study.close()
            self._result = study.result

    # -- for the searcher ----------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether Ray has our scheduler, which opens the study."""
        return self._opened is not None or self._done

    def open(self) -> None:
        """Open the file, before Ray starts anything."""
        if self._opened is not None:
            return
        earlier = _open.get(self.path)
        if earlier is not None:  # of a Tuner in this process that was interrupted
            earlier.close()
        study = open_study(
            self.path,
            self.space,
            metric=self.metric,
            goal=self.mode,  # type: ignore[arg-type]
            retries=0,  # Ray tries again, as RunConfig(failure_config=…) says
            auto_end=False,
            **self.options,
        )
        ids = TrialIds(f"{self.path}.files")
        self._opened = _Opened(study, study.result.view, ids)
        _open[self.path] = self

    def propose(self, ray_id: str) -> dict[str, Any] | str | None:
        """A configuration for a new trial of Ray; None for none now, FINISHED for none any more."""
        self._settle()
        while not self._done and len(self._jobs) < self.workers:
            found = self._open_study.study.ask()
            if isinstance(found, Wait):
                return None
            if not isinstance(found, Job):
                self._done = True
                break
            known = self._open_study.ids.find_ray_id(found.trial)
            trial = self._trials.get(known or "")
            if trial is None:  # drawn, or Ray was killed before it had saved the trial
                self._open_study.ids.add(ray_id, found.trial)
                self._give(ray_id, found)
                return {**self.constants, **found.config}
            if trial.status in (Trial.TERMINATED, Trial.ERROR):  # it cannot be trained further
                self._open_study.study.ended(found)
                continue
            self._give(str(known), found)
            self._promoted.append(str(known))
        return str(Searcher.FINISHED) if self._done else None

    def _give(self, ray_id: str, job: Job) -> None:
        self._jobs[ray_id] = _OpenJob(job, job.start)

    # -- for the scheduler ---------------------------------------------------------------------

    def add(self, trial: Any) -> None:
        """Ray has a trial: a new one, one that it tries again, or one that it has restored."""
        ray_id = trial.trial_id
        if self._opened is None or self._opened.ids.find_number(ray_id) is None:
            rule = "the searcher of the same TuneStudy must be given as search_alg"
            raise InvalidArgumentError("scheduler", "TuneStudy.scheduler", rule)
        self._trials[ray_id] = trial
        if trial.status == Trial.PENDING and ray_id not in self._jobs:
            trial.set_status(Trial.PAUSED)  # restored: the engine says when it goes on

    def take(self, trial: Any, result: Mapping[str, Any]) -> str:
        """A trial has reported; what is to become of it."""
        ray_id = trial.trial_id
        opened = self._jobs.get(ray_id)
        if opened is None or opened.leaving is not None:
            return str(TrialScheduler.STOP) if opened is None else str(opened.leaving)
        for argument, name in (("time_attr", self.time_attr), ("metric", self.metric)):
            if name not in result:
                rule = f"trials must report it, and they report {', '.join(sorted(result))}"
                raise InvalidArgumentError(argument, name, rule)
        resource = result[self.time_attr]
        if resource <= opened.reached:  # trained again
            return str(TrialScheduler.CONTINUE)
        opened.reached = resource
        if self._open_study.study.report(opened.job, resource, result[self.metric]):
            return str(TrialScheduler.CONTINUE)
        paused = self._open_study.view.trial(opened.job.trial).state == State.PAUSING.value
        decision = str(TrialScheduler.PAUSE if paused else TrialScheduler.STOP)
        opened.leaving = decision
        return decision

    def complete(self, trial: Any, result: Mapping[str, Any] | None = None) -> None:
        """A trial has ended, or was stopped."""
        if result and self.time_attr in result and self.metric in result:
            self.take(trial, result)  # where Ray has stopped it without a word to the scheduler
        self._leave(trial.trial_id)

    def fail(self, trial: Any) -> None:
        """A trial has failed for good, or Ray tries it again."""
        opened = self._jobs.get(trial.trial_id)
        if opened is None or trial.status == Trial.ERROR:  # then it is queued again, with its job
            return
        error = None
        with suppress(Exception):  # of Ray: there may be no record of it
            error = trial.get_error()
        self._open_study.study.failed(opened.job, describe_error(error))
        self._leave(trial.trial_id)

    def choose(self, controller: Any) -> Any:
        """The trial that is to go on, the same until it does; at the end none goes on."""
        self._settle()
        if self._done:
            self._stop_paused(controller)
        while self._promoted:
            trial = self._trials[self._promoted[0]]
            if trial.status in (Trial.PAUSED, Trial.PENDING):
                return trial
            del self._promoted[0]
        return None

    def _settle(self) -> None:
        """Let the engine hear of the trials that have been paused since."""
        pausing = [each for each, job in self._jobs.items() if job.leaving == TrialScheduler.PAUSE]
        for ray_id in pausing:
            if self._trials[ray_id].status == Trial.PAUSED:
                self._leave(ray_id)

    def _leave(self, ray_id: str) -> None:
        opened = self._jobs.pop(ray_id, None)
        if opened is not None and self._opened is not None:
            self._open_study.study.ended(opened.job)

    def _stop_paused(self, controller: Any) -> None:
        for trial in list(controller.get_live_trials()):
            if trial.status in (Trial.PAUSED, Trial.PENDING) and trial.trial_id in self._trials:
                controller.stop_trial(trial)
        if not self._jobs:
            self.close()


class TuneSearcher(Searcher):  # type: ignore[misc]  # Ray's types are not read
    """What Ray asks for configurations.

    Args:
        study: the study.
    """

    def __init__(self, study: TuneStudy) -> None:
        super().__init__(metric=study.metric, mode=study.mode)
        self.study = study

    def set_search_properties(
        self,
        metric: str | None,  # noqa: ARG002 - the scheduler checks it
        mode: str | None,  # noqa: ARG002
        config: Mapping[str, Any],
        **spec: Any,  # noqa: ARG002
    ) -> bool:
        """Check the param_space of the Tuner, for which Ray calls this."""
        if split_constants(config)[1]:
            rule = "it must have no domains: TuneStudy has the space"
            raise InvalidArgumentError("param_space", config, rule)
        return True

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """Refuse it: Ray counts paused trials too, and would soon start none any more."""
        rule = "it must not be given, because Ray counts paused trials: give TuneStudy(workers=…)"
        raise InvalidArgumentError("max_concurrent_trials", max_concurrent, rule)

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """A configuration for a new trial."""
        if not self.study.is_open:
            rule = "the scheduler of the same TuneStudy must be given with its searcher"
            raise InvalidArgumentError("scheduler", MISSING, rule)
        return self.study.propose(trial_id)

    def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:  # noqa: FBT001, FBT002 - Ray's signature
        """The scheduler hears of it."""

    def save(self, checkpoint_path: str) -> None:
        """The study file has it all."""
        with open(checkpoint_path, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(self.study.path)

    def restore(self, checkpoint_path: str) -> None:
        """The study file has it all."""


class TuneScheduler(TrialScheduler):  # type: ignore[misc]  # Ray's types are not read
    """What Ray asks for decisions.

    Args:
        study: the study.
    """

    _supports_buffered_results = False  # a report is decided on before training goes on

    def __init__(self, study: TuneStudy) -> None:
        super().__init__()
        self.study = study
        self._metric = study.metric

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Check what Ray was given, and open the study: Ray starts nothing before."""
        study = self.study
        for argument, given, ours in (("metric", metric, study.metric), ("mode", mode, study.mode)):
            if given not in (None, ours):
                raise InvalidArgumentError(argument, given, f"the study was given {ours!r}")
        if not os.path.exists(study.path):  # noqa: PTH110 - else Ray may not say: it restores it
            check_samples(spec.get("num_samples", sys.maxsize))
        study.open()
        return True

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:  # noqa: ARG002
        """Take note of a trial."""
        self.study.add(trial)

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:  # noqa: ARG002
        """Take note that it has failed."""
        self.study.fail(trial)

    def on_trial_result(self, tune_controller: Any, trial: Any, result: Mapping[str, Any]) -> str:  # noqa: ARG002
        """Decide."""
        return self.study.take(trial, result)

    def on_trial_complete(
        self,
        tune_controller: Any,  # noqa: ARG002
        trial: Any,
        result: Mapping[str, Any],
    ) -> None:
        """Take note that it has ended."""
        self.study.complete(trial, result)

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:  # noqa: ARG002
        """Take note that it will not be trained."""
        self.study.complete(trial)

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        """The next trial to be resumed."""
        check_samples(getattr(tune_controller.search_alg, "total_samples", sys.maxsize))
        return self.study.choose(tune_controller)

    def debug_string(self) -> str:
        """What Ray shows in its table."""
        return f"rungwise: {self.study.result.why}"


def describe_error(error: BaseException | None) -> str:
    """An error of training in one line; Ray may not know it."""
    if error is None:
        return "Ray Tune has given it up: see error.txt in its folder"
    cause = getattr(error, "cause", None) or error
    first = str(cause).strip().partition("\n")[0]
    return f"{type(cause).__name__}: {first}"


def check_samples(number: int) -> None:
    """Ray must not end the search: it would leave promotions undone."""
    if number not in (-1, sys.maxsize):
        rule = "it must be -1 in TuneConfig: TuneStudy(trials=…) says how many there are"
        raise InvalidArgumentError("num_samples", number, rule)
