"""What starts workers: the seam between a backend and the machines that it runs on.

A launcher starts ``worker.main(address, token, number)`` somewhere, and returns a handle that says
whether that worker is alive and can end it. Everything else, the protocol and its handling, is the
same wherever workers run.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Protocol

from rungwise.backends.messages import Fault


@dataclass(frozen=True, slots=True)
class Ending:
    """How a worker ended.

    Attributes:
        how: in words.
        fault: the trial's, if what it trained may have ended it; the worker's, if its machine
            vanished or was taken away.
    """

    how: str
    fault: Fault = "trial"


class Handle(Protocol):
    """A worker that was launched.

    Attributes:
        socket: the tuner's end of its connection; None until it has connected.
        output: a file descriptor with what it prints; None where that is not available, or not yet.
    """

    socket: socket.socket | None
    output: int | None

    @property
    def leaving(self) -> str | None:
        """Why its machine will soon be taken away; None as long as it stays."""
        ...

    @property
    def node(self) -> str:
        """The name of that machine, where there may be several."""
        ...

    @property
    def where(self) -> str:
        """Where it runs, in a few words."""
        ...

    @property
    def waits_for(self) -> str:
        """What is missing, in a few words, while it has not connected."""
        ...

    @property
    def dead(self) -> bool:
        """Whether it has ended, even if children that it forked still hold its socket open."""
        ...

    def nudge(self) -> None:
        """Make it look at its messages at once, where that can be done."""
        ...

    def kill(self) -> None:
        """End it and all it has started, now."""
        ...

    def release(self) -> None:
        """End it, and give back the place that it holds: no other worker is launched there."""
        ...

    def reap(self) -> Ending:
        """Wait for its end and close everything but the output; how it ended."""
        ...


class Launcher(Protocol):
    """Starts workers.

    Attributes:
        arrivals: a file descriptor that is readable when a worker has connected; None where
            handles are connected from the start.
    """

    arrivals: int | None

    def wanted(self, busy: int, idle: int) -> int | None:
        """How many workers there should be by now; None where that does not change.

        Args:
            busy: workers that have a job.
            idle: workers that are ready and have none.
        """
        ...

    def launch(self, number: int) -> Handle:
        """Start a worker for a slot; it may connect late, or never."""
        ...

    def accept(self) -> None:
        """Give the handles of workers that have connected their sockets; it does not wait.

        It is also called every quarter of a second, to look at what no socket shows.
        """
        ...

    def close(self) -> None:
        """All workers are gone; nothing is launched any more."""
        ...
