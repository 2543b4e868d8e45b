"""How child processes of a job reach its run: requests and answers over an authenticated socket.

The process that runs the job listens, and a thread per child relays what it asks. The socket is
one of this machine: a Unix socket in a folder that only its user can enter, or where there are
none a TCP port of the loopback interface. Both ends prove that they know a random token, and what
they then exchange is JSON.

Law of this file: one process speaks for a job at a time. Which one it is does not matter, but two
that report the same training would each count it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection
from typing import Any

from rungwise.errors import ShareError

LONGEST = 1 << 20
"""Bytes of a request at most: a report with all its metrics."""

MOST = 256
"""Child processes that may be connected at the same time."""

CLOSING_TIME = 2.0
"""Seconds that a child process has to end when its job has left, before it is killed."""

Address = str | tuple[str, int]


class JobLeftError(Exception):
    """The job has left: there is nothing more to say for it."""


class ShareServer:
    """Answers the child processes of one job.

    Args:
        relay: answers a request. What it raises is raised in the child: :class:`ShareError` with
            its message, and everything else as :class:`JobLeftError`.
        own_children: whether every child process of this process belongs to the job, so that those
            it has started since can be ended with it.
    """

    def __init__(self, relay: Callable[[list[Any]], Any], *, own_children: bool) -> None:
        self._relay = relay
        self.token = secrets.token_bytes(32)
        self._listener = _listen()
        self.address: Address = self._listener.address
        self._before = set(multiprocessing.active_children()) if own_children else None
        self._lock = threading.Lock()
        self._connected: dict[connection.Connection, int] = {}  # with the process at its other end
        self._speaker: connection.Connection | None = None
        self._closed = False
        threading.Thread(target=self._accept, name="rungwise-share", daemon=True).start()

    def close(self, *, end_children: bool) -> None:
        """The job has left: nothing more is relayed.

        Args:
            end_children: whether to end the child processes that the job has left behind.
        """
        with self._lock:
            self._closed = True
            connected = list(self._connected)
        with suppress(OSError, EOFError):
            connection.Client(self.address).close()  # so that the thread that accepts wakes up
        self._listener.close()
        for each in connected:
            # Not close(): a thread waits for it, and the number of the file may be given away.
            with suppress(OSError):
                _shut_down(each)
        if end_children and self._before is not None:
            _end([each for each in multiprocessing.active_children() if each not in self._before])

    def _accept(self) -> None:
        while True:
            try:
                found = self._listener.accept()
            except OSError:  # of one that went away again, or the listener is closed
                found = None
            with self._lock:
                if self._closed:
                    break
                if found is not None and len(self._connected) < MOST:
                    self._connected[found] = 0
                    threading.Thread(target=self._serve, args=(found,), daemon=True).start()
                    continue
            if found is not None:
                found.close()
        if found is not None:
            found.close()

    def _serve(self, child: connection.Connection) -> None:
        try:
            connection.deliver_challenge(child, self.token)
            connection.answer_challenge(child, self.token)
            self._connected[child] = int(json.loads(child.recv_bytes(LONGEST)))
            while True:
                request = json.loads(child.recv_bytes(LONGEST))
                child.send_bytes(json.dumps(self._answer(child, request)).encode())
        except (EOFError, OSError, ValueError, TypeError, multiprocessing.AuthenticationError):
            pass  # it has ended, or it is none of ours
        finally:
            with self._lock:
                self._connected.pop(child, None)
                if self._speaker is child:
                    self._speaker = None
            child.close()

    def _answer(self, child: connection.Connection, request: list[Any]) -> list[Any]:
        with self._lock:
            if self._closed:
                return ["left", None]
            if self._speaker is None:
                self._speaker = child
            if self._speaker is not child:
                return ["refused", _two_speakers(self._connected[self._speaker])]
        try:
            return ["answer", self._relay(request)]
        except ShareError as error:
            return ["refused", str(error)]
        except BaseException:  # noqa: BLE001 - the job was asked to leave, in this thread
            return ["left", None]


class ShareClient:
    """A child's end of the socket; it connects when it is first used.

    Args:
        address: where the process listens that runs the job.
        token: what both must know.
    """

    def __init__(self, address: Address, token: bytes) -> None:
        self.address = address
        self.token = token
        self._owner = 0
        self._connection: connection.Connection | None = None
        self._lock = threading.Lock()

    def ask(self, *request: Any) -> Any:
        """Send a request, and wait for the answer.

        Raises:
            ShareError: the request was refused.
            JobLeftError: the job has left.
        """
        if self._owner != os.getpid():  # first use, or a fork has copied it
            self._owner, self._lock = os.getpid(), threading.Lock()
            self._connection = None
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                self._connection.send_bytes(json.dumps(request).encode())
                kind, answer = json.loads(self._connection.recv_bytes(LONGEST))
            except (EOFError, OSError):
                raise JobLeftError from None
        if kind == "refused":
            raise ShareError(answer)
        if kind == "left":
            raise JobLeftError
        return answer

    def _connect(self) -> connection.Connection:
        try:
            found = connection.Client(self.address, authkey=self.token)
        except multiprocessing.AuthenticationError:
            raise ShareError("the process that runs the job has refused the token") from None
        found.send_bytes(str(self._owner).encode())
        return found


def _listen() -> connection.Listener:
    if hasattr(socket, "AF_UNIX"):
        with suppress(OSError):  # the name of the temporary folder may be too long for one
            return connection.Listener(family="AF_UNIX", backlog=MOST)
    return connection.Listener(("127.0.0.1", 0), backlog=MOST)


def _shut_down(each: connection.Connection) -> None:
    with socket.socket(fileno=os.dup(each.fileno())) as found:
        found.shutdown(socket.SHUT_RDWR)


def _end(children: list[Any]) -> None:
    for child in children:
        child.terminate()
    for child in children:
        child.join(CLOSING_TIME)
        if child.is_alive():
            child.kill()
            child.join()


def _two_speakers(process: int) -> str:
    return (
        f"process {process} reports and writes checkpoints for this trial already, and only one "
        f"process may: call report and checkpoint on rank 0 alone, and broadcast the answer"
    )
