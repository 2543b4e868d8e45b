"""TensorBoard: a run for every trial, without TensorFlow and without PyTorch.

Records are written by the package tensorboard alone, into one folder per trial. Each time a study
is resumed, a trial gets a further file: the last one may end in the middle of a record.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
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

OPEN_FILES = 64
"""Trials whose files are open at the same time."""

STATUS = {"failed": "STATUS_FAILURE", "running": "STATUS_RUNNING"}
"""The status of a trial in the HParams tab; of all others it is STATUS_SUCCESS."""

_numbers = itertools.count()


class TensorBoard(Callback):
    """Writes event files: scalars over the resource, and the HParams tab.

    ``tensorboard --logdir runs`` shows a folder for every study in ``runs``, with one run per
    trial. Resuming adds what is missing and nothing twice.

    Args:
        folder: where the folders of studies are made.
        scale: TensorBoard counts steps in whole numbers: the step of a report is its resource times
            this, rounded. Give 1000 if resources are fractions.

    Example:
        >>> TensorBoard("runs")
        TensorBoard('runs')
    """

    words: ClassVar[tuple[str, ...]] = ("tensorboard",)
    paths: ClassVar[tuple[str, ...]] = ("folder",)
    slow: ClassVar[bool] = True

    def __init__(self, folder: str | os.PathLike[str] = "runs", scale: float = 1) -> None:
        self._folder = Path(str(folder))
        self._scale = real("scale", scale)
        self._trials: dict[int, _TrialFolder] = {}
        self._open: OrderedDict[int, _TrialFolder] = OrderedDict()

    def __repr__(self) -> str:
        return f"TensorBoard({str(self._folder)!r})"

    def check(self) -> None:
        """The package must be there."""
        check_package(
            "the callback TensorBoard", "tensorboard", extra="tensorboard", at_least="2.12"
        )
        import_module("tensorboard.summary.writer.record_writer")  # here, not while it runs

    def begin(self, study: StudyBegan) -> None:
        self.check()
        self._study = study
        self._steps = StepCounter("TensorBoard", self._scale, study.notice)
        name = re.sub(r"[^\w.-]+", "_", study.name)[:80]
        self._root = self._folder / f"{name}-{study.key}"
        self._configs: dict[int, Mapping[str, Any]] = {}
        self._trials.clear()
        self._open.clear()
        new = not self._root.exists()
        self._root.mkdir(parents=True, exist_ok=True)
        self._events = _EventFile(self._root)
        if new:
            self._events.write(_describe_experiment(study))

    def started(self, job: JobStarted) -> None:
        self._configs[job.trial] = job.config

    def reported(self, report: ReportEvent) -> None:
        trial = self._trial(report.trial)
        if not trial.has_config:
            trial.write_config(report.config)
        step = self._steps.count(report.resource)
        if step in trial.steps:
            return
        trial.steps.add(step)
        values = {**report.metrics, self._study.metric: report.value}
        trial.file.write_scalars(step, values)

    def fill(self, reports: Iterable[ReportEvent]) -> None:
        for report in reports:
            self.reported(report)

    def left(self, job: JobLeft) -> None:
        if job.state not in ("paused", "lost"):
            trial = self._trial(job.trial)
            if not trial.has_config:  # it failed before it has reported
                trial.write_config(self._configs.get(job.trial, {}))
            trial.write_end(job.state)
        self._configs.pop(job.trial, None)
        if job.trial in self._open:
            self._open.pop(job.trial).file.close()

    def ceiling(self, raised: CeilingRaised) -> None:
        self._events.write_scalars(raised.reports, {"ceiling": raised.level})

    def flush(self) -> None:
        self._events.flush()
        for trial in self._open.values():
            trial.file.flush()

    def ended(self, result: StudyEnded) -> None:
        if result.how == "ended":
            for number in result.trials:
                if number in self._trials or self._trial_folder(number).exists():
                    self._trial(number).write_end(result.trials[number])
        for trial in self._open.values():
            trial.file.close()
        self._events.close()

    def _trial_folder(self, number: int) -> Path:
        return self._root / f"trial-{number:05d}"

    def _trial(self, number: int) -> _TrialFolder:
        if number not in self._trials:
            name = f"{self._study.key}-{number}"
            self._trials[number] = _TrialFolder(self._trial_folder(number), name, self._study)
        trial = self._trials[number]
        self._open[number] = trial
        self._open.move_to_end(number)
        if len(self._open) > OPEN_FILES:
            _, oldest = self._open.popitem(last=False)
            oldest.file.close()
        return trial


class _TrialFolder:
    """The event files of a trial."""

    def __init__(self, folder: Path, name: str, study: StudyBegan) -> None:
        self._name = name
        self.steps: set[int] = set()
        self.has_config = self._has_end = False
        for tag, step in _read_tags(folder):
            if tag == study.metric:
                self.steps.add(step)
            self.has_config |= tag == "_hparams_/session_start_info"
            self._has_end |= tag == "_hparams_/session_end_info"
        self.file = _EventFile(folder)

    def write_config(self, config: Mapping[str, Any]) -> None:
        """The configuration, for the HParams tab."""
        self.has_config = True
        hparams = import_module("tensorboard.plugins.hparams.summary_v2")
        values = {name: _to_hparam(value) for name, value in config.items()}
        self.file.write(hparams.hparams_pb(values, trial_id=self._name))

    def write_end(self, state: str) -> None:
        """What became of the trial, for the HParams tab."""
        if self._has_end:
            return
        self._has_end = True
        api, data, metadata = (
            import_module(f"tensorboard.plugins.hparams.{name}")
            for name in ("api_pb2", "plugin_data_pb2", "metadata")
        )
        status = api.Status.Value(STATUS.get(state, "STATUS_SUCCESS"))
        info = data.SessionEndInfo(status=status, end_time_secs=time.time())
        self.file.write(
            _wrap(metadata.SESSION_END_INFO_TAG, data.HParamsPluginData(session_end_info=info))
        )


class _EventFile:
    """One event file, made when something is written to it."""

    def __init__(self, folder: Path) -> None:
        # The newest has the last name; TensorBoard reads them in this order.
        name = f"{time.time():018.6f}.{os.uname().nodename}.{os.getpid()}.{next(_numbers)}"
        self._path = folder / f"events.out.tfevents.{name}"
        self._event = import_module("tensorboard.compat.proto.event_pb2").Event
        self._summary = import_module("tensorboard.compat.proto.summary_pb2").Summary
        self._records = import_module("tensorboard.summary.writer.record_writer").RecordWriter
        self._writer: Any = None

    def write_scalars(self, step: int, values: Mapping[str, float]) -> None:
        """One point of several curves."""
        kind = self._summary.Value
        pairs = [kind(tag=tag, simple_value=value) for tag, value in values.items()]
        self.write(self._summary(value=pairs), step)

    def write(self, summary: Any, step: int = 0) -> None:
        """Append a record."""
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = not self._path.exists()
            self._writer = self._records(self._path.open("ab"))
            if new:
                self._append(self._event(wall_time=time.time(), file_version="brain.Event:2"))
        self._append(self._event(wall_time=time.time(), step=step, summary=summary))

    def _append(self, event: Any) -> None:
        self._writer.write(event.SerializeToString())

    def flush(self) -> None:
        """Let others see what was written."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Close the file; it is opened again when more is written."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _describe_experiment(study: StudyBegan) -> Any:
    """The columns of the HParams tab."""
    hparams = import_module("tensorboard.plugins.hparams.summary_v2")
    return hparams.hparams_config_pb(
        [hparams.HParam(name, description=text) for name, text in study.space.items()],
        [hparams.Metric(study.metric)],
    )


def _wrap(tag: str, content: Any) -> Any:
    metadata = import_module("tensorboard.plugins.hparams.metadata")
    summary = import_module("tensorboard.compat.proto.summary_pb2").Summary()
    about = metadata.create_summary_metadata(content)
    summary.value.add(tag=tag, metadata=about, tensor=metadata.NULL_TENSOR)
    return summary


def _to_hparam(value: Any) -> bool | float | str:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _read_tags(folder: Path) -> Iterator[tuple[str, int]]:
    """(tag, step) of everything in the event files of a folder, as far as they are whole."""
    loader = import_module("tensorboard.backend.event_processing.event_file_loader")
    event = import_module("tensorboard.compat.proto.event_pb2").Event
    for path in sorted(folder.glob("events.out.tfevents.*")):
        for data in loader.RawEventFileLoader(str(path)).Load():
            found = event.FromString(data)
            yield from ((value.tag, found.step) for value in found.summary.value)
