"""What a log is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from rungwise.core.decisions import Decision
from rungwise.core.events import Event
from rungwise.core.study import Study

Entry = tuple[Event, Decision]
"""An event and the decision it led to."""


class EntrySink(Protocol):
    """The part of a log that the driver needs."""

    def extend(self, entries: Iterable[Entry]) -> None:
        """Store several entries, all of them or none; durable when this returns."""
        ...


class EventLog(EntrySink, Protocol):
    """The specification of a study, and an append-only sequence of entries."""

    def begin(self, study: Study) -> None:
        """Store the specification of the study, before its first entry."""
        ...

    @property
    def study(self) -> Study:
        """The specification of the study."""
        ...

    def append(self, event: Event, decision: Decision) -> None:
        """Store an entry; when this returns, it is as durable as this kind of log can be."""
        ...

    def read_from(self, start: int = 0) -> Iterator[Entry]:
        """The entries from a position on."""
        ...
