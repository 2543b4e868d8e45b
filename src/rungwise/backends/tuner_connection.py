"""A worker's connection to its tuner: lines of JSON over a socket; without a tuner it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rungwise.run import Unwound


def connect(address: str, token: str, number: int, **more: Any) -> socket.socket:
    """The worker's end of its socket.

    Args:
        address: ``"fd:7"``, a descriptor that was inherited, or ``"tcp:host:port"``.
        token: what a listening tuner expects in the first message.
        number: which slot this is.
        more: anything else for the first message.
    """
    kind, _, rest = address.partition(":")
    if kind == "fd":
        return socket.socket(fileno=int(rest))
    host, _, port = rest.rpartition(":")
    connected = socket.create_connection((host, int(port)), timeout=30)
    connected.settimeout(None)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    greeting = {"token": token, "number": number, **more}
    connected.sendall(json.dumps(greeting).encode() + b"\n")
    return connected


class TunerConnection:
    """The worker's end of the socket, in messages.

    Args:
        connected: the socket.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._pending = b""
        self._owner = os.getpid()
        self._sending = threading.Lock()
        self.receiving = False  # whether receive() waits for a message

    def send(self, *message: Any) -> None:
        """Send a message; if the tuner is gone, end the worker."""
        if os.getpid() != self._owner:
            # A child that training forked has returned from its function: it must not send
            # messages in the worker's name.
            _end_child(message)
        try:
            # One at a time: child processes that share a run are answered by threads.
            with self._sending:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            _exit_with_group()

    def receive(self) -> Any:
        """Wait for the next message."""
        self.receiving = True
        try:
            while b"\n" not in self._pending:
                self._read()
        finally:
            self.receiving = False
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)

    def read_bytes(self, count: int) -> bytes:
        """Read this many bytes that follow a message."""
        parts, missing = [self._pending], count - len(self._pending)
        while missing > 0:
            self._pending = b""
            self._read()
            parts.append(self._pending)
            missing -= len(self._pending)
        data = b"".join(parts)
        self._pending = data[count:]
        return data[:count]

    def _read(self) -> None:
        try:
            read = self._socket.recv(65536)
        except OSError:
            read = b""
        if not read:
            _exit_with_group()
        self._pending += read

    def is_asked_to_leave(self, job: int) -> bool:
        """Whether a message to leave waits, without taking it.

        If the tuner is gone, end the worker.
        """
        wanted = json.dumps({"leave": job}).encode() + b"\n"
        if wanted in self._pending:  # it came together with an answer
            return True
        try:
            seen = self._socket.recv(65536, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            seen = b""
        if not seen:
            _exit_with_group()
        return wanted in self._pending + seen


class JobChannel:
    """How the run of one job talks to the tuner; once the job has ended nothing is sent.

    Args:
        connection: the connection to the tuner.
        job: the number of the job, which every message carries.
    """

    def __init__(self, connection: TunerConnection, job: int) -> None:
        self._connection = connection
        self._job = job
        self.open = True

    def report(self, resource: float, value: float, metrics: Mapping[str, float]) -> bool:
        """Send a report, and wait until it is in the log."""
        self._send("report", resource, value, metrics)
        while True:
            answer = self._connection.receive()
            if isinstance(answer, bool):
                return answer
            if answer == {"leave": self._job}:
                raise Unwound

    def saved(self, resource: float, size: int) -> None:
        """Send that a checkpoint was committed."""
        self._send("saved", resource, size)

    def notice(self, text: str) -> None:
        """Send something a person should know."""
        self._send("notice", text)

    def _send(self, kind: str, *rest: Any) -> None:
        if not self.open:
            raise Unwound  # a thread that has outlived its job
        self._connection.send(kind, self._job, *rest)


def _end_child(message: tuple[Any, ...]) -> None:
    """End a process that training has forked, when it leaves the function; say if that failed."""
    trace = message[3] if message[0] == "failed" else ""
    if trace and sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(str(trace))
    flush_outputs()
    os._exit(1 if trace else 0)


def exit_now() -> Any:
    """End at once: no exit handler or thread of the user's may keep the process alive."""
    flush_outputs()
    os._exit(0)


def _exit_with_group() -> Any:
    """The tuner is gone: end, and what training has started as well."""
    if os.name == "posix" and os.getpgrp() == os.getpid():
        flush_outputs()
        os.killpg(0, signal.SIGKILL)
    exit_now()


def flush_outputs() -> None:
    """Write what was printed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # full, closed or None
            stream.flush()
