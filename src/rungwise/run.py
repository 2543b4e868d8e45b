"""What a training function holds in its hand: the run of one leg of one trial."""

from __future__ import annotations

import math
import numbers
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from rungwise.checkpoints import TrialFolder, means_full_disk, size_of
from rungwise.core.events import FURTHEST
from rungwise.errors import InvalidArgumentError, NotFiniteError, SilentTrialError

Phase = Literal["tune", "retrain"]

SILENT_FACTOR = 10
SILENT_SLACK = 1000
"""resources() gives up on a trial that is silent until SILENT_FACTOR × its goal + SILENT_SLACK."""

ROUNDING = 1e-6
"""The share of a step by which adding up fractions may miss the maximum."""


UNWIND: signal.Signals = getattr(signal, "SIGUSR2", signal.SIGTERM)
"""The signal by which a tuner ends what a worker is training."""


class Unwound(BaseException):
    """Ends a training function from within; no Exception, so that nobody catches it by chance."""


class Channel(Protocol):
    """How a run talks to the study."""

    def report(self, resource: float, value: float, extras: Mapping[str, float]) -> bool:
        """Tell a report; True when training is to go on."""
        ...

    def saved(self, resource: float, size: int) -> None:
        """Tell that a checkpoint was committed."""
        ...

    def notice(self, text: str) -> None:
        """Tell something a person should know."""
        ...


@dataclass(frozen=True, slots=True)
class Leg:
    """What is to be trained now.

    Attributes:
        job: the number of the job.
        trial: the number of the trial.
        start: the furthest resource that was reported.
        until: the rung to train to.
        max_resource: the furthest any trial may go, None when there is no such end.
        metric: the name of the metric.
        phase: ``"tune"``, or ``"retrain"`` for the winner.
        seed: a number of the trial's own, the same on every leg.
        folder: where the trial keeps its things.
        durable: whether checkpoints must survive a power failure.
    """

    job: int
    trial: int
    start: float
    until: float
    max_resource: float | None
    metric: str
    phase: Phase
    seed: int
    folder: str
    durable: bool = False


