"""MLflow: a run for the study, and below it one for every trial; written in batches.

Only the client is used, never the run that is active in the process, which belongs to the user. A
run is found again by its tags, so that a study that is resumed goes on in the same runs.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

from rungwise.callbacks.base import Callback
from rungwise.callbacks.events import (
    CeilingRaised,
    JobLeft,
    JobStarted,
    ReportEvent,
    StudyBegan,
    StudyEnded,
)
from rungwise.callbacks.steps import StepCounter
from rungwise.packages import check_package
from rungwise.validation import real

STUDY, TRIAL, STATE = "rungwise.study", "rungwise.trial", "rungwise.state"
"""Tags: the key of the study, the number of the trial (of a trial), what became of it."""

PARENT, NAME = "mlflow.parentRunId", "mlflow.runName"

BATCH = 1000
"""Metrics that one request may hold, by the rules of MLflow."""

SLICE = 0.05
"""Seconds that requests are made for in one go while the study runs."""

LONGEST = 250
"""Characters of a name."""


class MLflow(Callback):
    """Logs to a tracking server, or a database that MLflow reads.

    The study is a run, and every trial a child of it: metrics over the resource, the configuration
    as parameters, the ceiling and the best value. Resuming adds what is missing and nothing twice.

    Args:
        uri: where to, such as ``"sqlite:///mlflow.db"`` or ``"http://localhost:5000"``; by default
            what MLflow itself is set to.
        experiment: its name; made if it is not there.
        scale: MLflow counts steps in whole numbers: the step of a report is its resource times
            this, rounded. Give 1000 if resources are fractions.

    Example:
        >>> MLflow("sqlite:///mlflow.db")
        MLflow('sqlite:///mlflow.db')
    """

    slow: ClassVar[bool] = True

    def __init__(
        self, uri: str | None = None, experiment: str = "rungwise", scale: float = 1
    ) -> None:
        self._uri = uri
        self._experiment = str(experiment)
        self._scale = real("scale", scale)

    def __repr__(self) -> str:
        return f"MLflow({self._uri!r})"

    def check(self) -> None:
        """The package must be there."""
        check_package("the callback MLflow", "mlflow", extra="mlflow", at_least="2.9")
        import_module("mlflow.tracking")  # seconds, which a study that runs would feel

    def begin(self, study: StudyBegan) -> None:
        self.check()
        self._study = study
        self._steps = StepCounter("MLflow", self._scale, study.notice)
        self._configs: dict[int, Mapping[str, Any]] = {}
        self._waiting: dict[int | None, list[Any]] = defaultdict(list)  # None: of the study
        self._ends: dict[int, str] = {}
        self._held: dict[int, set[int]] = {}
        entities = import_module("mlflow.entities")
        self._metric, self._param, self._tag = entities.Metric, entities.Param, entities.RunTag
        with _quiet():
            self._client = import_module("mlflow.tracking").MlflowClient(self._uri)
            self._place = self._find_experiment()
        self._parent, self._runs = self._find_runs()
        self._found = set(self._runs)  # children of an earlier part of the study

    def started(self, job: JobStarted) -> None:
        self._configs[job.trial] = job.config
        self._ends.pop(job.trial, None)

    def reported(self, report: ReportEvent) -> None:
        self._configs[report.trial] = report.config
        step = self._steps.count(report.resource)
        held = self._find_steps(report.trial)
        if step in held:
            return
        held.add(step)
        values = {**report.metrics, self._study.metric: report.value}
        now = int(time.time() * 1000)
        self._waiting[report.trial] += [
            self._metric(_clean(name), float(value), now, step) for name, value in values.items()
        ]

    def fill(self, reports: Iterable[ReportEvent]) -> None:
        for report in reports:
            self.reported(report)

    def left(self, job: JobLeft) -> None:
        if job.state not in ("paused", "lost"):
            self._ends[job.trial] = job.state

    def ceiling(self, raised: CeilingRaised) -> None:
        now = int(time.time() * 1000)
        self._waiting[None].append(self._metric("ceiling", raised.level, now, raised.reports))

    def flush(self) -> None:
        self._send(seconds=SLICE)

    def _send(self, *, seconds: float = math.inf) -> None:
        """Send what waits, the trials that have waited longest first, for about so long."""
        begun = time.monotonic()
        while self._waiting and time.monotonic() - begun < seconds:
            trial = next(iter(self._waiting))
            self._write(trial)
            del self._waiting[trial]
        for trial, state in list(self._ends.items()):
            if trial not in self._waiting and time.monotonic() - begun < seconds:
                self._end_trial(trial, state)
                del self._ends[trial]

    def ended(self, result: StudyEnded) -> None:
        if result.how == "ended":
            self._ends = {trial: result.trials[trial] for trial in result.trials}
        self._send()
        now = int(time.time() * 1000)
        metrics = [] if result.best is None else [self._metric("best", result.best, now, 0)]
        best = {"rungwise.why": result.why, "rungwise.best_trial": result.best_trial}
        tags = [self._tag(name, str(value)[:5000]) for name, value in best.items()]
        self._client.log_batch(self._parent, metrics=metrics, tags=tags)
        status = {"ended": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}[result.how]
        self._client.set_terminated(self._parent, status)

    # -- runs ----------------------------------------------------------------------------------

    def _find_experiment(self) -> str:
        found = self._client.get_experiment_by_name(self._experiment)
        if found is not None:
            return str(found.experiment_id)
        return str(self._client.create_experiment(self._experiment))

    def _find_runs(self) -> tuple[str, dict[int, str]]:
        """The run of the study, made if it is not there, and those of its trials."""
        parent, trials = None, {}
        for run in self._search(f"tags.`{STUDY}` = '{self._study.key}'"):
            if TRIAL in run.data.tags:
                trials[int(run.data.tags[TRIAL])] = run.info.run_id
            else:
                parent = run.info.run_id
        if parent is not None:
            self._client.update_run(parent, status="RUNNING")
            return parent, trials
        study = self._study
        tags = {STUDY: study.key, NAME: study.name}
        made = self._client.create_run(self._place, tags=tags).info.run_id
        about = {
            "scheduler": study.scheduler,
            "searcher": study.searcher,
            "seed": study.seed,
            "metric": study.metric,
            "goal": study.goal,
            "max_resource": study.max_resource,
            "phase": study.phase,
            "study": study.path,
            **{f"space.{name}": text for name, text in study.space.items()},
        }
        self._client.log_batch(made, params=self._make_params(about))
        return made, trials

    def _search(self, words: str) -> Iterator[Any]:
        token = None
        while True:
            page = self._client.search_runs([self._place], words, max_results=500, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def _find_steps(self, trial: int) -> set[int]:
        """The steps that the run of a trial has already."""
        if trial not in self._held:
            found: set[int] = set()
            if trial in self._found:
                name = _clean(self._study.metric)
                history = self._client.get_metric_history(self._runs[trial], name)
                found = {point.step for point in history}
            self._held[trial] = found
        return self._held[trial]

    def _find_run(self, trial: int | None) -> str:
        if trial is None:
            return self._parent
        if trial not in self._runs:
            name = f"{'retrain' if self._study.phase == 'retrain' else 'trial'}-{trial:05d}"
            tags = {PARENT: self._parent, STUDY: self._study.key, TRIAL: str(trial), NAME: name}
            self._runs[trial] = self._client.create_run(self._place, tags=tags).info.run_id
            params = self._make_params(self._configs.get(trial, {}))
            self._client.log_batch(self._runs[trial], params=params)
        return self._runs[trial]

    def _make_params(self, values: Mapping[str, Any]) -> list[Any]:
        clean = {_clean(name): str(value)[:5000] for name, value in values.items()}
        return [self._param(name, value) for name, value in clean.items()][:100]

    def _write(self, trial: int | None) -> None:
        """Send what waits; it waits on if that fails, and sent twice it is held once."""
        run, waiting = self._find_run(trial), self._waiting[trial]
        while waiting:
            self._client.log_batch(run, metrics=waiting[:BATCH])
            del waiting[:BATCH]

    def _end_trial(self, trial: int, state: str) -> None:
        if trial not in self._runs and trial not in self._configs:
            return
        run = self._find_run(trial)
        self._client.set_tag(run, STATE, state)
        self._client.set_terminated(run, "FAILED" if state == "failed" else "FINISHED")


def _clean(name: str) -> str:
    """A name that MLflow takes."""
    return re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)[:LONGEST] or "_"


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what MLflow says of the tables that it makes."""
    names = ("alembic", "mlflow.store.db.utils")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    try:
        for logger, _ in before:
            logger.setLevel(logging.WARNING)
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
