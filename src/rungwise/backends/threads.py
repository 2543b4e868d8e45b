"""Jobs in threads of this process: not kept apart, and what they print is not kept.

A thread cannot be killed: one that does not leave in time runs on, and its messages are ignored.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from rungwise.backends.base import TICK, PreparedBackend, WorkerView, Workplace, workers_option
from rungwise.backends.children import Guard
from rungwise.backends.hardware import cores
from rungwise.backends.messages import Crashed, Ended, Message, Notice, Reported, Saved
from rungwise.backends.shipping import check_function
from rungwise.backends.unwinding import raise_in_thread
from rungwise.backends.worker import serve
from rungwise.options import check_options
from rungwise.run import Assignment, Unwound


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process: for training that releases the GIL, and for quick tests.

    Args:
        workers: number of configurations trained at the same time; "auto": one per processor.
    """

    workers: int | Literal["auto"] = workers_option("one per processor")

    def __post_init__(self) -> None:
        check_options(self)

    def prepare(self, train: Any) -> PreparedBackend:
        check_function(train)
        workers = cores() if self.workers == "auto" else self.workers
        return PreparedBackend(workers, partial(ThreadBackend, train, workers), within_process=True)

    def single(self) -> Threads:
        return Threads(1)


class _Job(threading.Thread):
    """One job in a thread of its own; it is the channel of its run, too."""

    def __init__(self, backend: ThreadBackend, assignment: Assignment) -> None:
        taken = {job.number for job in backend.jobs.values()}
        self.number: int = min(set(range(backend.workers)) - taken)
        # A daemon: it must not keep the process.
        super().__init__(name=f"rungwise-{self.number}", daemon=True)
        self.backend, self.assignment = backend, assignment
        self.job: int | None = None  # set while it can be unwound
        self.deadline: float | None = None
        self.resource, self.since = assignment.start, backend.now
        self.answers: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def run(self) -> None:
        said: Message = Ended(self.assignment.job)
        with suppress(Unwound):  # asked to leave just when it left
            said = serve(self.backend.train, self.assignment, self, self.backend.store, self)
        self.backend.messages.put(said)

    def report(self, resource: float, value: float, metrics: Mapping[str, float]) -> bool:
        self._send(Reported(self.assignment.job, resource, value, tuple(metrics.items())))
        self.resource = max(self.resource, resource)
        return self.answers.get()

    def saved(self, resource: float, size: int) -> None:
        self._send(Saved(self.assignment.job, resource, size))

    def notice(self, text: str) -> None:
        self._send(Notice(self.assignment.job, text))

    def _send(self, message: Message) -> None:
        if self.assignment.job not in self.backend.jobs:
            raise Unwound  # it was given up
        self.backend.messages.put(message)


class ThreadBackend:
    """Jobs in threads; see :class:`rungwise.backends.base.Backend`."""

    def __init__(self, train: Any, workers: int, workplace: Workplace) -> None:
        self.train, self.store, self.grace = train, workplace.store, workplace.grace
        self.workers, self.jobs = workers, dict[int, _Job]()
        self.messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._begun, self.now = time.monotonic() - workplace.since, workplace.since
        self._guard = Guard(workplace, lambda text: self.messages.put(Notice(None, text)))

    def idle(self) -> int:
        return self.workers - len(self.jobs)

    def start(self, assignment: Assignment) -> None:
        job = self.jobs[assignment.job] = _Job(self, assignment)
        job.start()

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        if job in self.jobs:
            self.jobs[job].answers.put(go_on)

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002 - the tuner keeps it
        found = self.jobs.get(job)
        if found is not None and found.deadline is None:
            found.deadline = self.now + self.grace
            if found.job is not None and found.ident is not None:
                raise_in_thread(found.ident, Unwound)
            found.answers.put(False)  # it may wait for one, where no exception reaches it

    def poll(self) -> Sequence[Message]:
        received: list[Message] = []
        try:
            found = self.messages.get(timeout=TICK)
            while True:
                if found is not None and (found.job is None or found.job in self.jobs):
                    received.append(found)
                    if isinstance(found, (Ended, Crashed)):
                        del self.jobs[found.job]
                found = self.messages.get_nowait()
        except queue.Empty:
            self.now = time.monotonic() - self._begun
        for job in [n for n, j in self.jobs.items() if j.deadline and self.now > j.deadline]:
            del self.jobs[job]
            received.append(Crashed(job, "its thread did not end when asked to"))
        return received

    def wake(self) -> None:
        self.messages.put(None)

    def views(self) -> Sequence[WorkerView]:
        views = [WorkerView(number, f"thread {number}") for number in range(self.workers)]
        for job in self.jobs.values():
            given = (job.name, job.assignment, job.resource, self.now - job.since)
            views[job.number] = WorkerView.busy(job.number, *given)
        return views

    def close(self) -> None:
        jobs, deadline = list(self.jobs.values()), time.monotonic() + self.grace
        for job in jobs:
            self.ask_to_leave(job.assignment.job, "the backend is closed")
        self.jobs.clear()
        for job in jobs:
            job.join(max(0.0, deadline - time.monotonic()))
        self._guard.close()
