"""The ``run`` object passed to the training function, and the assignment it is made from."""

from __future__ import annotations

import math
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rungwise.checkpoints import CheckpointStore, means_full_disk, measure_folder
from rungwise.core.events import FURTHEST
from rungwise.errors import (
    InvalidArgumentError,
    NotFiniteError,
    ShareError,
    SilentTrialError,
    StoreUnavailableError,
)
from rungwise.validation import is_real, read_number

if TYPE_CHECKING:
    from rungwise.sharing import ShareClient, ShareServer

Phase = Literal["tune", "retrain"]

SILENT_FACTOR = 10
SILENT_SLACK = 1000
"""resources() gives up when nothing is reported up to SILENT_FACTOR × its goal + SILENT_SLACK."""

ROUNDING = 1e-6
"""The share of a step by which adding up fractions may miss the maximum."""


class Unwound(BaseException):
    """Ends a training function from within; ``except Exception`` does not catch it by chance."""


class Channel(Protocol):
    """How a run talks to the study."""

    def report(self, resource: float, value: float, metrics: Mapping[str, float]) -> bool:
        """Send a report with the other metrics; True when training is to continue."""
        ...

    def saved(self, resource: float, size: int) -> None:
        """Send that a checkpoint was committed."""
        ...

    def notice(self, text: str) -> None:
        """Send something a person should know."""
        ...


@dataclass(frozen=True, slots=True)
class Assignment:
    """A job, and all that a worker needs to run it: plain data, without a local path.

    Attributes:
        job: the number of the job.
        trial: the number of the trial.
        config: its configuration.
        start: the furthest resource that was reported.
        until: the rung to train to.
        max_resource: the furthest any trial may go, None when there is no such end.
        metric: the name of the metric.
        phase: ``"tune"``, or ``"retrain"`` for the winner.
        seed: a number of the trial's own, the same for every job of the trial.
        place: where in the checkpoint store the trial keeps its files.
        goal: ``"min"`` or ``"max"``; None where it is not known.
    """

    job: int
    trial: int
    config: Mapping[str, Any]
    start: float
    until: float
    max_resource: float | None = None
    metric: str = "loss"
    phase: Phase = "tune"
    seed: int = 0
    place: str = ""
    goal: Literal["min", "max"] | None = None


