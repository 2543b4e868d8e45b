"""A JSON text of two levels of objects, one entry at a time.

``{"a": {"0": …, "1": …}, "b": {…}}`` gives ("a", "0", …), ("a", "1", …), …; no more than an entry
is in memory, so that a text of gigabytes can be read.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import IO, Any

from rungwise.errors import TableError, Words
from rungwise.lab.sources.source_errors import damaged, malformed

LARGEST_ENTRY = 32 * 2**20
"""The most characters of an entry."""

MOST_OUTER = 10_000
"""The most keys of the outer object."""

_CHUNK = 2**20
_CUT = 16  # no number, constant or escape that is cut off is an error further from the end
_SPACES = " \t\r\n"
_BEHIND = frozenset(f"{_SPACES},:]}}")


def iterate_entries(
    stream: IO[bytes], name: str, on_outer: Callable[[str], object] | None = None
) -> Iterator[tuple[str, str, Any]]:
    """Every entry with its two keys, in the order of the text.

    Args:
        stream: the text.
        name: which file it is, for errors.
        on_outer: is called with every key of the outer object, also one without entries.
    """
    walker = _Walker(stream, name)
    seen = set()
    for outer in walker.keys():  # noqa: SIM118 - it is no dict
        if outer in seen:
            raise TableError(name, Words("ambiguous"), f"{outer!r} must occur only once")
        seen.add(outer)
        if len(seen) > MOST_OUTER:
            raise TableError(
                name, Words("in an unknown format"), f"at most {MOST_OUTER:,} keys are read"
            )
        if on_outer is not None:
            on_outer(outer)
        for inner in walker.keys():  # noqa: SIM118
            yield outer, inner, walker.value()
    walker.end()


class _Walker:
    """A place in a text."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream = stream
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._scanner = json.JSONDecoder()
        self._text = ""
        self._here = 0
        self._ended = False
        self._path: list[str] = []
        self._characters = 0  # of the text before those that are held
        self._bytes = 0  # that are decoded
        self._undecodable: UnicodeDecodeError | None = None

    def keys(self) -> Iterator[str]:
        """The keys of an object; after each, its value must be read."""
        self._expect("{")
        if self._peek() == "}":
            self._here += 1
            return
        while True:
            if self._peek() != '"':
                raise self._wrong("a key in quotes")
            key = self.value()
            self._path.append(key)
            self._expect(":")
            yield key
            mark = self._peek()
            if mark not in {",", "}"}:
                raise self._wrong("a comma or a closing brace")
            self._here += 1
            self._path.pop()
            if mark == "}":
                return

    def value(self) -> Any:
        """The value that comes next."""
        self._peek()
        size = _CHUNK
        while True:
            try:
                value, end = self._scanner.raw_decode(self._text, self._here)
            except json.JSONDecodeError as error:
                # It may only go on behind what was read so far.
                if self._ended or self._is_certain(error):
                    raise malformed(self._place, error, self._characters) from None
            except (ValueError, RecursionError) as error:
                raise malformed(self._place, error) from None
            else:
                # What looks like the number 1 may be the beginning of 1.5.
                if self._ended or self._text[end : end + 1] in _BEHIND:
                    self._here = end
                    return value
            if len(self._text) - self._here > LARGEST_ENTRY:
                rule = f"an entry may have at most {LARGEST_ENTRY:,} characters"
                raise TableError(self._place, Words("malformed, or in an unknown format"), rule)
            self._more(size)
            size *= 2  # so that a long value is not tried too often

    def end(self) -> None:
        """Check that nothing but space follows."""
        if self._peek():
            raise self._wrong("nothing more")

    def _peek(self) -> str:
        """The next character that is no space; none at the end."""
        while True:
            while self._here < len(self._text):
                if self._text[self._here] not in _SPACES:
                    return self._text[self._here]
                self._here += 1
            if self._ended:
                return ""
            self._more(_CHUNK)

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise self._wrong(repr(character))
        self._here += 1

    def _more(self, size: int) -> None:
        if self._undecodable is not None:
            raise malformed(self._place, self._undecodable, self._bytes)
        raw = self._stream.read(size)
        self._ended = not raw
        held = len(self._decoder.getstate()[0])
        try:
            more = self._decoder.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            # Entries may come before it: it is raised when its turn comes.
            more = error.object[: error.start].decode()
            self._undecodable, self._ended = error, False
            self._bytes -= held
        else:
            self._bytes += len(raw)
        self._characters += self._here
        self._text = self._text[self._here :] + more
        self._here = 0

    def _is_certain(self, error: json.JSONDecodeError) -> bool:
        """Whether an error stays one, however the text goes on."""
        return not error.msg.startswith("Unterminated") and error.pos < len(self._text) - _CUT

    @property
    def _place(self) -> str:
        """The file, and the keys of the entry."""
        keys = ", ".join(repr(key[:80]) for key in self._path)
        return f"{self._name}: {keys}" if keys else self._name

    def _wrong(self, wanted: str) -> TableError:
        around = self._text[self._here : self._here + 20]
        place = f"character {self._characters + self._here + 1:,}"
        found = f"{place}, {around!r}" if around else "its end"
        return damaged(self._place, f"at {found}, {wanted} is expected")
