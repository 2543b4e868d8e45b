"""A log in memory, which can be written to and read from JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rungwise.core.codec import SCHEMA
from rungwise.core.decisions import Decision
from rungwise.core.engine import Engine
from rungwise.core.events import Event
from rungwise.core.replay import replay as fold
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError, RungwiseError, SchemaError
from rungwise.storage import codec
from rungwise.storage.base import Entry, EventLog


class MemoryLog:
    """A list of entries.

    Args:
        entries: its first entries.
        study: the study they belong to.
    """

    def __init__(self, entries: Iterable[Entry] = (), *, study: Study | None = None) -> None:
        self.entries: list[Entry] = list(entries)
        self._study = study

    def __len__(self) -> int:
        return len(self.entries)

    def begin(self, study: Study) -> None:
        if self._study is not None:
            rule = "it already contains a study: use a new log"
            raise InvalidArgumentError("log", self, rule)
        self._study = study

    @property
    def study(self) -> Study:
        if self._study is None:
            raise InvalidArgumentError("log", self, "it contains no study")
        return self._study

    def append(self, event: Event, decision: Decision) -> None:
        self.entries.append((event, decision))

    def extend(self, entries: Iterable[Entry]) -> None:
        self.entries.extend(list(entries))  # all or none, also if the iterable raises

    def read_from(self, start: int = 0) -> Iterator[Entry]:
        return iter(self.entries[start:])

    def to_lines(self) -> Iterator[str]:
        """The log as JSON lines: schema version and study first, then one line per entry."""
        study = None if self._study is None else codec.study_to_json(self._study)
        yield codec.to_text({"kind": "Log", "schema": SCHEMA, "study": study})
        for entry in self.entries:
            yield codec.to_text(codec.entry_to_json(entry))

    @classmethod
    def from_lines(cls, lines: Iterable[str], *, types: Iterable[type] = ()) -> MemoryLog:
        """The log that :meth:`to_lines` wrote.

        Args:
            lines: the lines.
            types: recipes, rankings and searchers beyond those of rungwise.

        Raises:
            SchemaError: a line is incomplete or has another format; the error names it.
        """
        log: MemoryLog | None = None
        for number, line in enumerate(lines, start=1):
            if log is None:
                log = cls(study=_parse_header(line, types))
            else:
                log.append(*_parse(line, number))
        if log is None:
            raise SchemaError("Line 1 of the log cannot be read: it is missing.")
        return log


def replay(log: EventLog) -> Engine:
    """The engine as it was after the last entry of a log, every decision checked.

    Args:
        log: for example one that :func:`rungwise.simulate` has filled.

    Raises:
        ReplayMismatchError: an entry whose decision would be different now.

    Example:
        >>> import rungwise as rw
        >>> log = rw.MemoryLog()
        >>> result = rw.simulate(rw.power_laws(9, 9), rw.PASHA(), trials=9, log=log)
        >>> rw.replay(log).reports == result.reports
        True
    """
    return fold(log.study, log.read_from())


def _parse(line: str, number: int) -> Entry:
    place = f"Line {number} of the log"
    try:
        document = json.loads(line)
    except json.JSONDecodeError as error:
        raise SchemaError(f"{place} cannot be read: {error}") from error
    return codec.entry_from_json(document, place)


def _parse_header(line: str, types: Iterable[type]) -> Study | None:
    try:
        data = json.loads(line)
        if not isinstance(data, dict) or data.get("kind") != "Log":
            raise SchemaError("it is not the header of a log")
        if data.get("schema") != SCHEMA:
            found = data.get("schema")
            raise SchemaError(f"schema is {found!r}, but this version reads {SCHEMA}")
        study = data["study"]
        return None if study is None else codec.study_from_json(study, types=types)
    except (json.JSONDecodeError, KeyError, TypeError, RungwiseError) as error:
        raise SchemaError(f"Line 1 of the log cannot be read: {error}") from error