class Run:
    """One job of one trial: says where to continue from, takes reports and checkpoints.

    Attributes:
        start: the resource of the last checkpoint, 0 without one.
        latest: the folder of the last checkpoint, or None.
        folder: a folder of the trial's own for anything else it writes.
        enough: whether the study has answered that enough is known.
        reported: whether this job has reported anything.

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

    def __init__(self, assignment: Assignment, channel: Channel, store: CheckpointStore) -> None:
        self._set_up(assignment, channel, store)
        self.folder = self._checkpoints.folder
        found = self._checkpoints.latest(at_most=assignment.start)
        self.latest: Path | None = None if found is None else self._checkpoints.fetch(found)
        self.start: float = 0 if found is None else _plain(found.resource)
        self._server: ShareServer | None = None

    def _set_up(self, assignment: Assignment, channel: Channel, store: CheckpointStore) -> None:
        self.enough = False
        self._assignment = assignment
        self._channel = channel
        self._store = store
        self._checkpoints = store.trial(assignment.place)
        self._last: float = 0  # reported by this job
        self._turn = threading.Lock()  # a report and its answer belong together
        self._process = os.getpid()
        self.reported = False

    @property
    def trial(self) -> int:
        """The number of the trial."""
        return self._assignment.trial

    @property
    def phase(self) -> Phase:
        """``"tune"``, or ``"retrain"`` when the winner is trained from scratch."""
        return self._assignment.phase

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self._assignment.metric

    @property
    def goal(self) -> Literal["min", "max"] | None:
        """``"min"`` or ``"max"``; None where it is not known."""
        return self._assignment.goal

    @property
    def seed(self) -> int:
        """A seed of this trial's own: the same for all its jobs, in every rerun of the study."""
        return self._assignment.seed

    @property
    def until(self) -> float:
        """How far this job is to train; reports there are compared with other trials."""
        return _plain(self._assignment.until)

    @property
    def max_resource(self) -> float | None:
        """The furthest any trial may go; None when open-ended."""
        maximum = self._assignment.max_resource
        return None if maximum is None else _plain(maximum)

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
        if not is_real(step) or not 0 < step < math.inf:
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
        """Report to the study how good the model is after a resource.

        It returns when the report is in the study's log.

        Args:
            resource: how much has been trained in all (epochs, steps, rounds, images, …); it must
                grow. What an earlier job of the trial has reported is not counted again.
            metrics: the metric of the study by its name, and any others to be kept beside it.

        Returns:
            Whether to train on. If not, :meth:`resources` ends by itself; a loop of your own
            should end too, and if it does not, its next report unwinds the function.

        Raises:
            InvalidArgumentError: the metric is missing, something is not a number, or the
                resource fell.
            NotFiniteError: the metric is NaN or infinite.
        """
        self._must_be_here("run.report")
        if self.enough:
            raise Unwound
        resource = read_resource("resource", resource)
        if self.metric not in metrics:
            given = ", ".join(sorted(metrics)) or "nothing"
            rule = f"a report must give the study's metric, {self.metric!r}"
            raise InvalidArgumentError("report", given, rule)
        numbers_of = {name: read_number(name, value) for name, value in metrics.items()}
        if resource < self._last:
            rule = f"resources must grow, and {self._last:g} was reported before"
            raise InvalidArgumentError("resource", resource, rule)
        value = numbers_of.pop(self.metric)
        if not math.isfinite(value):
            raise NotFiniteError(self.metric, value, resource)
        self._send(resource, value, numbers_of)
        return not self.enough

    def take_answer(self, resource: float, *, go_on: bool) -> None:
        """Take the answer to a report that another process of the job has made.

        For the ranks of a distributed training that do not report: :meth:`resources` ends for them
        in the same step.

        Args:
            resource: what was reported.
            go_on: what rank 0 was answered.
        """
        self._last, self.reported = read_resource("resource", resource), True
        self.enough = not go_on

    def _send(self, resource: float, value: float, metrics: Mapping[str, float]) -> None:
        self._last, self.reported = resource, True
        with self._turn:
            self.enough = not self._channel.report(resource, value, metrics)

    @contextmanager
    def checkpoint(self, resource: float) -> Iterator[Path]:
        """A fresh folder to save the model to.

        The checkpoint counts once the block has ended without an exception, whole or not at all.
        When the disk is full, or a storage behind an address cannot be reached for half a minute,
        it is dropped with a notice and training continues: the next job of the trial then starts
        at the checkpoint before.

        Args:
            resource: how much has been trained in all.
        """
        self._must_be_here("run.checkpoint")
        resource = read_resource("resource", resource)
        begun = False
        try:
            with self._checkpoints.writing(resource, self._assignment.job) as folder:
                begun = True
                yield folder
                size = measure_folder(folder)
        except BaseException as error:
            away = isinstance(error, StoreUnavailableError)
            if not away and not means_full_disk(error, self.folder):
                raise
            why = "the checkpoints cannot be reached" if away else "the disk is full"
            self._channel.notice(
                f"trial {self.trial}: {why}: the checkpoint at {resource:g} was not "
                f"saved ({type(error).__name__}: {error}); training continues"
            )
            if not begun:  # the block still runs, and needs a folder to write to
                with tempfile.TemporaryDirectory(prefix="rungwise-") as spare:
                    yield Path(spare)
            return
        self._channel.saved(resource, size)

    def share(self) -> SharedRun:
        """The same run for child processes: give it to them as an argument.

        For training that spreads over several processes (``torch.multiprocessing.spawn``,
        Lightning's ``ddp_spawn``, ``multiprocessing``, by fork or by spawn). One process, usually
        rank 0, calls ``report`` and ``checkpoint``; it gives the answer to the others, so that
        all leave the loop in the same step.

        Returns:
            A run that can be pickled. It is of use on this machine, as long as this job runs;
            processes that ``multiprocessing`` has started since are ended when the job is unwound.

        Example::

            def train(config, run):
                torch.multiprocessing.spawn(train_rank, (config, run.share()), nprocs=2)

            def train_rank(rank, config, run):
                ...                                   # init_process_group, DistributedDataParallel
                for epoch in run.resources():
                    loss = train_one_epoch()
                    go_on = torch.ones(1)
                    if rank == 0:
                        go_on[0] = run.report(epoch, loss=loss)
                    torch.distributed.broadcast(go_on, src=0)
                    if not go_on:
                        break
        """
        from rungwise.sharing import ShareClient, ShareServer  # noqa: PLC0415 - slow, and few need it

        self._must_be_here("run.share")
        if self._server is None:
            alone = threading.current_thread() is threading.main_thread()
            self._server = ShareServer(self._relay, own_children=alone)
        server = self._server
        client = ShareClient(server.address, server.token)
        return SharedRun(client, self._assignment, self._store, self.latest, self.start)

    def close(self, *, unwound: bool = False) -> None:
        """The job has left: child processes that share it get no answers any more.

        Args:
            unwound: whether it left before its end, so that they may still be training.
        """
        if os.getpid() != self._process:  # a child of it, which has returned from the function
            return
        if self._server is not None:
            self._server.close(end_children=unwound)
            with self._turn:  # the answer to a report that is under way belongs to this job
                self._server = None
        self._checkpoints.release()

    def _relay(self, request: list[Any]) -> bool | None:
        """Do what a child process asks for."""
        kind, *rest = request
        if kind == "saved":
            self._channel.saved(*rest)
        elif kind == "notice":
            self._channel.notice(*rest)
        elif self.enough:
            raise Unwound
        elif rest[0] < self._last:
            rule = f"resources must grow, and {self._last:g} was reported before"
            raise ShareError(f"the report at {rest[0]:g} is refused: {rule}")
        else:
            self._send(*rest)
            return not self.enough
        return None

    def _must_be_here(self, what: str) -> None:
        if os.getpid() != self._process:
            raise ShareError(
                f"{what}() was called in process {os.getpid()}, a child of process "
                f"{self._process}, which alone is connected to the study: give the child "
                f"shared = run.share(), and call the methods of that"
            )

    def __reduce__(self) -> Any:
        raise ShareError(
            "a run cannot be sent to another process: give that run.share() as its argument "
            "instead, and call the methods of that"
        )


