"""What runs on a Ray cluster: an actor that holds a slot's resources and keeps a worker in it.

The worker is a child process of the actor, a fresh interpreter like a worker on the tuner's own
machine: the actor can say how it ended, end it with all it has started, and start the next one
without waiting for Ray. The worker talks to the tuner by itself; what it prints goes there too.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rungwise._version import __version__
from rungwise.backends.processes import Watchdog, describe_exit
from rungwise.backends.tuner_connection import connect
from rungwise.backends.unwinding import UNWIND

ENDING_TIME = 5.0
"""Seconds that the watchdog of a slot has to end."""

START = (
    "import json, os, sys; given = sys.stdin.buffer; first = json.loads(given.readline()); "
    "function = given.read(first['function']); os.dup2(os.open(os.devnull, os.O_RDONLY), 0); "
    "sys.path[:] = first['path']; from rungwise.backends.worker import main; "
    "main(sys.argv[1], first['token'], int(sys.argv[2]), function)"
)
"""What the interpreter of a worker runs, with an address and a number.

Its standard input has a line with the token, then the training function: every user of a machine
can read the arguments of its processes.
"""


class Slot:
    """The actor."""

    def serve(
        self, address: str, token: str, number: int, function: bytes, group: str = ""
    ) -> None:
        """Keep a worker whenever the tuner wants one, until it is gone.

        Args:
            address: where the tuner listens.
            token: what shows the tuner that this is its slot.
            number: this slot; no other ever has the same number.
            function: the training function, packed; Ray brings it to each node once.
            group: the name of its placement group, if it has several nodes.
        """
        variables = {}
        if group:  # what training needs to start processes on the other nodes
            context = importlib.import_module("ray").get_runtime_context()
            variables = {
                "RUNGWISE_RAY_ADDRESS": context.gcs_address,
                "RUNGWISE_RAY_NAMESPACE": context.namespace,
                "RUNGWISE_PLACEMENT_GROUP": group,
            }
        Keeper(address, token, number, function, variables).run()


def describe_versions() -> dict[str, str]:
    """What must be the same everywhere."""
    return {"rungwise": __version__, "python": platform.python_version()}


def describe_place() -> dict[str, Any]:
    """Where an actor or a task runs, and what."""
    ray = importlib.import_module("ray")
    node = ray.get_runtime_context().get_node_id()
    return {"host": socket.gethostname(), "node": node, **describe_versions()}


class Keeper:
    """Starts and ends the workers of one slot, one at a time.

    The tuner sends ``{"launch": worker}``, ``{"nudge": worker}`` and ``{"kill": worker}``; it is
    sent ``["launched", worker, pid]`` and ``["exited", worker, how]``.

    Args:
        address: where the tuner listens.
        token: what shows the tuner that this is its slot.
        number: this slot.
        function: the training function, packed.
        variables: what its workers get in their environment.
    """

    def __init__(
        self,
        address: str,
        token: str,
        number: int,
        function: bytes,
        variables: Mapping[str, str],
    ) -> None:
        self._address, self._token, self._function = address, token, function
        self._environment = {**os.environ, **variables, "PYTHONUNBUFFERED": "1"}
        greeting = {"slot": True, "process": describe_place()}
        self._tuner = connect(address, token, number, **greeting)
        self._watchdog = Watchdog((), (), lambda _: None, ENDING_TIME)
        self._lock = threading.Lock()  # of what is sent, and of the watchdog
        self._worker: tuple[int, subprocess.Popen[bytes]] | None = None

    def run(self) -> None:
        """Do what the tuner says until it is gone."""
        try:
            with suppress(OSError), self._tuner.makefile("rb") as lines:
                for line in lines:
                    self._obey(json.loads(line))
        finally:
            with self._lock:
                if self._worker is not None:
                    _kill(self._worker[1])
                self._watchdog.close()
            self._tuner.close()

    def _obey(self, message: Mapping[str, int]) -> None:
        ((what, number),) = message.items()
        if what == "launch":
            self._launch(number)
            return
        with self._lock:  # while it is held, the worker's process number is its own
            worker = self._worker
            if worker is None or worker[0] != number:
                return  # it has ended since
            if what == "kill":
                _kill(worker[1])
            elif what == "nudge":
                os.kill(worker[1].pid, UNWIND)

    def _launch(self, number: int) -> None:
        # What it prints goes straight into a socket: nothing in between can lose or delay it.
        output = connect(self._address, self._token, number, output=True)
        with output:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", START, self._address, str(number)],
                stdin=subprocess.PIPE,
                stdout=output.fileno(),
                stderr=output.fileno(),
                env=self._environment,
                start_new_session=True,
            )
        with self._lock:
            self._worker = (number, process)
            self._watchdog.watch(process.pid)
        self._send("launched", number, process.pid)
        threading.Thread(target=self._attend, args=(number, process), daemon=True).start()

    def _attend(self, number: int, process: subprocess.Popen[bytes]) -> None:
        """Give a worker what it starts with, and wait for its end."""
        path = [str(place) for place in sys.path]
        first = {"token": self._token, "path": path, "function": len(self._function)}
        assert process.stdin is not None, "it was started with a pipe"
        with suppress(OSError), process.stdin as pipe:  # it has ended already
            pipe.write(json.dumps(first).encode() + b"\n" + self._function)
        if hasattr(os, "waitid"):  # not on every Unix
            # Not reaped yet: while its number is not given back, its group can be killed by it.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            _kill(process)
            code = process.wait()
            self._watchdog.forget(process.pid)
            if self._worker == (number, process):
                self._worker = None
        self._send("exited", number, describe_exit(code))

    def _send(self, *message: Any) -> None:
        with self._lock, suppress(OSError):  # the tuner is gone: run() ends
            self._tuner.sendall(json.dumps(message).encode() + b"\n")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a worker and all it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
