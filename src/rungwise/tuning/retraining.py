"""Phase 2 of the paper: the winner is trained from scratch, to the maximum.

::

    digits.db.files/
      retrain-00007-to-243/
        progress.jsonl                   what was reported, a line each: written before it counts
        checkpoints/, output.log         as of any trial

A retraining that was begun and not finished is gone on with from its folder, whatever ended it.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rungwise.backends import hardware, local
from rungwise.backends.base import Failure
from rungwise.checkpoints import TrialFolder, resource_text
from rungwise.core.decisions import CONTINUE, PAUSE, Job
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported
from rungwise.errors import LogUnavailableError, RetrainingError, StudyInterrupted
from rungwise.storage.study_file import StudyFile
from rungwise.study_options import RunOptions
from rungwise.tuning import functions
from rungwise.tuning.interrupts import graceful
from rungwise.tuning.session import leg_of

GONE = "gone-"
"""The beginning of the name of a folder that is being removed."""


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
    checkpoint: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        checkpoint = None if self.checkpoint is None else str(self.checkpoint)
        return {**asdict(self), "checkpoint": checkpoint}


@dataclass(frozen=True, slots=True)
class Mark:
    """A report, as a line of the progress file."""

    resource: float
    value: float
    metrics: Mapping[str, float]
    seconds: float


class Progress:
    """How far a retraining has got, in a file: what it is, its reports, and its end.

    Lines that cannot be read, a torn last one for example, are dropped with all after them: they
    were never acknowledged, and what they told is trained again.

    Args:
        folder: the folder of the retraining.
        identity: what is trained; a folder that holds something else is of no use.
        sync: whether every line must survive a power failure.

    Attributes:
        marks: the reports, in order.
        finished: whether its result was kept.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, sync: bool = False) -> None:
        self.folder = folder
        self._path = folder / "progress.jsonl"
        self._identity = json.loads(json.dumps(dict(identity)))
        self._sync = sync
        self.marks: list[Mark] = []
        self.finished = False

    @property
    def reached(self) -> float:
        """The furthest resource that was reported."""
        return self.marks[-1].resource if self.marks else 0

    @property
    def seconds(self) -> float:
        """How long it took to get there."""
        return self.marks[-1].seconds if self.marks else 0.0

    def take_up(self, *, fresh: bool) -> None:
        """Read what there is, or begin anew: if asked to, and where there is nothing to go on with.

        Args:
            fresh: begin anew in any case.
        """
        try:
            if fresh or not self._read() or self.finished:
                self._begin()
        except OSError as error:
            raise LogUnavailableError(str(self._path), str(error)) from error

    def add(self, mark: Mark) -> None:
        """Keep a report."""
        self._append(asdict(mark))
        self.marks.append(mark)

    def finish(self) -> None:
        """Keep that the result was kept: who asks again wants another."""
        self._append({"finished": True})
        self.finished = True

    def _begin(self) -> None:
        self.marks, self.finished = [], False
        # Renamed first: a folder that is half removed must not look like one to go on with.
        doomed = self.folder.with_name(GONE + self.folder.name)
        shutil.rmtree(doomed, ignore_errors=True)
        if self.folder.exists():
            self.folder.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._append(self._identity)

    def _read(self) -> bool:
        """Read the file; whether it is of this retraining."""
        try:
            first, *lines = self._path.read_bytes().splitlines(keepends=True)
        except (FileNotFoundError, ValueError):  # there is none, or nothing in it
            return False
        if _document(first) != self._identity:
            return False
        whole = len(first)
        for line in lines:
            document = _document(line)
            if document == {"finished": True}:
                self.finished = True
                return True
            mark = _mark(document, after=self.reached)
            if mark is None:
                os.truncate(self._path, whole)  # the next line must not be glued to it
                return True
            self.marks.append(mark)
            whole += len(line)
        return True

    def _append(self, document: Mapping[str, Any]) -> None:
        line = json.dumps(document).encode() + b"\n"
        try:
            with self._path.open("ab", buffering=0) as file:
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301
                if self._sync:
                    os.fsync(file.fileno())
        except OSError as error:
            raise LogUnavailableError(str(self._path), str(error)) from error


def _document(line: bytes) -> Any:
    """What a line holds; None if it is not whole."""
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None


def _mark(document: Any, *, after: float) -> Mark | None:
    try:
        mark = Mark(**document)
        sound = mark.resource > after and math.isfinite(mark.value) and mark.seconds >= 0
        return mark if sound and isinstance(mark.metrics, dict) else None
    except TypeError:
        return None