class SharedRun(Run):
    """A run for child processes, see :meth:`Run.share`.

    It has everything that a :class:`Run` has, and can be pickled. ``enough`` and ``reported`` are
    known in the process that has reported.
    """

    def __init__(
        self,
        client: ShareClient,
        assignment: Assignment,
        store: CheckpointStore,
        latest: Path | None,
        start: float,
    ) -> None:
        self._set_up(assignment, _SharedChannel(client), store)
        self._client = client
        self.folder = self._checkpoints.folder
        self.latest, self.start = latest, start

    def share(self) -> SharedRun:
        """It is shared already."""
        return self

    def __reduce__(self) -> Any:
        given = (self._client.address, self._client.token)
        return _open_shared, (*given, self._assignment, self._store, self.latest, self.start)

    def _must_be_here(self, what: str) -> None:
        """It may be anywhere."""


def _open_shared(address: Any, token: bytes, *rest: Any) -> SharedRun:
    from rungwise.sharing import ShareClient  # noqa: PLC0415 - slow, and few need it

    return SharedRun(ShareClient(address, token), *rest)


class _SharedChannel:
    """How a child process talks to the study: through the process that runs its job."""

    def __init__(self, client: ShareClient) -> None:
        self._client = client

    def report(self, resource: float, value: float, metrics: Mapping[str, float]) -> bool:
        return bool(self._ask("report", resource, value, metrics))

    def saved(self, resource: float, size: int) -> None:
        self._ask("saved", resource, size)

    def notice(self, text: str) -> None:
        self._ask("notice", text)

    def _ask(self, *request: Any) -> Any:
        from rungwise.sharing import JobLeftError  # noqa: PLC0415 - slow, and few need it

        try:
            return self._client.ask(*request)
        except JobLeftError:
            raise Unwound("the job has left: it was asked to, or has ended") from None


def _plain(number: float) -> float:
    """Whole numbers as int, so that they print and index as people expect."""
    return int(number) if float(number).is_integer() else float(number)


def read_resource(name: str, value: Any) -> float:
    """A resource that a report may name."""
    number = _plain(read_number(name, value))
    if not 0 < number <= FURTHEST:
        hint = "; count from 1, as in run.report(epoch + 1, …)" if number == 0 else ""
        rule = f"it must be above 0 and at most {FURTHEST}{hint}"
        raise InvalidArgumentError(name, value, rule)
    return number
