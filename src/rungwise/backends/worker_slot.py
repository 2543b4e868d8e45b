"""A slot of the tuner, and the worker in it."""

from __future__ import annotations

import os

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
