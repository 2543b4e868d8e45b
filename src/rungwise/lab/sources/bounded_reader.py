"""The bytes of a pickle as its reader asks for them, and the limit on what it may ask for."""

from __future__ import annotations

import sys
from typing import Protocol

from rungwise.lab.sources.pickle_allowlist import Refused

_CHUNK = 64 * 2**10
_SHORT = 300  # no opcode of the fast path needs more bytes


class Readable(Protocol):
    """What can be read from."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


class Supply:
    """Bytes from a stream.

    Args:
        stream: where they come from.
        limit: the most that may be read and built until ``left`` is set anew.
    """

    def __init__(self, stream: Readable, limit: int) -> None:
        self.stream = stream
        self.limit = self.left = limit
        self.buffer, self.here, self.safe = b"", 0, -1

    def fill(self) -> None:
        """Have enough bytes for the fast path, unless the stream ends."""
        while len(self.buffer) - self.here <= _SHORT:
            if not self.more():
                self.safe = sys.maxsize
                return
        self.safe = len(self.buffer) - _SHORT

    def more(self) -> bool:
        """Read on; False at the end."""
        chunk = self.stream.read(_CHUNK)
        if not chunk:
            return False
        self.charge(len(chunk))
        self.buffer = self.buffer[self.here :] + chunk
        self.here = 0
        self.safe = len(self.buffer) - _SHORT
        return True

    def charge(self, size: int) -> None:
        """Count what was read or built against the limit."""
        self.left -= size
        if self.left < 0:
            found = f"a pickle with a part of more than {self.limit:,} bytes"
            raise Refused(found, "no part of these benchmarks is that large")

    def take(self, size: int) -> bytes:
        """The next bytes."""
        if size > self.limit:
            found = f"a pickle that declares an item of {size:,} bytes"
            raise Refused(found, f"at most {self.limit:,} are admitted")
        while self.here + size > len(self.buffer):
            if not self.more():
                raise EOFError("it ends too early")
        piece = self.buffer[self.here : self.here + size]
        self.here += size
        return piece

    def number(self, size: int) -> int:
        """The next bytes as a whole number."""
        return int.from_bytes(self.take(size), "little")

    def line(self) -> str:
        letters = bytearray()
        while (letter := self.take(1)) != b"\n":
            letters += letter
            if len(letters) > 200:
                raise Refused("a malformed pickle", "no name is that long")
        return letters.decode("utf-8")
