"""Jobs on workers that talk over sockets, wherever a launcher has started them.

One thread, one loop: sockets, output and deadlines are handled in :meth:`WorkerBackend.poll`. A
worker that dies is replaced. What a job does to its worker never harms the study: it becomes a
message.
"""

from __future__ import annotations

import os
import selectors
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from rungwise.backends.base import TICK, WorkerView, Workplace
from rungwise.backends.connection import CHUNK, Connection
from rungwise.backends.launchers import Handle, Launcher
from rungwise.backends.messages import (
    Crashed,
    Ended,
    Fault,
    Message,
    Notice,
    Printed,
    Reported,
    Saved,
)
from rungwise.errors import WorkerStartError
from rungwise.run import Assignment

START_LIMIT = 60.0
"""Seconds after which a worker that is still not ready is reported."""

FAILED_STARTS = 3
"""The study gives up when this many deaths per worker followed each other, all before ready."""

PAUSES = (0.0, 0.25, 1.0, 4.0, 15.0, 60.0)
"""Seconds before a worker is replaced that died idle, by how many died so before it in its slot."""

TAIL = 16 * 1024
"""How many of the last bytes that a job printed are kept, for the record of its failure."""


class Worker:
    """A slot and the worker in it.

    Args:
        number: the slot.
        handle: the worker.
        launched: when it was launched.

    Attributes:
        connection: the connection to it, None until it has connected.
        assignment: its job, None when idle.
        accepted: whether it has said that it received the job.
        started: when it was given the job.
        resource: the last that its job has reported.
        ready: whether it has loaded the training function.
        deadline: when it is killed, if its job has not left before.
        tail: the last of what it printed.
    """

    def __init__(self, number: int, handle: Handle, launched: float) -> None:
        self.number = number
        self.handle = handle
        self.connection: Connection | None = None
        self.assignment: Assignment | None = None
        self.accepted = False
        self.started = self.launched = launched
        self.resource: float = 0
        self.ready = self.late = False
        self.deadline: float | None = None
        self.tail = bytearray()

    @property
    def free(self) -> bool:
        """Whether it can be given a job now."""
        connected = self.connection is not None and not self.connection.broken
        return self.ready and connected and self.assignment is None

    def read_output(self) -> bytes | None:
        """Read what it has printed, so that it can print more; None when it has closed that."""
        if self.handle.output is None:
            return b""
        try:
            read = os.read(self.handle.output, CHUNK)
        except OSError:  # nothing there
            return b""
        self.tail += read
        del self.tail[:-TAIL]
        return read or None

    def close_output(self) -> None:
        """Close it: nothing more will come."""
        if self.handle.output is not None:
            os.close(self.handle.output)
            self.handle.output = None

    def view(self, now: float) -> WorkerView:
        """What displays show of it."""
        where, since = self.handle.where, now - self.started
        if self.assignment is None:
            return WorkerView(self.number, where, ready=self.ready)
        return WorkerView.busy(self.number, where, self.assignment, self.resource, since)


