"""A launcher as other machines need one, on this machine: workers connect over TCP with a token."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from rungwise.backends.launchers import Ending
from rungwise.backends.listener import Listener
from rungwise.backends.workers import WorkerBackend

START = (
    "import sys; from rungwise.backends.worker import main; "
    "main(sys.argv[1], sys.argv[2], int(sys.argv[3]))"
)


class TcpHandle:
    def __init__(self, address, token, number):
        self.number = number
        self.socket = None
        self.leaving = None
        self.node = ""
        self.output, theirs = os.pipe()
        os.set_blocking(self.output, False)
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, address, token, str(number)],
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    @property
    def where(self):
        return f"process {self.process.pid} over TCP"

    @property
    def waits_for(self):
        return "it has not connected"

    @property
    def dead(self):
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def nudge(self):
        """No signal reaches another machine: the message has to do."""

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)

    def release(self):
        self.kill()

    def reap(self):
        if not self.dead:
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        self.kill()
        code = self.process.wait()
        if self.socket is not None:
            self.socket.close()
        hint = " (out of memory?)" if code == -9 else ""
        how = (
            f"exited with {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}{hint}"
        )
        return Ending(how)


class TcpLauncher:
    def __init__(self):
        self.listener = Listener("127.0.0.1", self._greeted)
        self.arrivals = self.listener.fileno()
        self.handles = {}

    def wanted(self, busy, idle):
        return None

    def launch(self, number):
        self.handles[number] = TcpHandle(self.listener.address, self.listener.token, number)
        return self.handles[number]

    def accept(self):
        self.listener.attend()

    def _greeted(self, greeting, connected):
        self.handles[greeting["number"]].socket = connected

    def close(self):
        self.listener.close()


def open_over_tcp(function, workers, workplace):
    """Start worker processes that connect to this one."""
    return WorkerBackend(
        lambda on_notice: TcpLauncher(),
        workers,
        setup={"cwd": str(Path.cwd()), "preload": []},
        function=function,
        workplace=workplace,
    )
