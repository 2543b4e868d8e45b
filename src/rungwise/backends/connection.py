"""The tuner's end of the socket to a worker: lines of JSON, and no call that blocks.

What the socket cannot take at once (a large configuration, a large function) is kept and sent when
there is room, so that a worker that is slow to read never holds up the others.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

from rungwise.core.events import FURTHEST

CHUNK = 256 * 1024
"""How many bytes are read at a time."""

LONGEST_LINE = 64 * 1024 * 1024
"""A worker that sends a longer line, or one that is no message, counts as gone."""

_NUMBER = (int, float)

_ANSWERS = {answer: json.dumps(answer).encode() + b"\n" for answer in (True, False)}

_read_document = json.JSONDecoder().raw_decode


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_resource(value: Any) -> bool:
    return type(value) in _NUMBER and 0 <= value <= FURTHEST


def _is_reached(value: Any) -> bool:
    return _is_resource(value) and value > 0


def _is_value(value: Any) -> bool:
    return type(value) is float or (type(value) is int and -FURTHEST <= value <= FURTHEST)


def _is_text(value: Any) -> bool:
    return type(value) is str


def _are_metrics(value: Any) -> bool:
    return type(value) is dict and all(map(_is_value, value.values()))


FIELDS: dict[str, tuple[Callable[[Any], bool], ...]] = {
    "ready": (),
    "unfit": (_is_text, _is_text),
    "started": (_is_count,),
    "report": (_is_count, _is_reached, _is_value, _are_metrics),
    "saved": (_is_count, _is_resource, _is_count),
    "notice": (_is_count, _is_text),
    "failed": (_is_count, _is_text, _is_text, _is_text),
    "ended": (_is_count,),
    "launched": (_is_count, _is_count),
    "exited": (_is_count, _is_text),
}
"""The kinds of messages, of workers and of the actors that hold them, with what their fields may
be: a message that breaks a rule is the end of who sent it, and never of the tuner."""


class Connection:
    """A socket to a worker.

    Args:
        connected: the socket.
    """

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        connected.setblocking(False)
        self._incoming = bytearray()  # what has not been parsed
        self._searched = 0  # so much of it has no end of a line
        self._outgoing = bytearray()
        self.broken = False

    def send(self, message: Any, payload: bytes = b"") -> bool:
        """Send a message, and bytes after it; what cannot be sent now is sent by :meth:`flush`.

        Returns:
            Whether nothing waits.
        """
        if type(message) is bool:  # the answer to a report, as nearly all are
            data = _ANSWERS[message]
        else:
            data = json.dumps(message).encode() + b"\n" + payload
        if self._outgoing:
            self._outgoing += data
            return False
        sent = self._write(data)
        if sent == len(data):
            return True
        self._outgoing += memoryview(data)[sent:]
        return False

    def flush(self) -> None:
        """Send more of what is waiting."""
        sent = self._write(memoryview(self._outgoing)[:CHUNK].tobytes())
        del self._outgoing[:sent]

    @property
    def waiting(self) -> bool:
        """Whether there is anything to flush."""
        return bool(self._outgoing) and not self.broken

    def _write(self, data: bytes) -> int:
        if self.broken:
            return 0
        try:
            return self.socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self.broken = True  # the worker is dead, which receive() reports soon enough
            return 0

    def receive(self) -> list[Any] | None:
        """The messages that have arrived; None when the other end is gone."""
        return self._parse() if self._read() is not False else None

    def receive_rest(self) -> list[Any]:
        """All that a worker has sent which is dead; a message that it did not complete is lost."""
        messages: list[Any] = []
        while self._read():
            parsed = self._parse()
            if parsed is None:
                break
            messages += parsed
        return messages

    def _read(self) -> bool | None:
        """Read what is there, a chunk at the most: None if that is nothing, False if it is over."""
        try:
            read = self.socket.recv(CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return False
        self._incoming += read
        return bool(read)

    def _parse(self) -> list[Any] | None:
        """The messages that are complete; None if that is not what a worker sends."""
        end = self._incoming.rfind(b"\n", self._searched)
        self._searched = len(self._incoming)
        if end < 0:
            return [] if len(self._incoming) <= LONGEST_LINE else None
        whole = self._incoming[:end]
        del self._incoming[: end + 1]
        self._searched = len(self._incoming)
        if self._searched > LONGEST_LINE:
            return None
        try:
            found = [_parse_line(line) for line in whole.decode().split("\n")]
        except (ValueError, RecursionError):  # something else has written to the socket
            return None
        for each in found:
            if not is_message(each):
                return None
        return found

    def close(self) -> None:
        """Close the socket."""
        self.broken = True
        self.socket.close()


def _parse_line(line: str) -> Any:
    """A document; without a search for spaces around it, which workers do not send."""
    try:
        found, end = _read_document(line)
    except ValueError:
        end = -1
    return found if end == len(line) else json.loads(line)


def is_message(found: Any) -> bool:
    """Whether a line of JSON is a message of a worker."""
    if type(found) is not list or not found or type(found[0]) is not str:
        return False
    if len(found) == 5 and found[0] == "report":  # as nearly all are, with no other metrics
        _, job, resource, value, metrics = found
        plain = type(job) is int and type(value) is float and type(resource) in _NUMBER
        if plain and job >= 0 and 0 < resource <= FURTHEST and metrics == {}:
            return True
    checks = FIELDS.get(found[0])
    return (
        checks is not None
        and len(found) == len(checks) + 1
        and all(check(value) for check, value in zip(checks, found[1:], strict=True))
    )