class Run:
    """The run of one leg: tells where to go on from, takes reports and checkpoints.

    Attributes:
        trial: the number of the trial.
        phase: ``"tune"``, or ``"retrain"`` when the winner is trained from scratch.
        metric: the name of the metric.
        seed: a seed of this trial's own, the same on every leg and in every rerun of the study.
        start: the resource of the last checkpoint, 0 without one.
        until: how far this leg is to train; reports there are compared with other trials.
        max_resource: the furthest any trial may go; None when open-ended.
        latest: the folder of the last checkpoint, or None.
        folder: a folder of the trial's own for anything else it writes.
        enough: whether the study has told that enough is known.
        reported: whether this leg has reported anything.

    Example::

        def train(config, run):
            model = build(config)
            if run.latest:
                model.load(run.latest / "model.bin")
            for epoch in run.resources():
                model.fit_one_epoch()
                with run.checkpoint(epoch) as folder:
                    model.save(folder / "model.bin")
                run.report(epoch, accuracy=model.evaluate())
    """

    def __init__(self, leg: Leg, channel: Channel) -> None:
        self.trial = leg.trial
        self.phase: Phase = leg.phase
        self.metric = leg.metric
        self.seed = leg.seed
        self.until: float = _plain(leg.until)
        self.max_resource = None if leg.max_resource is None else _plain(leg.max_resource)
        self.folder = Path(leg.folder)
        self.enough = False
        self._job = leg.job
        self._channel = channel
        self._files = TrialFolder(self.folder, durable=leg.durable)
        self._files.sweep()
        found = self._files.latest(at_most=leg.start)
        self.latest: Path | None = None if found is None else found.path
        self.start: float = 0 if found is None else _plain(found.resource)
        self._taken_in = leg.start  # how far the study knows this trial
        self._last: float = 0  # reported on this leg
        self.reported = False

    def __repr__(self) -> str:
        return f"<run of trial {self.trial} from {self.start:g} to {self.until:g}>"

    def resources(self, step: float = 1) -> Iterator[Any]:
        """The resources to train: start + step, start + 2·step, …, until enough is known.

        Where there is a maximum, it is the last of them, also when steps do not divide it.

        Args:
            step: how much is trained between two reports or checkpoints: 1 epoch, 100 images, …

        Raises:
            SilentTrialError: nothing was reported for far too long.
        """
        if not _is_real(step) or not 0 < step < math.inf:
            raise InvalidArgumentError("step", step, "it must be a finite number above 0")
        end = math.inf if self.max_resource is None else self.max_resource
        nearly = end - step * ROUNDING
        count, resource = 0, self.start
        while not self.enough and resource < end:
            count += 1
            resource = self.start + count * step
            # A trial that ends short of the maximum, be it by rounding, would rank last there.
            resource = end if resource > nearly else _plain(resource)
            if not self._last and resource > SILENT_FACTOR * self.until + SILENT_SLACK * step:
                raise SilentTrialError(self.metric, resource)
            yield resource

    def report(self, resource: float, /, **metrics: Any) -> bool:
        """Tell the study how good the model is after a resource.

        It returns when the study has taken the report in for good.

        Args:
            resource: how much has been trained in all (epochs, steps, rounds, images, …); it must
                grow. What the study has been told on an earlier leg is passed over.
            metrics: the metric of the study by its name, and any others to be kept beside it.

        Returns:
            Whether to train on. :meth:`resources` ends by itself when not; a loop of your own
            should end too, and is unwound at the next report if it does not.

        Raises:
            InvalidArgumentError: the metric is missing, something is not a number, or the
                resource fell.
            NotFiniteError: the metric is NaN or infinite.
        """
        if self.enough:
            raise Unwound
        resource = self._resource("resource", resource)
        if self.metric not in metrics:
            given = ", ".join(sorted(metrics)) or "nothing"
            rule = f"a report must give the study's metric, {self.metric!r}"
            raise InvalidArgumentError("report", given, rule)
        numbers_of = {name: _number(name, value) for name, value in metrics.items()}
        if resource < self._last:
            rule = f"resources must grow, and {self._last:g} was reported before"
            raise InvalidArgumentError("resource", resource, rule)
        value = numbers_of.pop(self.metric)
        if not math.isfinite(value):
            raise NotFiniteError(self.metric, value, resource)
        if resource == self._last:
            return True
        self._last, self.reported = resource, True
        self.enough = not self._channel.report(resource, value, numbers_of)
        if resource > self._taken_in:
            self._taken_in = resource
            self._files.prune(reported=resource)
        return not self.enough

    @contextmanager
    def checkpoint(self, resource: float) -> Iterator[Path]:
        """A fresh folder to save the model to.

        The checkpoint counts once the block has ended without an exception, whole or not at all.
        When the disk is full it is dropped with a notice and training goes on: the next leg then
        starts at the checkpoint before.

        Args:
            resource: how much has been trained in all.
        """
        resource = self._resource("resource", resource)
        begun = False
        try:
            with self._files.writing(resource, self._job) as folder:
                begun = True
                yield folder
                size = size_of(folder)
        except BaseException as error:
            if not means_full_disk(error, self.folder):
                raise
            self._channel.notice(
                f"trial {self.trial}: no room on the disk for its checkpoint at {resource:g} "
                f"({type(error).__name__}: {error}); it trains on without"
            )
            if not begun:  # the block is run all the same, and must have somewhere to write to
                with tempfile.TemporaryDirectory(prefix="rungwise-") as spare:
                    yield Path(spare)
            return
        self._files.prune(reported=self._taken_in)
        self._channel.saved(resource, size)

    def _resource(self, name: str, value: Any) -> float:
        number = _plain(_number(name, value))
        if not 0 < number <= FURTHEST:
            raise InvalidArgumentError(name, value, f"it must be above 0 and at most {FURTHEST}")
        return number


def _plain(number: float) -> float:
    """Whole numbers as int, so that they print and index as people expect."""
    return int(number) if float(number).is_integer() else float(number)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _number(name: str, value: Any) -> float:
    """A plain number from whatever counts as one: NumPy's and PyTorch's scalars too."""
    if type(value) is float:
        return value
    to_number: Callable[[], Any] | None = getattr(value, "item", None)
    if to_number is not None and not isinstance(value, (str, bytes)):
        try:
            value = to_number()  # an array of one number, or a scalar of a library
        except (TypeError, ValueError, RuntimeError):
            raise InvalidArgumentError(name, value, "it must be one number") from None
    if not _is_real(value):
        raise InvalidArgumentError(name, value, "it must be a number")
    try:
        number = float(value)
    except OverflowError:  # beyond all floats
        return math.inf if value > 0 else -math.inf
    return value if type(value) is int else number
