"""What a backend is: a value that is opened, and then starts jobs and says what happened.

Law of this package: a backend reports facts and decides nothing. Whether a crash is retried, what
counts as progress and when a job has hung is decided in ``policy.py``, once for all backends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rungwise.backends.messages import Message
from rungwise.checkpoints import CheckpointStore
from rungwise.options import make_count_check, option
from rungwise.run import Assignment

MOST_WORKERS = 10_000
"""More workers than this cannot be meant."""

TICK = 0.25
"""Seconds after which a backend's poll() returns even if nothing has happened."""


@dataclass(frozen=True, slots=True)
class WorkerView:
    """One worker, for displays.

    Attributes:
        number: its number.
        where: where it runs, in a few words: a process, a thread, a node.
        trial: the trial it trains, None when it is idle.
        resource: the last resource reported by its job, or where the job began.
        until: how far the job may run.
        since: for how many seconds it has been at this job.
        ready: whether it can be given jobs.
        node: the machine it runs on, where there may be several.
    """

    number: int
    where: str = ""
    trial: int | None = None
    resource: float = 0.0
    until: float = 0.0
    since: float = 0.0
    ready: bool = True
    node: str = ""

    @classmethod
    def busy(
        cls,
        number: int,
        where: str,
        assignment: Assignment,
        resource: float,
        since: float,
        node: str = "",
    ) -> WorkerView:
        """A worker that has a job."""
        trial, until = assignment.trial, assignment.until
        return cls(number, where, trial, resource, until, since, node=node)


@dataclass(frozen=True, slots=True)
class Workplace:
    """What the tuner gives a backend when it is opened.

    Attributes:
        store: where checkpoints are kept.
        since: where the clock of the study stands.
        grace: seconds that a job has to leave when it is asked to.
        locks: file descriptors that must stay open until no worker is left, should the tuner be
            killed: while a process holds them, no second tuner can start.
        temporary: folders to be removed once no worker is left.
    """

    store: CheckpointStore
    since: float = 0.0
    grace: float = 5.0
    locks: Sequence[int] = ()
    temporary: Sequence[str] = ()


class Backend(Protocol):
    """Runs jobs on slots; slots may appear and vanish while it is open."""

    @property
    def now(self) -> float:
        """Seconds since the study began; it stands still between two polls.

        What is decided because of one message must not be dated after the next one of the same
        poll, or times in the log would fall.
        """
        ...

    def idle(self) -> int:
        """How many slots are ready and free now: as many jobs may be started."""
        ...

    def start(self, assignment: Assignment) -> None:
        """Run a job on a slot that is ready and free."""
        ...

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        """Answer the report of a job: whether to train on.

        A job that gets the answer False leaves, and its :class:`Ended` follows. Answers to jobs
        that are unknown or dead are ignored.
        """
        ...

    def poll(self) -> Sequence[Message]:
        """Wait for messages: what has happened since the last poll, in order.

        It may return nothing: after :meth:`wake`, after a timeout, or when nothing runs.
        """
        ...

    def ask_to_leave(self, job: int, why: str) -> None:
        """Unwind a job, whatever it is doing; force it after the workplace's grace.

        Its :class:`Ended` or :class:`Crashed` follows. Unknown and dead jobs are ignored.
        """
        ...

    def wake(self) -> None:
        """Make :meth:`poll` return; safe in any thread and in signal handlers."""
        ...

    def views(self) -> Sequence[WorkerView]:
        """The workers, for displays."""
        ...

    def close(self) -> None:
        """End everything now; jobs under way say nothing more."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedBackend:
    """A backend that was checked together with a training function, and can be opened.

    Attributes:
        workers: how many jobs may run at a time, at most.
        open: starts it.
        within_process: whether jobs run in the process of the tuner, and see its memory.
    """

    workers: int
    open: Callable[[Workplace], Backend]
    within_process: bool = False


@runtime_checkable
class BackendRecipe(Protocol):
    """A backend as a frozen value: what ``tune(backend=…)`` takes and the study file keeps."""

    def prepare(self, train: Any) -> PreparedBackend:
        """Refuse what cannot work, before anything is started or written.

        Args:
            train: the training function.
        """
        ...

    def single(self) -> BackendRecipe:
        """The same for one job at a time, which may have what was shared among several."""
        ...


def workers_option(auto: str) -> Any:
    """The option that every backend calls ``workers``.

    Args:
        auto: what ``"auto"`` means there.
    """
    return option(
        "auto",
        text=f'number of configurations trained at the same time; "auto": {auto}.',
        check=make_count_check(1, "auto", at_most=MOST_WORKERS),
        kind=int,
        words=("auto",),
    )


def make_assignment(job: Any, **more: Any) -> Assignment:
    """The assignment of a job of the engine.

    Args:
        job: a :class:`rungwise.core.decisions.Job`.
        more: what else the worker needs, see :class:`Assignment`.
    """
    config: Mapping[str, Any] = job.config
    return Assignment(job.id, job.trial, config, job.start, job.until, **more)


def make_legible(text: str, limit: int) -> str:
    """Text that any file can hold, and its last part if it is too long: the end says most."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return clean if len(clean) <= limit else "…" + clean[1 - limit :]
