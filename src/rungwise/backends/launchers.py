"""What starts workers: the seam between a backend and the machines that it runs on.

A launcher starts ``worker.main(address, token, number)`` somewhere, and the handle that it returns
says whether that worker lives and can end it. Everything else, the protocol and what is made of it,
is the same wherever workers run.
"""

from __future__ import annotations

import socket
from typing import Protocol


class Handle(Protocol):
    """A worker that was launched.

    Attributes:
        socket: the tuner's end of its connection.
        output: a file descriptor with what it prints, None where that is not to be had.
    """

    socket: socket.socket
    output: int | None

    @property
    def where(self) -> str:
        """Where it runs, in a few words."""
        ...

    @property
    def dead(self) -> bool:
        """Whether it has ended, whoever else may hold its socket open (children it forked)."""
        ...

    def nudge(self) -> None:
        """Make it look at its messages at once, where that can be done."""
        ...

    def kill(self) -> None:
        """End it and all it has started, now."""
        ...

    def bury(self) -> str:
        """Wait for its end and close everything but the output; how it ended, in words."""
        ...


class Launcher(Protocol):
    """Starts workers."""

    def launch(self, number: int) -> Handle:
        """Start a worker for a slot."""
        ...

    def close(self) -> None:
        """All workers are gone; nothing is launched any more."""
        ...
