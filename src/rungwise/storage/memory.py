"""A log in memory, which can be written to and read from JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rungwise.core.codec import (
    SCHEMA,
    decision_from_json,
    decision_to_json,
    event_from_json,
    event_to_json,
)
from rungwise.core.decisions import Decision
from rungwise.core.events import Event
from rungwise.errors import SchemaError
from rungwise.storage.base import Entry


class MemoryLog:
    """A list of entries.

    Args:
        entries: what it holds at first.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = list(entries)

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, event: Event, decision: Decision) -> None:
        self.entries.append((event, decision))

    def read_from(self, start: int = 0) -> Iterator[Entry]:
        return iter(self.entries[start:])

    def to_lines(self) -> Iterator[str]:
        """The log as JSON lines: a header with the schema version, then an entry a line."""
        yield json.dumps({"kind": "Log", "schema": SCHEMA})
        for event, decision in self.entries:
            entry = {"event": event_to_json(event), "decision": decision_to_json(decision)}
            yield json.dumps(entry, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> MemoryLog:
        """The log that :meth:`to_lines` wrote.

        Raises:
            SchemaError: a line is torn or of another format; it is named.
        """
        log = cls()
        for number, line in enumerate(lines, start=1):
            entry = _parse(line, number)
            if entry is not None:
                log.append(*entry)
        return log


def _parse(line: str, number: int) -> Entry | None:
    """The entry of a line; None for the header."""
    try:
        data = json.loads(line)
        if number == 1:
            _check_header(data)
            return None
        return event_from_json(data["event"]), decision_from_json(data["decision"])
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError, SchemaError) as error:
        raise SchemaError(f"Line {number} of the log cannot be read: {error}") from error


def _check_header(data: object) -> None:
    if not isinstance(data, dict) or data.get("kind") != "Log":
        raise SchemaError("it is not the header of a log")
    if data.get("schema") != SCHEMA:
        raise SchemaError(f"schema is {data.get('schema')!r}, but this version reads {SCHEMA}")
