"""Phase 2 of the paper: the winner is trained from scratch, to the maximum.

A retraining is a study of one trial, in the same file and through the same tuner: it survives what
any study survives, and one that was begun and not finished is resumed.
"""

from __future__ import annotations

import shlex
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rungwise.backends.base import BackendRecipe
from rungwise.callbacks.functions import ReportFunction
from rungwise.checkpoints import CheckpointStore, resource_text
from rungwise.core.decisions import StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.core.trials import State, Trial
from rungwise.errors import RetrainingError, StudyInterrupted
from rungwise.options.study_options import RunOptions
from rungwise.schedulers import EarlyStopping, FixedResource
from rungwise.session.assignments import AssignmentMaker
from rungwise.session.checkpoint_retention import trial_place
from rungwise.session.opened import OpenedStudy
from rungwise.storage.study_file import StudyFile, StudyPart, shown
from rungwise.tuning.folding import fold, fold_for_resuming
from rungwise.tuning.old_progress import read_progress
from rungwise.tuning.retrained import Retrained, find_best, make_retrained_of
from rungwise.validation import Goal, whole


@dataclass(frozen=True, slots=True)
class Retraining:
    """One configuration of a study, to be trained in full.

    Attributes:
        file: the study file, open for writing.
        study: the study that found the configuration.
        trial: its trial.
        config: the configuration.
        until: how far it is trained.
        store: where checkpoints are kept.
        early_stop: it ends once so much training has brought no better value; None: it does not.
    """

    file: StudyFile
    study: Study
    trial: int
    config: Mapping[str, Any]
    until: int
    store: CheckpointStore
    early_stop: int | None = None

    def run(
        self,
        train: Any,
        backend: BackendRecipe,
        options: RunOptions,
        *,
        fresh: bool = False,
        on_report: Callable[[float, float], None] | None = None,
        callbacks: Sequence[Any] = (),
    ) -> Retrained:
        """Train to the end; resume if it was begun before.

        Args:
            train: the training function; it sees ``run.phase == "retrain"``.
            backend: where; it runs one job.
            options: how to run it; ``trial_timeout`` is for one job of a trial, not for all of it.
            fresh: from scratch in any case.
            on_report: called with (resource, value) after every new report.
            callbacks: called with everything that happens.

        Raises:
            RetrainingError: it failed more often than the options allow.
            StudyInterrupted: after Ctrl-C or SIGTERM; everything reported is kept.
        """
        # A study that is only read starts no session.
        from rungwise.display.quiet import QuietDisplay  # noqa: PLC0415
        from rungwise.session.session import StudySession  # noqa: PLC0415
        from rungwise.tuning.parts import follow_retraining  # noqa: PLC0415
        from rungwise.tuning.running import run_session  # noqa: PLC0415

        prepared = backend.single().prepare(train)
        part = None if fresh else self._find_unfinished()
        if part is None:
            part = self._begin()
        engine, since = fold_for_resuming(part)
        opened = OpenedStudy(
            part,
            engine,
            since,
            replace(options, keep="all", keep_best=True, checkpoint_quota=None, trial_timeout=None),
            AssignmentMaker(
                metric=self.file.about.metric,
                max_resource=self.until,
                seed=self.study.seed,
                phase="retrain",
                retrained=self.trial,
                place=self._place,
                goal=self.study.goal,
            ),
        )
        listed = (*callbacks, *(() if on_report is None else (_pass_on(on_report),)))
        session = StudySession(opened, QuietDisplay(), follow_retraining(listed))
        try:
            run_session(session, prepared, drops=False, hint=lambda: self._hint(engine))
        except StudyInterrupted:
            if not self._is_complete(engine, part):
                raise
        found = describe_retraining(self.trial, part, self.store)
        if found is None:
            raise RetrainingError(self.trial, "it returned without a report", "")
        return found

    def find_trained(self, trial: Trial, *, keep: int | Literal["all"]) -> Retrained | None:
        """The trial itself, if it was trained as far by the study and nothing is to be resumed.

        Its checkpoint must be there, unless none of the study was ever saved.

        Args:
            trial: the trial, one that neither failed nor diverged.
            keep: how many leaders kept their checkpoints when the study had ended.
        """
        as_far = bool(trial.losses) and bisect_left(trial.resources, self.until) == (
            len(trial.resources) - 1
        )
        if not as_far or self._find_unfinished():
            return None
        checkpoints = self.store.trial(trial_place(self.trial))
        if checkpoints.latest(at_most=trial.resource) is None and (
            keep == 0
            or any(
                self.store.trial(place).committed()
                for place in self.store.places()
                if place.startswith("trial-")
            )
        ):
            return None
        reports = _list_reports(self.file.main, self.trial)
        return make_retrained_of(
            self.trial, trial, reports, self.study.goal, checkpoints, from_trial=True
        )

    def _as_study(self) -> Study:
        until, patience = self.until, self.early_stop
        return Study(
            FixedResource(until) if patience is None else EarlyStopping(patience, until),
            Limits(trials=1),
            goal=self.study.goal,
            initial=[self.config],
            seed=self.study.seed,
        )

    def _begin(self) -> StudyPart:
        """Begin a new one, and remove what an earlier one left."""
        self.store.trial(self._place()).evict()
        shutil.rmtree(self.file.folder / self._place(), ignore_errors=True)
        return self.file.begin_retraining(self._as_study(), self.trial)

    def _find_unfinished(self) -> StudyPart | None:
        """The last retraining of this configuration as far as this, if it has not ended."""
        wanted = self._as_study()
        for trial, part in reversed(self.file.retrainings()):
            if trial == self.trial and part.study == wanted:
                engine, _ = fold(part)
                return part if engine.ended is None else None
        entries = read_progress(
            self.file.folder / self._place() / "progress.jsonl",
            wanted,
            {"trial": self.trial, "metric": self.file.about.metric},
        )
        if not entries:
            return None
        part = self.file.begin_retraining(wanted, self.trial)
        part.extend(entries)
        return part

    def _place(self, trial: int = 0) -> str:  # noqa: ARG002 - there is one
        return _find_place(self.trial, self._as_study())

    def _is_complete(self, engine: Engine, part: StudyPart) -> bool:
        """Whether an interrupt came after the last report; if so, the retraining is ended."""
        if not engine.trials or engine.trials[0].state is not State.STOPPED or engine.open_jobs:
            return False
        _, clock = fold(part)
        event = JobRequested(clock)
        part.extend([(event, engine.handle(event))])
        return engine.ended is not None

    def _hint(self, engine: Engine) -> str:
        reached = engine.trials[0].resource if engine.trials else 0
        name = shown(self.file.path)
        early = "" if self.early_stop is None else f" --early-stop {self.early_stop}"
        return (
            f"Interrupted: trial {self.trial} was retrained to {reached:g} of {self.until}, which "
            f"is kept in {name}. Go on by calling retrain() as before, or with: rungwise retrain "
            f"{shlex.quote(name)} --trial {self.trial} --resource {self.until}{early}"
        )


