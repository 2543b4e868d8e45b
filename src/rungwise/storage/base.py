"""What a log is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from rungwise.core.decisions import Decision
from rungwise.core.events import Event
from rungwise.core.study import Study

Entry = tuple[Event, Decision]
"""A fact and what was decided on it."""


class EntrySink(Protocol):
    """What the driver needs of a log."""

    def extend(self, entries: Iterable[Entry]) -> None:
        """Keep several entries, all of them or none; durable when this returns."""
        ...


class EventLog(EntrySink, Protocol):
    """The specification of a study, and an append-only sequence of entries."""

    def begin(self, study: Study) -> None:
        """Keep what the study is, before its first entry."""
        ...

    @property
    def study(self) -> Study:
        """What the study is."""
        ...

    def append(self, event: Event, decision: Decision) -> None:
        """Keep an entry; it is durable, as far as the log can be, when this returns."""
        ...

    def read_from(self, start: int = 0) -> Iterator[Entry]:
        """The entries from a position on."""
        ...
