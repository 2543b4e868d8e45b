"""An object in a process of its own, whose methods are called one after the other.

For trackers whose library needs much CPU: in a thread it would take the interpreter from the study.
Law of this file: the process ends when this one has closed the connection or is gone, also in the
middle of a call. So nothing is written for a tuner that was killed while its study is resumed.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from rungwise.callbacks.remote_object import serve; serve(int(sys.argv[1]), sys.argv[3])"
)
"""What the interpreter runs, with a file descriptor, a path and a target."""

MAKE = ""
"""Stands for the constructor among the names of methods."""

NICE = 10
"""How much the process gives way to others: to workers, above all."""

ENDS_WITHIN = 5.0
"""Seconds after which a process that was to end is killed."""


class RemoteError(Exception):
    """A call failed; says how."""


class RemoteObject:
    """The caller's end. A process that was killed is started again by the next call.

    Args:
        target: the class, as ``"module:name"``.
        arguments: of its constructor: plain values, as of all methods.
    """

    def __init__(self, target: str, *arguments: Any) -> None:
        self._target = target
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method returns.

        Args:
            method: its name.
            arguments: what it is given.

        Raises:
            RemoteError: it raised, or the process has died.
        """
        if self._connection is None:
            self._start()
            self._ask(MAKE, self._arguments)
        return self._ask(method, arguments)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            try:
                self._process.wait(ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        path = json.dumps([str(place) for place in sys.path])
        try:
            with _no_interrupts():
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    [sys.executable, "-c", START, str(theirs.fileno()), path, self._target],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
            self._connection = Connection(ours.detach())
        finally:
            ours.close()
            theirs.close()

    def _ask(self, method: str, arguments: tuple[Any, ...]) -> Any:
        assert self._connection is not None
        try:
            self._connection.send((method, arguments))
            done, answer = self._connection.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise RemoteError(f"the process that calls {self._target} has died") from error
        if not done:
            if method == MAKE:
                self.close()
            raise RemoteError(answer)
        return answer


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """A process that is started in the block leaves Ctrl-C to this one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(descriptor: int, target: str) -> None:
    """Make an object and call its methods, until the connection is closed.

    Args:
        descriptor: of the connection.
        target: the class, as ``"module:name"``.
    """
    os.set_inheritable(descriptor, False)
    connection = Connection(descriptor)
    requests: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
    module, _, name = target.partition(":")
    made: Any = None
    while True:
        method, arguments = requests.get()
        answer: tuple[bool, Any]
        try:
            if method == MAKE:
                made = getattr(import_module(module), name)(*arguments)
                gc.freeze()  # what was imported stays: it is not looked through again and again
                os.nice(NICE)  # not before: the study waits for the import
                answer = (True, None)
            else:
                answer = (True, getattr(made, method)(*arguments))
        except BaseException as error:  # noqa: BLE001 - a library may call sys.exit()
            answer = (False, f"{type(error).__name__}: {error}")
        connection.send(answer)


def _receive(connection: Connection, requests: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            requests.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
