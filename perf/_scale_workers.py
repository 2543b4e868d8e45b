"""Many fake workers in one process: they speak the protocol of workers and train nothing.

    python perf/_scale_workers.py ADDRESS TOKEN COUNT

For perf/scale.py, which starts it.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
from typing import Any


class FakeWorker:
    """One connection to the tuner."""

    def __init__(self, address: str, token: str, number: int) -> None:
        host, _, port = address.removeprefix("tcp:").rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(json.dumps({"token": token, "number": number}).encode() + b"\n")
        self._read = b""
        self._skip = -1  # bytes of the training function that are still to come
        self._job = 0
        self._resource = 0.0
        self._slope = 0.0

    def attend(self) -> bool:
        """Read what has arrived and answer; False when the tuner is gone."""
        try:
            read = self.socket.recv(65536)
        except OSError:
            return False
        self._read += read
        said = b""
        while True:
            if self._skip > 0:
                taken = min(self._skip, len(self._read))
                self._read, self._skip = self._read[taken:], self._skip - taken
                if self._skip:
                    break
                said += b'["ready"]\n'
            line, found, rest = self._read.partition(b"\n")
            if not found:
                break
            self._read = rest
            said += self._handle(json.loads(line))
        if said:
            self.socket.sendall(said)
        return bool(read)

    def _handle(self, message: Any) -> bytes:
        if message is True:
            return self._report()
        if message is False or "leave" in message:
            return b'["ended", %d]\n' % self._job
        if "function" in message:
            self._skip = message["function"]
            return b""
        job = message["start"]
        self._job, self._resource = job["job"], job["start"]
        self._slope = abs(job["config"]["x"] - 0.3)
        return b'["started", %d]\n' % self._job + self._report()

    def _report(self) -> bytes:
        self._resource += 1
        loss = self._slope + 1 / self._resource
        return b'["report", %d, %d, %.6f, {}]\n' % (self._job, self._resource, loss)


def main(address: str, token: str, count: str) -> None:
    """Serve until the tuner is gone."""
    selector = selectors.DefaultSelector()
    for number in range(int(count)):
        worker = FakeWorker(address, token, number)
        selector.register(worker.socket, selectors.EVENT_READ, worker)
    while True:
        for key, _ in selector.select():
            if not key.data.attend():
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
