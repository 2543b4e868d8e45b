"""Where workers on other machines connect to the tuner.

A peer that connects must soon send one short line of JSON with the token of this study, or it is
dropped. Nothing that arrives is ever unpickled or run.
"""

from __future__ import annotations

import json
import secrets
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

GREETING_TIME = 2.0
"""Seconds in which a peer must have sent its token."""

LONGEST_GREETING = 8192
"""Bytes that a peer may send before it has shown the token."""

MOST_STRANGERS = 256
"""So many peers may be connected without having shown the token; the oldest goes then."""

Greeted = Callable[[Mapping[str, Any], socket.socket], None]


class Listener:
    """Accepts workers; no call blocks.

    Args:
        host: the address of this machine to listen at, and no other.
        on_greeting: called with the greeting of a peer that has shown the token and said its
            number, and its socket.

    Attributes:
        address: what a worker is given to connect to, ``"tcp:host:port"``.
        token: what it must send.
        refused: how many peers were dropped.
    """

    def __init__(self, host: str, on_greeting: Greeted) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listening = socket.create_server((host, 0), family=family, backlog=1024)
        self._listening.setblocking(False)
        self._on_greeting = on_greeting
        self.address = f"tcp:{host}:{self._listening.getsockname()[1]}"
        self.token = secrets.token_hex(32)
        self.refused = 0
        self._strangers: dict[socket.socket, tuple[float, bytes]] = {}
        # A selector can be watched by another one: the tuner waits for one descriptor only.
        self._selector = selectors.DefaultSelector()
        self.watch(self._listening, self._accept)

    def fileno(self) -> int:
        """A descriptor that is readable when :meth:`attend` has something to do."""
        number: int = self._selector.fileno()
        return number

    def watch(self, peer: socket.socket, attend: Callable[[], None]) -> None:
        """Call a function when there is something to read from a socket."""
        self._selector.register(peer, selectors.EVENT_READ, attend)

    def forget(self, peer: socket.socket) -> None:
        """Watch a socket no more."""
        with suppress(KeyError, ValueError):
            self._selector.unregister(peer)

    def attend(self, seconds: float = 0) -> None:
        """Handle what has arrived; to be called every second even if nothing has.

        Args:
            seconds: how long to wait for something to arrive.
        """
        for key, _ in self._selector.select(seconds):
            # An earlier one may have removed it, and closed it too: then the selector cannot be
            # asked for it.
            peer = key.fileobj
            is_open = isinstance(peer, socket.socket) and peer.fileno() >= 0
            if is_open and peer in self._selector.get_map():
                key.data()
        now = time.monotonic()
        for peer, (since, _) in list(self._strangers.items()):
            if now - since > GREETING_TIME:
                self._drop(peer)

    def close(self) -> None:
        """Listen no more."""
        for peer in list(self._strangers):
            self._drop(peer)
        self.forget(self._listening)
        self._listening.close()
        self._selector.close()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listening.accept()
            except OSError:  # no more, or none that is left; or no descriptors: later
                return
            peer.setblocking(False)
            if len(self._strangers) >= MOST_STRANGERS:
                self._drop(next(iter(self._strangers)))
            self._strangers[peer] = (time.monotonic(), b"")
            self.watch(peer, lambda peer=peer: self._read(peer))  # type: ignore[misc]
            # Most send it together with the connection: when a thousand workers come at once, they
            # must not push each other out before their greeting is read.
            self._read(peer)

    def _read(self, peer: socket.socket) -> None:
        """Read a greeting byte by byte as far as needed: what follows it is not for this file."""
        since, line = self._strangers[peer]
        try:
            seen = peer.recv(LONGEST_GREETING, socket.MSG_PEEK)
            end = seen.find(b"\n")
            line += peer.recv(len(seen) if end < 0 else end + 1) if seen else b""
        except BlockingIOError:
            return
        except OSError:
            seen = b""
        if not seen or len(line) > LONGEST_GREETING:
            self._drop(peer)
            return
        self._strangers[peer] = (since, line)
        if line.endswith(b"\n"):
            self._judge(peer, line)

    def _judge(self, peer: socket.socket, line: bytes) -> None:
        try:
            greeting = json.loads(line)
            token = greeting["token"].encode() if type(greeting["number"]) is int else b""
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            token = b""
        if not secrets.compare_digest(token, self.token.encode()):
            self._drop(peer)
            return
        del self._strangers[peer]
        self.forget(peer)
        keep_alive(peer)
        self._on_greeting(greeting, peer)

    def _drop(self, peer: socket.socket) -> None:
        del self._strangers[peer]
        self.forget(peer)
        peer.close()
        self.refused += 1


def keep_alive(peer: socket.socket) -> None:
    """Answer at once, and notice in a minute when the machine at the other end has gone."""
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):  # not on every system
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
