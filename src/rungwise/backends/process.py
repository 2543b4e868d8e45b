"""The tuner's end of one worker process: start it, talk to it, hear what it prints, end it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from rungwise.core.decisions import Job
from rungwise.run import UNWIND

TAIL = 16 * 1024
"""How many of the last bytes of output are kept of a job, for the record of its failure."""

KEPT = 1024 * 1024
"""How many bytes of output a trial's file holds before it is cut to its last half."""

CHUNK = 256 * 1024

MERCY = 1.0
"""Seconds that a process which has closed its socket has left to end by itself."""

PATIENCE = 30.0
"""Seconds that a worker may take to read a message too large for its socket."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from rungwise.backends.worker import main; main(int(sys.argv[1]))"
)


class WorkerProcess:
    """A process that trains one leg at a time.

    Args:
        number: its place among the workers, from 0.
        environment: its environment variables.
        setup: its first message.

    Attributes:
        job: what it runs, None when idle.
        started: when it was given the job.
        heard: when it last gave a sign of life.
        ready: whether it has loaded the training function.
        settled: whether the job was told that enough is known.
        recalled: whether the job was told to leave though more was wanted.
        doomed: why it is being ended, if it is.
        deadline: when it is killed, if it does not end before.
    """

    def __init__(
        self, number: int, environment: Mapping[str, str], setup: Mapping[str, Any]
    ) -> None:
        self.number = number
        self.job: Job | None = None
        self.started = self.heard = 0.0
        self.resource: float = 0
        self.ready = self.settled = self.recalled = False
        self.doomed: str | None = None
        self.deadline: float | None = None
        self.tail = bytearray()
        self._log: BinaryIO | None = None
        self._place: Path | None = None  # of the log, which is opened when there is output
        self._pending = b""
        ours, theirs = socket.socketpair()
        output, theirs_output = os.pipe()
        try:
            path = json.dumps([str(place) for place in sys.path])
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", _START, str(theirs.fileno()), path],
                stdin=subprocess.DEVNULL,
                stdout=theirs_output,
                stderr=theirs_output,
                env={**environment, "PYTHONUNBUFFERED": "1"},
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a group of its own: Ctrl-C does not reach it
            )
        except BaseException:
            ours.close()
            os.close(output)
            raise
        finally:
            theirs.close()
            os.close(theirs_output)
        os.set_blocking(output, False)
        self.socket, self.output = ours, output
        self.send(setup)
        ours.setblocking(False)

    @property
    def pid(self) -> int:
        """The process, which leads a group of the same number."""
        return self._process.pid

    # -- talking -------------------------------------------------------------------------------

    def send(self, message: Any) -> None:
        """Tell it something; if it is dead that will be heard soon enough."""
        data = json.dumps(message).encode() + b"\n"
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.kill()
            return
        if sent < len(data):
            self._send_rest(data[sent:])

    def _send_rest(self, data: bytes) -> None:
        """A configuration that the socket cannot hold at once: wait for the worker to read."""
        try:
            self.socket.settimeout(PATIENCE)
            self.socket.sendall(data)
        except OSError:
            self.kill()
        finally:
            self.socket.setblocking(False)

    def receive(self) -> list[Any] | None:
        """The messages that have arrived; None when it is dead."""
        try:
            read = self.socket.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not read:
            return None
        *lines, self._pending = (self._pending + read).split(b"\n")
        return [json.loads(line) for line in lines]

    # -- output --------------------------------------------------------------------------------

    def keep_output(self, path: Path | None) -> None:
        """From now on, what it prints belongs into this file."""
        self.read_output()
        if self._log is not None:
            self._log.close()
            self._log = None
        self.tail.clear()
        self._place = path

    def read_output(self) -> bool:
        """Take what it has printed, so that it can print more; keep the last of it.

        Returns:
            Whether there may be more one day: not when it has closed its output.
        """
        try:
            read = os.read(self.output, CHUNK)
        except OSError:  # nothing there
            return True
        self.tail += read
        del self.tail[:-TAIL]
        if self._place is not None and read:
            try:
                self._write(self._place, read[-KEPT:])
            except OSError:  # a full disk: what it prints is lost, the study is not
                self._place = None
        return bool(read)

    def _write(self, place: Path, read: bytes) -> None:
        if self._log is None:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._log = place.open("ab+")
        self._log.write(read)
        self._log.flush()
        if self._log.tell() > KEPT:
            self._log.seek(-(KEPT // 2), os.SEEK_END)
            last = self._log.read()
            self._log.truncate(0)
            self._log.write(b"[...]\n" + last)

    @property
    def last_output(self) -> str:
        """The last of what the job printed."""
        return self.tail.decode(errors="replace")

    # -- ending --------------------------------------------------------------------------------

    def ask_to_end(self) -> None:
        """Unwind what it runs."""
        self._signal(UNWIND)

    def kill(self) -> None:
        """End it and all it has started, now."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    @property
    def dead(self) -> bool:
        """Whether it has ended, whoever else may hold its socket open (children it forked)."""
        if not hasattr(os, "waitid"):  # not on every Unix
            return self._process.poll() is not None
        # Its number is not given back yet, so that its group can still be killed by it.
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.pid, look) is not None
        except ChildProcessError:
            return True

    def bury(self) -> str:
        """Wait for its end, close everything; how it ended, in words."""
        patience = time.monotonic() + MERCY
        while not self.dead and time.monotonic() < patience:
            time.sleep(0.001)
        self.kill()  # what it has started must not live on
        code = self._process.wait()
        self.read_output()
        self.socket.close()
        os.close(self.output)
        if self._log is not None:
            self._log.close()
        if code >= 0:
            return f"its process exited with {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"its process was killed by {name}{hint}"