class WorkerBackend:
    """Workers that a launcher starts.

    Args:
        launcher: starts them.
        workers: how many.
        setup: their first message; the function follows it.
        function: the training function, pickled.
        workplace: what the tuner gives.
    """

    def __init__(
        self,
        launcher: Callable[[Callable[[str], None]], Launcher],
        workers: int,
        *,
        setup: Mapping[str, Any],
        function: bytes,
        workplace: Workplace,
    ) -> None:
        self._size = workers
        self._grace = workplace.grace
        self._begun = time.monotonic() - workplace.since
        self._now = workplace.since
        self._function = function
        self._setup = {**setup, "store": workplace.store.to_json(), "function": len(function)}
        self._failed_starts = 0
        self._idle_deaths: Counter[int] = Counter()  # by slot, since it last had a job
        self._due: dict[int, float] = {}  # when an empty slot gets its next worker
        self._messages: list[Message] = []
        self._workers: list[Worker] = []
        self._by_job: dict[int, Worker] = {}
        self._checked = 0.0
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = os.pipe()
        os.set_blocking(self._woken, False)
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._launcher = launcher(lambda text: self._messages.append(Notice(None, text)))
        if self._launcher.arrivals is not None:
            self._selector.register(self._launcher.arrivals, selectors.EVENT_READ, None)
        try:
            for number in range(workers):
                self._workers.append(self._launch(number))
        except BaseException:
            self.close()
            raise

    # -- the backend ---------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self._now

    def idle(self) -> int:
        return sum(worker.free for worker in self._workers)

    def start(self, assignment: Assignment) -> None:
        worker = next(worker for worker in self._workers if worker.free)
        self._read_output(worker)
        worker.tail.clear()
        worker.assignment, worker.accepted = assignment, False
        worker.resource = assignment.start
        worker.started = self._now
        self._by_job[assignment.job] = worker
        self._send(worker, {"start": asdict(assignment)})

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        worker = self._by_job.get(job)
        if worker is not None:  # else it died before the answer was decided
            self._send(worker, go_on)

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002 - the tuner keeps it
        worker = self._by_job.get(job)
        if worker is not None and worker.deadline is None:
            worker.deadline = self._now + self._grace
            self._send(worker, {"leave": job})
            worker.handle.nudge()

    def poll(self) -> Sequence[Message]:
        self._read_clock()
        ready = self._selector.select(self._longest_wait())
        self._read_clock()
        for key, events in ready:
            if key.data is None:
                self._handle_wake(key.fd)
            elif key.data[0] in self._workers:  # else it was removed in this very poll
                self._attend(key, events)
        if self._due:
            self._launch_due()
        if self._now - self._checked >= TICK or any(w.deadline is not None for w in self._workers):
            self._checked = self._now
            for worker in list(self._workers):
                self._check_worker(worker)
        said, self._messages = self._messages, []
        return said

    def _attend(self, key: selectors.SelectorKey, events: int) -> None:
        """Read from a worker, or send it what waits."""
        worker, is_socket = key.data
        if not is_socket:
            if not self._read_output(worker):
                self._selector.unregister(key.fileobj)  # it has closed its output
            return
        if events & selectors.EVENT_WRITE:
            self._flush(worker, worker.connection)
        if events & selectors.EVENT_READ:
            self._receive(worker, worker.connection)

    def _handle_wake(self, descriptor: int) -> None:
        if descriptor == self._wake:
            os.read(self._wake, 1024)
            return
        self._launcher.accept()
        for worker in self._workers:
            self._connect(worker)

    def wake(self) -> None:
        with suppress(BlockingIOError):  # full: it is being woken already
            os.write(self._woken, b"!")

    def views(self) -> Sequence[WorkerView]:
        empty = [WorkerView(number, "being replaced", ready=False) for number in self._due]
        here = [worker.view(self._now) for worker in self._workers]
        return sorted(here + empty, key=lambda view: view.number)

    def close(self) -> None:
        for worker in self._workers:
            worker.handle.kill()
        for worker in self._workers:
            self._unregister(worker)
            worker.handle.reap()
            worker.close_output()
        self._workers.clear()
        self._due.clear()
        self._by_job.clear()
        self._launcher.close()
        self._selector.close()
        os.close(self._wake)
        os.close(self._woken)

    # -- workers -------------------------------------------------------------------------------

    def _launch(self, number: int) -> Worker:
        worker = Worker(number, self._launcher.launch(number), self._now)
        if worker.handle.output is not None:
            self._selector.register(worker.handle.output, selectors.EVENT_READ, (worker, False))
        self._connect(worker)
        return worker

    def _connect(self, worker: Worker) -> None:
        """Send a worker its setup, if it has connected by now."""
        if worker.connection is None and worker.handle.socket is not None:
            worker.connection = Connection(worker.handle.socket)
            self._selector.register(worker.connection.socket, selectors.EVENT_READ, (worker, True))
            self._send(worker, self._setup, self._function)

    def _unregister(self, worker: Worker) -> None:
        if worker.connection is not None:
            with suppress(KeyError, ValueError):
                self._selector.unregister(worker.connection.socket)
        if worker.handle.output is not None:
            with suppress(KeyError):  # it had closed its output
                self._selector.unregister(worker.handle.output)

    def _send(self, worker: Worker, message: Any, payload: bytes = b"") -> None:
        connection = worker.connection
        assert connection is not None, "only a worker that has connected is given anything"
        connection.send(message, payload)
        if connection.waiting:
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(connection.socket, both, (worker, True))

    def _flush(self, worker: Worker, connection: Connection) -> None:
        connection.flush()
        if not connection.waiting:
            self._selector.modify(connection.socket, selectors.EVENT_READ, (worker, True))

    def _read_output(self, worker: Worker) -> bool:
        """Read what a worker has printed; False when it has closed its output."""
        read = worker.read_output()
        if read and worker.assignment is not None:
            self._messages.append(Printed(worker.assignment.job, read))
        return read is not None

    # -- messages of workers -------------------------------------------------------------------

    def _receive(self, worker: Worker, connection: Connection) -> None:
        messages = connection.receive()
        if messages is None:
            self._died(worker)
            return
        for kind, *rest in messages:
            self._handle_message(worker, kind, rest)

    def _handle_message(self, worker: Worker, kind: str, rest: list[Any]) -> None:
        job = worker.assignment
        if kind == "ready":
            worker.ready = True
            self._failed_starts = 0
        elif kind == "unfit":
            raise WorkerStartError(*rest)
        elif job is None or rest[0] != job.job:
            pass  # of a job that has left
        elif kind == "started":
            worker.accepted = True
            self._idle_deaths.pop(worker.number, None)
        elif kind == "report":
            number, resource, value, metrics = rest
            worker.resource = max(worker.resource, resource)
            self._messages.append(Reported(number, resource, value, tuple(metrics.items())))
        elif kind == "saved":
            self._messages.append(Saved(*rest))
        elif kind == "notice":
            self._messages.append(Notice(*rest))
        elif kind == "failed":
            self._left(worker, *rest[1:])
        elif kind == "ended":
            self._left(worker)

    def _left(
        self, worker: Worker, reason: str | None = None, trace: str = "", fault: Fault = "trial"
    ) -> None:
        """The job has left the worker."""
        job = worker.assignment
        assert job is not None, "only a job can leave"
        self._read_output(worker)
        asked, output = worker.deadline is not None, worker.tail.decode(errors="replace")
        worker.assignment = worker.deadline = None
        del self._by_job[job.job]
        if reason is None:
            self._messages.append(Ended(job.job, output if asked else ""))
        else:
            self._messages.append(Crashed(job.job, reason, trace, output, fault))

    def _died(self, worker: Worker) -> None:
        """A worker has died; its job crashed with it, and another worker takes its place."""
        self._unregister(worker)
        ending = worker.handle.reap()
        self._read_output(worker)
        if worker.assignment is not None:
            # A job that it has never received cannot have ended it.
            self._left(worker, ending.how, fault=ending.fault if worker.accepted else "worker")
        worker.close_output()
        self._workers.remove(worker)  # even if an error follows, it must not be reaped again
        pause = 0.0
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS * self._size:
                n = self._failed_starts
                said = f"{n} worker processes in a row ended while starting ({ending.how})"
                raise WorkerStartError(said, worker.tail.decode(errors="replace"))
        elif not worker.accepted:
            before = self._idle_deaths[worker.number]
            self._idle_deaths[worker.number] += 1
            pause = PAUSES[min(before, len(PAUSES) - 1)]
        self._due[worker.number] = self._now + pause
        self._launch_due()

    def _launch_due(self) -> None:
        """Fill the slots whose time has come."""
        for number in [number for number, due in self._due.items() if due <= self._now]:
            del self._due[number]
            self._workers.append(self._launch(number))
            self._workers.sort(key=lambda worker: worker.number)

    # -- time ----------------------------------------------------------------------------------

    def _read_clock(self) -> None:
        self._now = time.monotonic() - self._begun

    def _longest_wait(self) -> float:
        if self._messages:
            return 0.0
        deadlines = [w.deadline for w in self._workers if w.deadline is not None]
        return max(0.0, min(TICK, *(d - self._now for d in deadlines))) if deadlines else TICK

    def _check_worker(self, worker: Worker) -> None:
        now = self._now
        if worker.handle.dead:
            # Children that it forked may keep its socket open: receive what is left first.
            while worker.connection is not None and (messages := worker.connection.receive()):
                for kind, *rest in messages:
                    self._handle_message(worker, kind, rest)
            self._died(worker)
        elif worker.deadline is not None and now >= worker.deadline:
            worker.deadline = None
            worker.handle.kill()
        elif not worker.ready and not worker.late and now - worker.launched > START_LIMIT:
            worker.late = True
            what = ", ".join(self._setup["preload"]) or "the training function"
            stage = "it has not connected" if worker.connection is None else f"it imports {what}"
            slot = f"worker {worker.number} ({worker.handle.where})"
            self._messages.append(
                Notice(None, f"{slot} is not ready after {START_LIMIT:g} s: {stage}")
            )
