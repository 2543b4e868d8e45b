"""Jobs on workers that talk over sockets, wherever a launcher has started them.

One thread, one loop: sockets, output and deadlines are handled in :meth:`WorkerBackend.poll`. A
worker that dies is replaced. What a job does to its worker never harms the study: it becomes a
message.
"""

from __future__ import annotations

import selectors
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import count, islice
from typing import Any

from rungwise.backends.base import TICK, WorkerView, Workplace
from rungwise.backends.connection import Connection
from rungwise.backends.launchers import Launcher
from rungwise.backends.messages import (
    Crashed,
    Ended,
    Fault,
    Message,
    Notice,
    Printed,
    Reported,
    Saved,
    StartFailed,
)
from rungwise.backends.worker_slot import IdleWorkers, Worker, describe_late
from rungwise.backends.worker_starts import Clock, Starts, WakePipe
from rungwise.errors import WorkerStartError
from rungwise.run import Assignment

START_LIMIT = 60.0
"""Seconds after which a worker that is still not ready is reported."""


class WorkerBackend:
    """Workers that a launcher starts.

    Args:
        launcher: starts them.
        workers: how many.
        setup: their first message; the function follows it.
        function: the training function, pickled.
        workplace: what the tuner gives.
        start_limit: seconds after which a worker that is still not ready is reported;
            START_LIMIT by default.
    """

    def __init__(
        self,
        launcher: Callable[[Callable[[str], None]], Launcher],
        workers: int,
        *,
        setup: Mapping[str, Any],
        function: bytes,
        workplace: Workplace,
        start_limit: float | None = None,
    ) -> None:
        self._size = workers
        self._grace = workplace.grace
        self._clock = Clock(workplace.since)
        greeting = {**setup, "store": workplace.store.to_json(), "function": len(function)}
        self._greeting = (greeting, function)
        self._starts = Starts(START_LIMIT if start_limit is None else start_limit)
        self._messages: list[Message] = []
        self._workers: list[Worker] = []
        self._by_job: dict[int, Worker] = {}
        # By slot, so that no message costs a look at all workers.
        self._awaited: dict[int, Worker] = {}  # that have not connected
        self._idle = IdleWorkers()
        self._leaving: dict[int, Worker] = {}  # with a deadline, the earliest first
        self._checked = 0.0
        self._selector = selectors.DefaultSelector()
        self._waker = WakePipe()
        self._selector.register(self._waker, selectors.EVENT_READ, None)
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
        return self._clock.now

    def idle(self) -> int:
        return self._idle.count_free()

    def start(self, assignment: Assignment) -> None:
        worker = self._idle.take()
        self._read_output(worker)
        worker.tail.clear()
        worker.assignment, worker.accepted = assignment, False
        worker.resource = assignment.start
        worker.started = self._clock.now
        self._by_job[assignment.job] = worker
        self._send(worker, {"start": asdict(assignment)})

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        worker = self._by_job.get(job)
        if worker is None:  # it died before the answer was decided
            return
        if go_on and worker.handle.leaving:
            # It has just reported, so this is when the least is lost: another worker goes on.
            self._left(worker, worker.handle.leaving, fault="worker")
            worker.handle.kill()
        else:
            self._send(worker, go_on)

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002 - the tuner keeps it
        worker = self._by_job.get(job)
        if worker is not None and worker.deadline is None:
            worker.deadline = self._clock.now + self._grace
            self._leaving[worker.number] = worker
            self._send(worker, {"leave": job})
            worker.handle.nudge()

    def poll(self) -> Sequence[Message]:
        self._clock.read()
        ready = self._selector.select(self._longest_wait())
        self._clock.read()
        for key, events in ready:
            if key.data is None:
                self._handle_wake(key.fd)
            elif not key.data[0].gone:  # else it was removed in this very poll
                self._attend(key, events)
        if self._starts.due:
            self._launch_due()
        if self._leaving:
            self._end_overdue()
        if self._clock.now - self._checked >= TICK:
            self._checked = self._clock.now
            self._check()
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
        if descriptor == self._waker.fileno():
            self._waker.drain()
            return
        self._accept()

    def _accept(self) -> None:
        self._launcher.accept()
        self._idle.count_again()  # it may have learnt that machines are leaving
        for worker in list(self._awaited.values()):
            self._connect(worker)

    def wake(self) -> None:
        self._waker.write()

    def views(self) -> Sequence[WorkerView]:
        empty = [WorkerView(number, "being replaced", ready=False) for number in self._starts.due]
        here = [worker.view(self._clock.now) for worker in self._workers]
        return sorted(here + empty, key=lambda view: view.number)

    def close(self) -> None:
        for worker in self._workers:
            worker.handle.kill()
        for worker in self._workers:
            self._unregister(worker)
            worker.handle.reap()
            worker.close_output()
        self._workers.clear()
        self._starts.due.clear()
        for index in (self._by_job, self._awaited, self._leaving):
            index.clear()
        self._idle = IdleWorkers()
        self._launcher.close()
        self._selector.close()
        self._waker.close()

    # -- workers -------------------------------------------------------------------------------

    def _launch(self, number: int) -> Worker:
        worker = Worker(number, self._launcher.launch(number), self._clock.now)
        self._awaited[number] = worker
        self._connect(worker)
        return worker

    def _connect(self, worker: Worker) -> None:
        """Send a worker its setup, if it has connected by now."""
        if worker.handle.output is not None and not worker.watched:
            worker.watched = True
            self._selector.register(worker.handle.output, selectors.EVENT_READ, (worker, False))
        if worker.connection is None and worker.handle.socket is not None:
            del self._awaited[worker.number]
            worker.connection = Connection(worker.handle.socket)
            self._selector.register(worker.connection.socket, selectors.EVENT_READ, (worker, True))
            self._send(worker, *self._greeting)

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
        if not connection.send(message, payload) and connection.waiting:
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

    def _handle_report(
        self, worker: Worker, job: int, resource: float, value: float, metrics: dict[str, float]
    ) -> None:
        if worker.assignment is not None and job == worker.assignment.job:
            worker.resource = max(worker.resource, resource)
            self._messages.append(Reported(job, resource, value, tuple(metrics.items())))

    def _handle_message(self, worker: Worker, kind: str, rest: list[Any]) -> None:
        job = worker.assignment
        if kind == "report":  # as nearly all are
            self._handle_report(worker, *rest)
        elif kind == "ready":
            worker.ready = True
            self._starts.note_ready(worker.number)
            self._idle.add(worker)
        elif kind == "unfit":
            self._handle_unfit(worker, *rest)
        elif job is None or rest[0] != job.job:
            pass  # of a job that has left
        elif kind == "started":
            worker.accepted = True
            self._starts.note_job(worker.number)
        elif kind == "saved":
            self._messages.append(Saved(*rest))
        elif kind == "notice":
            self._messages.append(Notice(*rest))
        elif kind == "failed":
            self._left(worker, *rest[1:])
        elif kind == "ended":
            self._left(worker)

    def _handle_unfit(self, worker: Worker, reason: str, trace: str) -> None:
        """A worker cannot load the training function: the others cannot either, if none has."""
        if self._launcher.arrivals is None:
            raise WorkerStartError(reason, trace)
        reason = f"{reason} ({worker.handle.where}; what it imports must be on every machine)"
        if not self._starts.was_ready:
            raise WorkerStartError(reason, trace)
        # A machine that has joined later lacks something.
        worker.unfit = True
        self._messages.append(Notice(None, f"worker {worker.number} cannot start: {reason}"))

    def _left(
        self, worker: Worker, reason: str | None = None, trace: str = "", fault: Fault = "trial"
    ) -> None:
        """The job has left the worker."""
        job = worker.assignment
        assert job is not None, "only a job can leave"
        self._read_output(worker)
        asked, output = worker.deadline is not None, worker.tail.decode(errors="replace")
        worker.assignment = worker.deadline = None
        self._leaving.pop(worker.number, None)
        self._idle.add(worker)
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
        self._remove(worker)  # even if an error follows, it must not be reaped again
        pause = 0.0
        leaving = worker.handle.leaving
        to_blame = ending.fault == "trial" and not (worker.unfit or leaving)
        if not worker.ready and to_blame:
            self._starts.failed += 1
            tail = worker.tail.decode(errors="replace")
            failed = StartFailed(None, ending.how, tail, self._starts.failed, self._size)
            self._messages.append(failed)
        elif not worker.accepted:
            why, ready = leaving or ending.how, worker.ready
            self._messages += self._starts.note_death(worker.number, why, ready=ready)
            if not leaving:  # else nothing is wrong, and the next one gets another machine
                pause = self._starts.find_pause(worker.number)
        self._starts.due[worker.number] = self._clock.now + pause
        self._launch_due()

    def _remove(self, worker: Worker) -> None:
        worker.gone = True
        self._workers.remove(worker)
        self._awaited.pop(worker.number, None)
        self._leaving.pop(worker.number, None)
        self._idle.remove(worker)

    def _launch_due(self) -> None:
        """Fill the slots whose time has come."""
        due, now = self._starts.due, self._clock.now
        for number in [number for number, at in due.items() if at <= now]:
            del due[number]
            insort(self._workers, self._launch(number), key=lambda worker: worker.number)

    # -- time ----------------------------------------------------------------------------------

    def _longest_wait(self) -> float:
        if self._messages:
            return 0.0
        first = next(iter(self._leaving.values()), None)
        if first is None or first.deadline is None:
            return TICK
        return max(0.0, min(TICK, first.deadline - self._clock.now))

    def _end_overdue(self) -> None:
        """Kill the workers whose jobs have not left in time, and see at once that they are dead."""
        for worker in list(self._leaving.values()):
            if worker.deadline is not None and self._clock.now < worker.deadline:
                break  # all have as much time, so the others have more left
            worker.deadline = None
            del self._leaving[worker.number]
            worker.handle.kill()

    def _check(self) -> None:
        """Look at what no socket shows."""
        if self._launcher.arrivals is not None:
            self._accept()
        for worker in list(self._workers):
            self._check_worker(worker)
        self._report_late_workers()
        wanted = self._launcher.wanted(len(self._by_job), self.idle())
        if wanted is not None and wanted != self._size:
            self._resize(wanted)

    def _check_worker(self, worker: Worker) -> None:
        if worker.handle.dead:
            # Children that it forked may keep its socket open: receive what is left first.
            if worker.connection is not None:
                for kind, *rest in worker.connection.receive_rest():
                    self._handle_message(worker, kind, rest)
            self._died(worker)
        elif worker.handle.leaving and worker.assignment is None:
            worker.handle.kill()

    def _report_late_workers(self) -> None:
        late = []
        for worker in self._workers:
            waited = self._clock.now - worker.launched
            if not worker.ready and not worker.late and waited > self._starts.limit:
                worker.late = True
                late.append((self._stage(worker), worker))
        for text in describe_late(late, self._starts.limit):
            self._messages.append(Notice(None, text))

    def _stage(self, worker: Worker) -> str:
        if worker.connection is None:
            return worker.handle.waits_for
        return "it imports " + (", ".join(self._greeting[0]["preload"]) or "the training function")

    def _resize(self, wanted: int) -> None:
        """Launch more workers, or end those that do not train: first those without a place."""
        taken = {worker.number for worker in self._workers}.union(self._starts.due)
        unused = (number for number in count() if number not in taken)
        more = islice(unused, max(0, wanted - len(taken)))
        self._starts.due |= dict.fromkeys(more, self._clock.now)
        surplus = max(0, len(taken) - wanted)
        for number in sorted(self._starts.due, reverse=True)[:surplus]:
            del self._starts.due[number]
            surplus -= 1
        ready = [worker for worker in self._workers if worker.assignment is None]
        ready.sort(key=lambda worker: (worker.connection is None, worker.number))
        for worker in ready[max(0, len(ready) - surplus) :]:
            self._unregister(worker)
            worker.handle.release()
            worker.handle.reap()
            worker.close_output()
            self._remove(worker)
        self._size = wanted
        self._launch_due()