class Retraining:
    """Trains one configuration in one worker.

    Args:
        train: the training function; it sees ``run.phase == "retrain"``.
        job: the configuration and how far to train.
        file: the study, open for writing: its folder is used, and the result is kept in it.
        metric: the name of the metric.
        seed: of the study.
        options: how to run it; ``trial_timeout`` is for one leg of a trial, not for all of it.
        on_report: called with (resource, value) after every new report.
    """

    def __init__(
        self,
        train: Any,
        job: Job,
        *,
        file: StudyFile,
        metric: str,
        seed: int,
        options: RunOptions,
        on_report: Callable[[float, float], None] | None = None,
    ) -> None:
        functions.check(train)
        self._job = job
        self._file = file
        self._metric = metric
        self._seed = seed
        self._options = options
        self._on_report = on_report
        self._function = functions.pack(train)
        self._folder = file.folder / f"retrain-{job.trial:05d}-to-{resource_text(job.until)}"
        self._progress = Progress(
            self._folder,
            {"trial": job.trial, "config": dict(job.config), "metric": metric, "seed": seed},
            sync=options.durability == "full",
        )
        self._told: dict[float, Mapping[str, float]] = {}
        self._last: Failure | None = None
        self._attempts = 0
        self._interrupted = False

    def run(self, *, fresh: bool = False) -> Retrained:
        """Train to the end, from where it was left if it was begun before.

        Args:
            fresh: from scratch in any case.

        Raises:
            RetrainingError: it failed more often than the options allow.
            StudyInterrupted: after Ctrl-C or SIGTERM; everything reported is kept.
        """
        self._progress.take_up(fresh=fresh)
        seconds = self._progress.seconds
        if self._progress.reached < self._job.until:  # else it died before the result was kept
            seconds = self._work()
        if not self._progress.marks:
            raise RetrainingError(self._job.trial, "it returned without a report", "")
        found = self._result(seconds)
        self._file.note_retrain(found.to_json())
        with suppress(LogUnavailableError):  # a full disk: asked again, it is told again
            self._progress.finish()
        return found

    def _result(self, seconds: float) -> Retrained:
        last = self._progress.marks[-1]
        kept = TrialFolder(self._folder).latest(at_most=last.resource)
        return Retrained(
            trial=self._job.trial,
            config=self._job.config,
            value=last.value,
            resource=last.resource,
            metrics=dict(last.metrics),
            curve=[(mark.resource, mark.value) for mark in self._progress.marks],
            seconds=seconds,
            checkpoint=None if kept is None else kept.path,
        )

    def _work(self) -> float:
        """Train what is missing; how many seconds it has taken in all."""
        backend = local.LocalBackend(
            self._function, self._hooks(), self._worker_options(), since=self._progress.seconds
        )

        def interrupt() -> None:
            self._interrupted = True
            backend.recall()
            backend.wake()

        try:
            with graceful(interrupt):
                ended = self._train(backend)
        except KeyboardInterrupt:
            raise StudyInterrupted(self._how_to_go_on()) from None
        finally:
            seconds = backend.now
            backend.close()
        if not ended:
            raise StudyInterrupted(self._how_to_go_on())
        return seconds

    def _hooks(self) -> local.Hooks:
        return local.Hooks(
            leg=lambda job: leg_of(
                job,
                metric=self._metric,
                maximum=self._job.until,
                seed=self._seed,
                folder=str(self._folder.absolute()),
                phase="retrain",
                durable=self._options.durability == "full",
            ),
            may_retry=self._may_retry,
            extras=self._extras,
        )

    def _worker_options(self) -> local.Options:
        given = getattr(self._options.backend, "gpus_per_worker", None)
        # Whole GPUs were shared out among several workers; here is one, and it may have them all.
        share = None if given is None or given >= 1 else min(given, len(hardware.gpus()))
        return local.Options(
            shares=hardware.share_out(1, share),
            preload=getattr(self._options.backend, "preload", ()),
            report_timeout=self._options.report_timeout,
            grace=self._options.grace,
            inherit=self._file.held_open,
        )

    def _train(self, backend: local.LocalBackend) -> bool:
        """Whether it came to its end, and not to an interrupt."""
        self._start(backend)
        while True:
            for fact in backend.poll():
                if isinstance(fact, Reported):
                    self._reported(fact, backend)
                elif isinstance(fact, JobLost):
                    if self._interrupted:
                        return False
                    self._start(backend)
                elif isinstance(fact, JobFailed):
                    trace = "" if self._last is None else self._last.trace or self._last.output
                    raise RetrainingError(self._job.trial, fact.reason, trace)
                elif isinstance(fact, JobEnded):
                    return True

    def _start(self, backend: local.LocalBackend) -> None:
        backend.start(replace(self._job, start=self._progress.reached))

    def _reported(self, fact: Reported, backend: local.LocalBackend) -> None:
        metrics = self._told.pop(fact.resource, {})
        # After an interrupt, known reports come as well, so that the job can be told to leave.
        new = fact.resource > self._progress.reached
        if new:
            self._attempts = 0
            self._progress.add(Mark(fact.resource, fact.value, dict(metrics), fact.at))
        backend.answer(fact.job, CONTINUE if fact.resource < self._job.until else PAUSE)
        if new and self._on_report is not None:
            self._on_report(fact.resource, fact.value)

    def _may_retry(self, failure: Failure) -> bool:
        self._attempts += 1
        self._last = failure
        return self._attempts <= self._options.retries

    def _extras(self, job: int, resource: float, extras: Mapping[str, float]) -> None:  # noqa: ARG002
        self._told[resource] = extras

    def _how_to_go_on(self) -> str:
        job, reached = self._job, self._progress.reached
        until = resource_text(job.until)
        return (
            f"Interrupted: trial {job.trial} was retrained to {reached:g} of {job.until:g}, which "
            f"is kept in {self._folder}. Go on by calling retrain() as before, or with: "
            f"rungwise retrain {self._file.path} --trial {job.trial} --resource {until}"
        )
