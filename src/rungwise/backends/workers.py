"""Jobs on workers that talk over sockets, wherever a launcher has started them.

One thread, one loop: sockets, output and deadlines are looked at in :meth:`WorkerBackend.poll`. A
worker that dies is replaced. What a job does to its worker never reaches the study: it becomes a
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
"""So many times the number of workers die in a row before they are ready: the study gives up."""

PAUSES = (0.0, 0.25, 1.0, 4.0, 15.0, 60.0)
"""Seconds before a worker is replaced that died idle, by how many died so before it in its slot."""

TAIL = 16 * 1024
"""How many of the last bytes of output are kept of a job, for the record of its failure."""


class Worker:
    """A slot and the worker in it.

    Args:
        number: the slot.
        handle: the worker.
        born: when it was launched.

    Attributes:
        line: the connection to it, None until it has connected.
        assignment: what it does, None when idle.
        took_up: whether it has said that it received that.
        started: when it was given that.
        resource: the last that its job has reported.
        ready: whether it has loaded the training function.
        deadline: when it is killed, if its job has not left before.
        tail: the last of what it printed.
    """

    def __init__(self, number: int, handle: Handle, born: float) -> None:
        self.number = number
        self.handle = handle
        self.line: Connection | None = None
        self.assignment: Assignment | None = None
        self.took_up = False
        self.started = self.born = born
        self.resource: float = 0
        self.ready = self.late = False
        self.deadline: float | None = None
        self.tail = bytearray()

    @property
    def free(self) -> bool:
        """Whether it can be given a job now."""
        connected = self.line is not None and not self.line.broken
        return self.ready and connected and self.assignment is None

    def read_output(self) -> bytes | None:
        """Take what it has printed, so that it can print more; None when it has closed that."""
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
        """Nothing more will come."""
        if self.handle.output is not None:
            os.close(self.handle.output)
            self.handle.output = None

    def view(self, now: float) -> WorkerView:
        """It, for displays."""
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
        self._said: list[Message] = []
        self._workers: list[Worker] = []
        self._by_job: dict[int, Worker] = {}
        self._checked = 0.0
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = os.pipe()
        os.set_blocking(self._woken, False)
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._launcher = launcher(lambda text: self._said.append(Notice(None, text)))
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
        worker.assignment, worker.took_up = assignment, False
        worker.resource = assignment.start
        worker.started = self._now
        self._by_job[assignment.job] = worker
        self._send(worker, {"start": asdict(assignment)})

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        worker = self._by_job.get(job)
        if worker is not None:  # else it died while the answer was found
            self._send(worker, go_on)

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002 - the tuner keeps it
        worker = self._by_job.get(job)
        if worker is not None and worker.deadline is None:
            worker.deadline = self._now + self._grace
            self._send(worker, {"leave": job})
            worker.handle.nudge()

    def poll(self) -> Sequence[Message]:
        self._look_at_the_clock()
        ready = self._selector.select(self._longest_wait())
        self._look_at_the_clock()
        for key, events in ready:
            if key.data is None:
                self._woken_up(key.fd)
            elif key.data[0] in self._workers:  # else it was removed because of an earlier key
                self._attend(key, events)
        if self._due:
            self._launch_due()
        if self._now - self._checked >= TICK or any(w.deadline is not None for w in self._workers):
            self._checked = self._now
            for worker in list(self._workers):
                self._look_after(worker)
        said, self._said = self._said, []
        return said

    def _attend(self, key: selectors.SelectorKey, events: int) -> None:
        """Read from a worker, or send it what waits."""
        worker, is_line = key.data
        if not is_line:
            if not self._read_output(worker):
                self._selector.unregister(key.fileobj)  # it has closed its output
            return
        if events & selectors.EVENT_WRITE:
            self._flush(worker, worker.line)
        if events & selectors.EVENT_READ:
            self._receive(worker, worker.line)

    def _woken_up(self, descriptor: int) -> None:
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
        """Begin to talk to a worker, if it has connected by now."""
        if worker.line is None and worker.handle.socket is not None:
            worker.line = Connection(worker.handle.socket)
            self._selector.register(worker.line.socket, selectors.EVENT_READ, (worker, True))
            self._send(worker, self._setup, self._function)

    def _unregister(self, worker: Worker) -> None:
        if worker.line is not None:
            with suppress(KeyError, ValueError):
                self._selector.unregister(worker.line.socket)
        if worker.handle.output is not None:
            with suppress(KeyError):  # it had closed its output
                self._selector.unregister(worker.handle.output)

    def _send(self, worker: Worker, message: Any, payload: bytes = b"") -> None:
        line = worker.line
        assert line is not None, "only a worker that has connected is given anything"
        line.send(message, payload)
        if line.waiting:
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(line.socket, both, (worker, True))

    def _flush(self, worker: Worker, line: Connection) -> None:
        line.flush()
        if not line.waiting:
            self._selector.modify(line.socket, selectors.EVENT_READ, (worker, True))

    def _read_output(self, worker: Worker) -> bool:
        """Take what a worker has printed; whether there may be more one day."""
        read = worker.read_output()
        if read and worker.assignment is not None:
            self._said.append(Printed(worker.assignment.job, read))
        return read is not None

    # -- what they say -------------------------------------------------------------------------

    def _receive(self, worker: Worker, line: Connection) -> None:
        messages = line.receive()
        if messages is None:
            self._died(worker)
            return
        for kind, *rest in messages:
            self._heard(worker, kind, rest)

    def _heard(self, worker: Worker, kind: str, rest: list[Any]) -> None:
        job = worker.assignment
        if kind == "ready":
            worker.ready = True
            self._failed_starts = 0
        elif kind == "unfit":
            raise WorkerStartError(*rest)
        elif job is None or rest[0] != job.job:
            pass  # of a job that has left
        elif kind == "started":
            worker.took_up = True
            self._idle_deaths.pop(worker.number, None)
        elif kind == "report":
            number, resource, value, metrics = rest
            worker.resource = max(worker.resource, resource)
            self._said.append(Reported(number, resource, value, tuple(metrics.items())))
        elif kind == "saved":
            self._said.append(Saved(*rest))
        elif kind == "notice":
            self._said.append(Notice(*rest))
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
            self._said.append(Ended(job.job, output if asked else ""))
        else:
            self._said.append(Crashed(job.job, reason, trace, output, fault))

    def _died(self, worker: Worker) -> None:
        """A worker has gone; its job crashed with it, and another takes its place."""
        self._unregister(worker)
        ending = worker.handle.reap()
        self._read_output(worker)
        if worker.assignment is not None:
            # A job that it has never taken up cannot have ended it.
            self._left(worker, ending.how, fault=ending.fault if worker.took_up else "worker")
        worker.close_output()
        self._workers.remove(worker)  # whatever comes now, it is not to be reaped again
        pause = 0.0
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS * self._size:
                said = f"{self._failed_starts} died in a row ({ending.how})"
                raise WorkerStartError(said, worker.tail.decode(errors="replace"))
        elif not worker.took_up:
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

    def _look_at_the_clock(self) -> None:
        self._now = time.monotonic() - self._begun

    def _longest_wait(self) -> float:
        if self._said:
            return 0.0
        deadlines = [w.deadline for w in self._workers if w.deadline is not None]
        return max(0.0, min(TICK, *(d - self._now for d in deadlines))) if deadlines else TICK

    def _look_after(self, worker: Worker) -> None:
        now = self._now
        if worker.handle.dead:
            # Children that it forked may keep its socket open: hear what is left first.
            while worker.line is not None and (messages := worker.line.receive()):
                for kind, *rest in messages:
                    self._heard(worker, kind, rest)
            self._died(worker)
        elif worker.deadline is not None and now >= worker.deadline:
            worker.deadline = None
            worker.handle.kill()
        elif not worker.ready and not worker.late and now - worker.born > START_LIMIT:
            worker.late = True
            what = ", ".join(self._setup["preload"]) or "the training function"
            stage = "it has not connected" if worker.line is None else f"it imports {what}"
            slot = f"worker {worker.number} ({worker.handle.where})"
            self._said.append(Notice(None, f"{slot} is not ready after {START_LIMIT:g} s: {stage}"))
