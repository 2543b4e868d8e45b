"""Phase 2 of the paper: the winner is trained from scratch, to the maximum.

A retraining is a study of one trial, in the same file and through the same tuner: it survives what
any study survives, and one that was begun and not finished is resumed.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rungwise.backends.base import BackendRecipe
from rungwise.callbacks.functions import ReportFunction
from rungwise.checkpoints import CheckpointStore, RemoteCheckpoint, resource_text
from rungwise.core.engine import Engine
from rungwise.core.events import JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import RetrainingError, StudyInterrupted
from rungwise.options.study_options import RunOptions
from rungwise.schedulers import FixedResource
from rungwise.session.assignments import AssignmentMaker
from rungwise.session.opened import OpenedStudy
from rungwise.storage.study_file import StudyFile, StudyPart, shown
from rungwise.tuning.folding import fold, fold_for_resuming
from rungwise.tuning.old_progress import read_progress
from rungwise.validation import whole


@dataclass(frozen=True, slots=True)
class Retrained:
    """The winner, trained in full.

    Attributes:
        trial: which trial's configuration it is.
        config: the configuration.
        value: the last value of the metric.
        resource: how far it was trained.
        metrics: the other metrics of the last report (a test accuracy, for example).
        curve: [(resource, value), …].
        seconds: how long it took, in all attempts; downtimes are not counted.
        checkpoint: the folder of the last checkpoint, None if there was none.
    """

    trial: int
    config: Mapping[str, Any]
    value: float
    resource: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    curve: list[tuple[float, float]] = field(default_factory=list)
    seconds: float = 0.0
    checkpoint: Path | RemoteCheckpoint | None = None

    def __repr__(self) -> str:
        # Without the curve, which may have thousands of points.
        return (
            f"<trial {self.trial} retrained to {self.resource:g}: {self.value:g}; "
            f"{len(self.curve)} reports in {self.seconds:.1f} s>"
        )

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        checkpoint = None if self.checkpoint is None else str(self.checkpoint)
        return {**asdict(self), "checkpoint": checkpoint}


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
    """

    file: StudyFile
    study: Study
    trial: int
    config: Mapping[str, Any]
    until: int
    store: CheckpointStore

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
            replace(options, keep="all", checkpoint_quota=None, trial_timeout=None),
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

    def _as_study(self) -> Study:
        return Study(
            FixedResource(self.until),
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
        return retraining_place(self.trial, self.until)

    def _is_complete(self, engine: Engine, part: StudyPart) -> bool:
        """Whether an interrupt came after the last report; if so, the retraining is ended."""
        if not engine.trials or engine.trials[0].resource < self.until or engine.open_jobs:
            return False
        _, clock = fold(part)
        event = JobRequested(clock)
        part.extend([(event, engine.handle(event))])
        return engine.ended is not None

    def _hint(self, engine: Engine) -> str:
        reached = engine.trials[0].resource if engine.trials else 0
        name = shown(self.file.path)
        return (
            f"Interrupted: trial {self.trial} was retrained to {reached:g} of {self.until}, which "
            f"is kept in {name}. Go on by calling retrain() as before, or with: rungwise retrain "
            f"{shlex.quote(name)} --trial {self.trial} --resource {self.until}"
        )


def retraining_place(trial: int, until: float) -> str:
    """Where in a checkpoint store the retraining of a trial keeps its files."""
    return f"retrain-{trial:05d}-to-{resource_text(until)}"


def describe_retraining(trial: int, part: StudyPart, store: CheckpointStore) -> Retrained | None:
    """What came of a retraining; None without a report, or while it has not ended."""
    engine, seconds = fold(part)
    if engine.ended is None or not engine.reports or engine.trials[0].note:
        return None
    reports = [event for event, _ in part.read_from() if isinstance(event, Reported)]
    furthest = engine.trials[0]
    last = next(event for event in reports if event.resource == furthest.resource)
    sign = 1.0 if part.study.goal == "min" else -1.0
    until = part.study.scheduler.max_resource
    assert until is not None
    checkpoints = store.trial(retraining_place(trial, until))
    pairs = zip(furthest.resources, furthest.losses, strict=True)
    return Retrained(
        trial=trial,
        config=dict(furthest.config),
        value=last.value,
        resource=last.resource,
        metrics=dict(last.metrics),
        curve=[(resource, sign * loss) for resource, loss in pairs],
        seconds=seconds,
        checkpoint=checkpoints.locate(at_most=last.resource),
    )


def list_retrained(file: StudyFile, store: CheckpointStore) -> list[Retrained]:
    """What came of the retrainings in a study file that have ended, in order."""
    old = [Retrained(**_convert_old(found)) for found in file.retrains()]
    new = [describe_retraining(trial, part, store) for trial, part in file.retrainings()]
    return old + [found for found in new if found is not None]


def _convert_old(document: Mapping[str, Any]) -> dict[str, Any]:
    """What version 0.1.0 kept of a retraining, as today's fields."""
    place = document["checkpoint"]
    curve = [(resource, value) for resource, value in document["curve"]]
    return {**document, "curve": curve, "checkpoint": None if place is None else Path(place)}


def _pass_on(on_report: Callable[[float, float], None]) -> ReportFunction:
    return ReportFunction(lambda report: on_report(report.resource, report.value))


def check_resource(resource: Any) -> int:
    """How far to retrain."""
    return whole("resource", resource, at_least=1)