def _find_place(trial: int, retraining: Study) -> str:
    """Where in a checkpoint store the retraining of a trial keeps its files."""
    recipe = retraining.scheduler
    until = recipe.max_resource
    assert until is not None
    place = f"retrain-{trial:05d}-to-{resource_text(until)}"
    return f"{place}-early-{recipe.patience}" if isinstance(recipe, EarlyStopping) else place


def _list_reports(part: StudyPart, trial: int) -> Iterator[Reported]:
    """The reports of a trial of a study."""
    jobs: set[int] = set()
    for event, decision in part.read_from():
        if isinstance(decision, StartJob) and decision.job.trial == trial:
            jobs.add(decision.job.id)
        elif isinstance(event, Reported) and event.job in jobs:
            yield event


def describe_retraining(
    trial: int, part: StudyPart, store: CheckpointStore | None
) -> Retrained | None:
    """What came of a retraining; None without a report, or while it has not ended.

    Args:
        trial: the trial that was retrained.
        part: the retraining.
        store: where its checkpoints are; None if a later one has replaced them.
    """
    engine, seconds = fold(part)
    if engine.ended is None or not engine.reports or engine.trials[0].note:
        return None
    study, (own,) = part.study, engine.trials
    recipe, patience = study.scheduler, None
    if isinstance(recipe, EarlyStopping) and own.state is State.STOPPED:
        patience = recipe.patience if own.resource < engine.jobs[-1].until else None
    checkpoints = None if store is None else store.trial(_find_place(trial, study))
    reports, more = _list_reports(part, own.id), {"seconds": seconds, "stopped_early": patience}
    return make_retrained_of(trial, own, reports, study.goal, checkpoints, **more)


def list_retrained(file: StudyFile, store: CheckpointStore) -> list[Retrained]:
    """What came of the retrainings in a study file that have ended, in order."""
    old = [Retrained(**_convert_old(found, file.main.study.goal)) for found in file.retrains()]
    parts = file.retrainings()
    newest = {_find_place(trial, part.study): part.number for trial, part in parts}
    new = [
        describe_retraining(trial, part, store if part.number in newest.values() else None)
        for trial, part in parts
    ]
    return old + [found for found in new if found is not None]


def _convert_old(document: Mapping[str, Any], goal: Goal) -> dict[str, Any]:
    """What version 0.1.0 kept of a retraining, as today's fields; it kept the last checkpoint."""
    place = None if document["checkpoint"] is None else Path(document["checkpoint"])
    curve = [(resource, value) for resource, value in document["curve"]]
    found = {**document, "curve": curve, "checkpoint": place}
    at, value = find_best(curve, goal) or (None, None)
    found |= {"best_resource": at, "best_value": value}
    if at == document["resource"]:
        found |= {"best_metrics": document["metrics"], "best_checkpoint": place}
    return found


def _pass_on(on_report: Callable[[float, float], None]) -> ReportFunction:
    return ReportFunction(lambda report: on_report(report.resource, report.value))


def check_resource(resource: Any) -> int:
    """How far to retrain."""
    return whole("resource", resource, at_least=1)


def check_early_stop(early_stop: Any) -> int | None:
    """How much training without a better value ends a retraining."""
    return None if early_stop is None else whole("early_stop", early_stop, at_least=1)
