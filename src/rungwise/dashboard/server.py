"""The server of the page: from the standard library, on this machine unless asked otherwise.

Each open page has a thread for its stream; there are limits on both. Nothing that happens here
reaches a study: it is read from its file.
"""

from __future__ import annotations

import errno
import gc
import socket
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from pathlib import Path
from typing import Any

from rungwise.dashboard.guard import Guard, is_loopback, make_token
from rungwise.dashboard.handler import Handler
from rungwise.dashboard.importances import Importances
from rungwise.dashboard.library import Library
from rungwise.errors import InvalidArgumentError
from rungwise.tuning.trust import derive_secret

HOST, PORT = "127.0.0.1", 8765

STREAMS, CONNECTIONS = 16, 64
"""How many pages may be followed at once, and how many connections there may be."""

TRIED = 100
"""How many ports after a busy one are tried."""


class Slots:
    """A number of places that can be taken.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Whether there was a place, which is free again afterwards."""
        found = self._free.acquire(blocking=False)
        try:
            yield found
        finally:
            if found:
                self._free.release()


class DashboardServer(socketserver.ThreadingMixIn, HTTPServer):
    """Serves the page of one study, or of those in a folder.

    Args:
        place: a study file or a folder.
        host: the address to listen at.
        port: the port; None: the usual one, or the next that is free.
        control: whether those with a second token may change something.

    Raises:
        InvalidArgumentError: the port is busy, or the address is not one of this machine.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(
        self, place: Path, *, host: str = HOST, port: int | None = None, control: bool = False
    ) -> None:
        self.library = Library(place)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        chosen = find_free_port(host, PORT) if port is None else port
        try:
            super().__init__((host, chosen), Handler)
        except OSError as error:
            raise _explain(error, host, chosen) from error
        number = int(self.server_address[1])
        self.guard = Guard(
            host,
            number,
            _find_token(self.library.place, host, number),
            make_token() if control else "",
        )
        self.streams = Slots(STREAMS)
        self.connections = Slots(CONNECTIONS)
        self.importance = Importances()
        self.changing = threading.Lock()
        self.closing = threading.Event()

    def server_bind(self) -> None:
        """Listen, without asking a name server for our name, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def address(self) -> str:
        """What a person opens; it holds the token."""
        return f"{self._base}/?token={self.guard.token}"

    @property
    def control_address(self) -> str:
        """The same with the token for control."""
        return f"{self.address}&control={self.guard.control}"

    @property
    def _base(self) -> str:
        host = self.guard.host
        if host in ("0.0.0.0", "::"):  # noqa: S104 - a name for all addresses
            host = socket.gethostname()
        return f"http://{f'[{host}]' if ':' in host else host}:{self.guard.port}"

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a connection, unless there are too many."""
        with self.connections.taken() as taken:
            if taken:
                super().process_request_thread(request, client_address)
            else:
                self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A page was closed, or a connection broke: nothing that anyone must know."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError, OSError)):
            print(f"rungwise dashboard: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201

    def close(self) -> None:
        """Tell open pages, and listen no more."""
        self.closing.set()
        self.library.close()
        self.server_close()


def prepare_process() -> None:
    """For a process that does nothing but this: look less often for garbage in what only grows."""
    gc.set_threshold(50_000, 20, 20)


def _find_token(place: Path, host: str, port: int) -> str:
    """The token of a server.

    On this machine it is always the same for a study and a port, so that a page that is open goes
    on when the server is started again; over a network it is a new one each time.
    """
    found = derive_secret(f"dashboard {port} {place}") if is_loopback(host) else None
    return found or make_token()


def find_free_port(host: str, first: int) -> int:
    """The first port from here on that is free."""
    for port in range(first, min(first + TRIED, 65536)):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                probe.listen(1)
            except OSError:
                continue
            return port
    return 0


def _explain(error: OSError, host: str, port: int) -> InvalidArgumentError:
    if error.errno == errno.EADDRINUSE:
        free = find_free_port(host, port + 1)
        rule = f"another program listens there; {free} is free: --port {free}"
        return InvalidArgumentError("port", port, rule)
    if error.errno == errno.EACCES:
        return InvalidArgumentError("port", port, "you may not use it: take one above 1023")
    return InvalidArgumentError("host", host, f"it is not an address of this machine ({error})")
