"""MLflow: a run for the study, and below it one for every trial; written in batches.

MLflow itself is in a process of its own (``mlflow_store.py``): a thousand metrics take a tenth of a
second of CPU, in which a study in the same process would stand still. A run is found again by its
tags, so that a study that is resumed goes on in the same runs.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
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
from rungwise.callbacks.mlflow_store import Point
from rungwise.callbacks.remote_object import RemoteError, RemoteObject
from rungwise.callbacks.steps import StepCounter
from rungwise.packages import check_package
from rungwise.validation import real

STUDY, TRIAL, STATE = "rungwise.study", "rungwise.trial", "rungwise.state"
"""Tags: the key of the study, the number of the trial (of a trial), what became of it."""

PARENT, NAME = "mlflow.parentRunId", "mlflow.runName"

STORE = "rungwise.callbacks.mlflow_store:MLflowStore"

BATCH, PARAMS = 1000, 100
"""Values that one request may hold, by the rules of MLflow, and parameters among them."""

PERIOD, SLICE = 2.0, 0.05
"""While the study runs, requests are made once in so many seconds, and for so long in one go."""

ATTEMPTS = 3
"""How often what waits is sent when the study ends, before the user is told of a failure."""

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
        self._store: RemoteObject | None = None

    def __repr__(self) -> str:
        return f"MLflow({self._uri!r})"

    def check(self) -> None:
        """The package must be there."""
        check_package("the callback MLflow", "mlflow", extra="mlflow", at_least="2.9")

    def begin(self, study: StudyBegan) -> None:
        self.check()
        self._study = study
        self._steps = StepCounter("MLflow", self._scale, study.notice)
        self._configs: dict[int, Mapping[str, Any]] = {}
        self._waiting: dict[int | None, list[Point]] = defaultdict(list)  # None: of the study
        self._ends: dict[int, str] = {}
        self._held: dict[int, set[int]] = {}
        self._sent = time.monotonic()
        self._close()
        self._store = RemoteObject(STORE, self._find_uri(), self._experiment)
        try:
            self._parent, self._runs = self._find_runs()
        except BaseException:
            self._close()  # nothing will be called any more
            raise
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
            (_clean(name), float(value), now, step) for name, value in values.items()
        ]

    def fill(self, reports: Iterable[ReportEvent]) -> None:
        for report in reports:
            self.reported(report)

    def left(self, job: JobLeft) -> None:
        if job.state not in ("paused", "lost"):
            self._ends[job.trial] = job.state

    def ceiling(self, raised: CeilingRaised) -> None:
        now = int(time.time() * 1000)
        self._waiting[None].append(("ceiling", float(raised.level), now, raised.reports))

    def flush(self) -> None:
        now = time.monotonic()
        if now - self._sent > PERIOD:  # fewer requests hold more each
            self._sent = now
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

    def _send_all(self) -> None:
        for _ in range(ATTEMPTS - 1):
            with suppress(RemoteError):
                return self._send()
        return self._send()

    def ended(self, result: StudyEnded) -> None:
        try:
            if result.how == "ended":
                self._ends = {trial: result.trials[trial] for trial in result.trials}
            self._send_all()
            now = int(time.time() * 1000)
            points = [] if result.best is None else [("best", float(result.best), now, 0)]
            best = {"rungwise.why": result.why, "rungwise.best_trial": result.best_trial}
            if result.best_problem:
                best["rungwise.best_problem"] = result.best_problem
            tags = {name: str(value)[:5000] for name, value in best.items()}
            self._call("write", self._parent, points, None, tags)
            status = {"ended": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
            self._call("end", self._parent, status[result.how])
        finally:
            self._close()

    # -- runs ----------------------------------------------------------------------------------

    def _call(self, method: str, *arguments: Any) -> Any:
        assert self._store is not None, "the study has begun"
        return self._store.call(method, *arguments)

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _find_uri(self) -> str | None:
        """Where to; the other process does not know what was set in this one."""
        mlflow: Any = sys.modules.get("mlflow")
        if self._uri is not None or mlflow is None:
            return self._uri
        return str(mlflow.get_tracking_uri())

    def _find_runs(self) -> tuple[str, dict[int, str]]:
        """The run of the study, made if it is not there, and those of its trials."""
        parent, trials = None, {}
        for run, tags in self._call("find_runs", STUDY, self._study.key):
            if TRIAL in tags:
                trials[int(tags[TRIAL])] = run
            else:
                parent = run
        if parent is not None:
            self._call("reopen", parent)
            return parent, trials
        study = self._study
        made = self._call("create_run", {STUDY: study.key, NAME: study.name})
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
        self._call("write", made, [], _make_params(about))
        return made, trials

    def _find_steps(self, trial: int) -> set[int]:
        """The steps that the run of a trial has already."""
        if trial not in self._held:
            found: set[int] = set()
            if trial in self._found:
                found = self._call("find_steps", self._runs[trial], _clean(self._study.metric))
            self._held[trial] = found
        return self._held[trial]

    def _find_run(self, trial: int | None) -> str:
        if trial is None:
            return self._parent
        if trial not in self._runs:
            name = f"{'retrain' if self._study.phase == 'retrain' else 'trial'}-{trial:05d}"
            tags = {PARENT: self._parent, STUDY: self._study.key, TRIAL: str(trial), NAME: name}
            self._runs[trial] = self._call("create_run", tags)
            self._call("write", self._runs[trial], [], _make_params(self._configs.get(trial, {})))
        return self._runs[trial]

    def _write(self, trial: int | None) -> None:
        """Send what waits; it waits on if that fails, and sent twice it is held once."""
        run, waiting = self._find_run(trial), self._waiting[trial]
        while waiting:
            self._call("write", run, waiting[:BATCH])
            del waiting[:BATCH]

    def _end_trial(self, trial: int, state: str) -> None:
        if trial not in self._runs and trial not in self._configs:
            return
        run = self._find_run(trial)
        self._call("write", run, [], None, {STATE: state})
        self._call("end", run, "FAILED" if state == "failed" else "FINISHED")


def _make_params(values: Mapping[str, Any]) -> dict[str, str]:
    clean = [(_clean(name), str(value)[:5000]) for name, value in values.items()]
    return dict(list(dict(clean).items())[:PARAMS])


@lru_cache(maxsize=1000)
def _clean(name: str) -> str:
    """A name that MLflow takes."""
    return re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)[:LONGEST] or "_"
