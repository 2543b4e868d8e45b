"""A slot of the tuner, and the worker in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from heapq import heappop, heappush

from rungwise.backends.base import WorkerView
from rungwise.backends.connection import CHUNK, Connection
from rungwise.backends.launchers import Handle
from rungwise.run import Assignment

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
        unfit: whether it has said that it cannot load it.
        late: whether it was reported that it is not.
        watched: whether its output is.
        gone: whether another worker has its slot by now, or will.
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
        self.ready = self.unfit = self.late = self.watched = self.gone = False
        self.deadline: float | None = None
        self.tail = bytearray()

    @property
    def free(self) -> bool:
        """Whether it can be given a job now."""
        connected = self.connection is not None and not self.connection.broken
        return self.ready and connected and self.assignment is None and not self.handle.leaving

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
            return WorkerView(self.number, where, ready=self.ready, node=self.handle.node)
        job, node = self.assignment, self.handle.node
        return WorkerView.busy(self.number, where, job, self.resource, since, node)


class IdleWorkers:
    """The workers that are ready and have no job; the first slot is given the next one."""

    def __init__(self) -> None:
        self._workers: dict[int, Worker] = {}  # by slot
        self._order: list[int] = []  # a heap of slots that are idle, or were
        self._free: int | None = None  # how many can be given a job; None: to be counted

    def add(self, worker: Worker) -> None:
        """A worker is ready, or its job has left."""
        self._workers[worker.number] = worker
        heappush(self._order, worker.number)
        self._free = None

    def remove(self, worker: Worker) -> None:
        """A worker is gone."""
        self._workers.pop(worker.number, None)
        self._free = None

    def count_free(self) -> int:
        """How many can be given a job."""
        if self._free is None:
            self._free = sum(worker.free for worker in self._workers.values())
        return self._free

    def count_again(self) -> None:
        """Whether they can be given jobs may have changed."""
        self._free = None

    def take(self) -> Worker:
        """The first that can be given a job; it is not idle any more."""
        while self._order:
            found = self._workers.get(heappop(self._order))
            if found is not None and found.free:
                break
        else:  # one that could not be given a job when it was its turn can be by now
            found = next(worker for worker in self._workers.values() if worker.free)
        self.remove(found)
        return found


def describe_late(late: Sequence[tuple[str, Worker]], limit: float) -> list[str]:
    """What to say of workers that are not ready: a line for all that wait for the same.

    Args:
        late: what each waits for, and the worker.
        limit: after how many seconds they count as late.
    """
    waiting: dict[str, list[Worker]] = {}
    for stage, worker in late:
        waiting.setdefault(stage, []).append(worker)
    lines = []
    for stage, workers in waiting.items():
        numbers = ", ".join(str(worker.number) for worker in workers[:4])
        more = f" and {len(workers) - 4} more" if len(workers) > 4 else ""
        who = f"worker {numbers} ({workers[0].handle.where}) is"
        if len(workers) > 1:
            who = f"workers {numbers}{more} are"
        lines.append(f"{who} not ready after {limit:g} s: {stage}")
    return lines
