"""Worker processes on this machine: how they are started, and ended whatever happens."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rungwise.backends import watchdog
from rungwise.backends.hardware import environment
from rungwise.backends.launchers import Ending
from rungwise.backends.unwinding import UNWIND

CLOSING_TIME = 1.0
"""Seconds in which a process that has closed its socket may end by itself."""

REPLACING_PAUSE = 0.5
"""The least seconds between two replacements of a watchdog that does not live."""

START = (
    "import json, os, sys; [os.set_inheritable(int(lock), False) for lock in sys.argv[5:]]; "
    "sys.path[:] = json.loads(sys.argv[4]); "
    "from rungwise.backends.worker import main; main(sys.argv[1], sys.argv[2], int(sys.argv[3]))"
)
"""What the interpreter of a worker runs, with an address, a token, a number and a path."""


class Watchdog:
    """The tuner's end of the process that ends all workers when the tuner is gone.

    Args:
        locks: file descriptors that it holds until no worker is left.
        temporary: folders that it removes then.
        on_notice: called when it had to be replaced.
        grace: seconds that it has to end.

    Attributes:
        locks: the descriptors, which workers hold as well.
    """

    def __init__(
        self,
        locks: Sequence[int],
        temporary: Sequence[str],
        on_notice: Callable[[str], None],
        grace: float,
    ) -> None:
        self.locks, self._temporary = locks, temporary
        self._on_notice = on_notice
        self._grace = grace
        self._watched: set[int] = set()
        self._turn = threading.Lock()
        self._closing = False
        self._process = self._start()
        self._replacer = threading.Thread(
            target=self._replace_when_killed, name="rungwise-watchdog", daemon=True
        )
        self._replacer.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def watch(self, group: int) -> None:
        """End this process group when the tuner is gone."""
        with self._turn:
            self._watched.add(group)
            self._send(f"+{group}")

    def forget(self, group: int) -> None:
        """The process group is gone."""
        with self._turn:
            self._watched.discard(group)
            self._send(f"-{group}")

    def close(self) -> None:
        """All is in order: let it end."""
        with self._turn:
            self._closing = True
            # By a message, and not only by closing the pipe: a process that was forked from this
            # one meanwhile may keep the other end open for as long as it runs.
            self._send(".")
            self._close_pipe()
        self._replacer.join(self._grace)
        if self._replacer.is_alive():
            self._process.kill()
            self._replacer.join()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-S", "-E", str(Path(watchdog.__file__)), *self._temporary],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            pass_fds=list(self.locks),
            start_new_session=True,
        )

    def _send(self, line: str) -> None:
        with suppress(OSError, ValueError):  # it was killed, and is being replaced
            if self._process.stdin is not None:
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def _close_pipe(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def _replace_when_killed(self) -> None:
        """Wait for its end, and start another one as long as the tuner needs one."""
        began = time.monotonic()
        while True:
            self._process.wait()
            with self._turn:
                if self._closing:
                    return
                self._close_pipe()
                with suppress(OSError):  # no process can be started now: soon, perhaps
                    self._process = self._start()
                for group in self._watched:
                    self._send(f"+{group}")
            self._on_notice(
                "the process that would clean up after a crash was killed; it is replaced"
            )
            # One that ends at once, again and again, is not to be started without a pause.
            if time.monotonic() - began < REPLACING_PAUSE:
                time.sleep(REPLACING_PAUSE)
            began = time.monotonic()


class ProcessHandle:
    """A worker process on this machine, the leader of a process group of its own.

    Args:
        number: its slot.
        share: its own environment variables.
        watchdog: ends it if the tuner is killed.
    """

    def __init__(self, number: int, share: Mapping[str, str], watchdog: Watchdog) -> None:
        ours, theirs = socket.socketpair()
        output, theirs_output = os.pipe()
        # An inherited descriptor needs no token: no other process has it.
        address = (f"fd:{theirs.fileno()}", "", str(number))
        try:
            path = json.dumps([str(place) for place in sys.path])
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-c", START, *address, path, *map(str, watchdog.locks)],
                stdin=subprocess.DEVNULL,
                stdout=theirs_output,
                stderr=theirs_output,
                env={**environment(share), "PYTHONUNBUFFERED": "1"},
                # While a worker lives that has lost tuner and watchdog, no other tuner may start.
                pass_fds=[theirs.fileno(), *watchdog.locks],
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
        self.socket: socket.socket | None = ours
        self._socket = ours
        self.output: int | None = output
        self.leaving: str | None = None
        self.node = ""
        self.pid = self._process.pid
        self._watchdog = watchdog
        watchdog.watch(self.pid)

    @property
    def where(self) -> str:
        return f"process {self.pid}"

    @property
    def waits_for(self) -> str:
        return "it has not connected"

    @property
    def dead(self) -> bool:
        if not hasattr(os, "waitid"):  # not on every Unix
            return self._process.poll() is not None
        # It is not reaped here: while its number is not given back, its group can be killed by it.
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.pid, look) is not None
        except ChildProcessError:
            return True

    def nudge(self) -> None:
        self._signal(UNWIND)

    def kill(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def release(self) -> None:
        self.kill()

    def reap(self) -> Ending:
        deadline = time.monotonic() + CLOSING_TIME
        while not self.dead and time.monotonic() < deadline:
            time.sleep(0.001)
        self.kill()  # what it has started must not live on
        code = self._process.wait()
        self._socket.close()
        self._watchdog.forget(self.pid)
        return Ending(describe_exit(code))


def describe_exit(code: int) -> str:
    """How a process ended, from what ``Popen.wait`` returned."""
    if code >= 0:
        return f"its process exited with {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{hint}"


class ProcessLauncher:
    """Starts worker processes on this machine.

    Args:
        shares: the environment variables of each slot.
        watchdog: ends them if the tuner is killed.
    """

    def __init__(self, shares: Sequence[Mapping[str, str]], watchdog: Watchdog) -> None:
        self.arrivals: int | None = None  # a socket pair is connected from the start
        self._shares = shares
        self.watchdog = watchdog

    def wanted(self, busy: int, idle: int) -> int | None:  # noqa: ARG002 - it does not change
        """As many as there are shares."""
        return None

    def launch(self, number: int) -> ProcessHandle:
        """Start a worker for a slot."""
        return ProcessHandle(number, self._shares[number], self.watchdog)

    def accept(self) -> None:
        """Nothing to do: all are connected."""

    def close(self) -> None:
        """All workers are gone."""
        self.watchdog.close()
