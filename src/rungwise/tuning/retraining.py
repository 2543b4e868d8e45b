"""Phase 2 of the paper: the winner is trained from scratch, to the maximum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rungwise.backends import hardware, local
from rungwise.backends.base import Failure
from rungwise.checkpoints import TrialFolder
from rungwise.core.decisions import CONTINUE, PAUSE, Job
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported
from rungwise.errors import RetrainingError
from rungwise.tuning import functions
from rungwise.tuning.plan import Options
from rungwise.tuning.session import leg_of


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
        seconds: how long it took.
        checkpoint: the folder of the last checkpoint, None if there was none.
    """

    trial: int
    config: Mapping[str, Any]
    value: float
    resource: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    curve: list[tuple[float, float]] = field(default_factory=list)
    seconds: float = 0.0
    checkpoint: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        checkpoint = None if self.checkpoint is None else str(self.checkpoint)
        return {**asdict(self), "checkpoint": checkpoint}


class Retraining:
    """Trains one configuration in one worker.

    Args:
        train: the training function; it sees ``run.phase == "retrain"``.
        job: the configuration and how far to train.
        metric: the name of the metric.
        seed: of the study.
        folder: where checkpoints go; an empty one, since training is from scratch.
        options: how to run it.
        on_report: called with (resource, value) after every report.
    """

    def __init__(
        self,
        train: Any,
        job: Job,
        *,
        metric: str,
        seed: int,
        folder: Path,
        options: Options,
        on_report: Callable[[float, float], None] | None = None,
    ) -> None:
        functions.check(train)
        self._job = job
        self._metric = metric
        self._seed = seed
        self._folder = folder
        self._options = options
        self._on_report = on_report
        self._function = functions.pack(train)
        self._curve: list[tuple[float, float]] = []
        self._metrics: Mapping[str, float] = {}
        self._told: dict[float, Mapping[str, float]] = {}
        self._last: Failure | None = None
        self._attempts = 0

    def run(self) -> Retrained:
        """Train to the end.

        Raises:
            RetrainingError: it failed more often than the options allow.
        """
        shares = hardware.share_out(1, None)
        hooks = local.Hooks(
            leg=lambda job: leg_of(
                job,
                metric=self._metric,
                maximum=self._job.until,
                seed=self._seed,
                folder=str(self._folder.absolute()),
                phase="retrain",
            ),
            may_retry=self._may_retry,
            extras=self._extras,
        )
        options = local.Options(
            shares=shares,
            preload=self._options.preload,
            trial_timeout=self._options.trial_timeout,
            report_timeout=self._options.report_timeout,
            grace=self._options.grace,
        )
        backend = local.LocalBackend(self._function, hooks, options)
        try:
            self._train(backend)
            seconds = backend.now
        finally:
            backend.close()
        if not self._curve:
            raise RetrainingError(self._job.trial, "it returned without a report", "")
        resource, value = self._curve[-1]
        found = TrialFolder(self._folder).latest(at_most=resource)
        return Retrained(
            trial=self._job.trial,
            config=self._job.config,
            value=value,
            resource=resource,
            metrics=dict(self._metrics),
            curve=self._curve,
            seconds=seconds,
            checkpoint=None if found is None else found.path,
        )

    def _train(self, backend: local.LocalBackend) -> None:
        backend.start(self._job)
        while True:
            for fact in backend.poll():
                if isinstance(fact, Reported):
                    self._reported(fact, backend)
                elif isinstance(fact, JobLost):
                    start = self._curve[-1][0] if self._curve else 0
                    backend.start(replace(self._job, start=start))
                elif isinstance(fact, JobFailed):
                    trace = "" if self._last is None else self._last.trace or self._last.output
                    raise RetrainingError(self._job.trial, fact.reason, trace)
                elif isinstance(fact, JobEnded):
                    return

    def _reported(self, fact: Reported, backend: local.LocalBackend) -> None:
        self._attempts = 0
        self._curve.append((fact.resource, fact.value))
        self._metrics = self._told.pop(fact.resource, {})
        backend.answer(fact.job, CONTINUE if fact.resource < self._job.until else PAUSE)
        if self._on_report is not None:
            self._on_report(fact.resource, fact.value)

    def _may_retry(self, failure: Failure) -> bool:
        self._attempts += 1
        self._last = failure
        return self._attempts <= self._options.retries

    def _extras(self, job: int, resource: float, extras: Mapping[str, float]) -> None:  # noqa: ARG002
        self._told[resource] = extras
