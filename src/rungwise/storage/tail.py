"""The newest entries of a log that another process writes to, read again and again.

Only what is new is read and decoded, many entries at a time: a reader that follows a study pays for
its new entries and not for its length. Every entry is checked as in :class:`SqliteLog`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rungwise.core.codec import read_plain_event
from rungwise.errors import CorruptLogError
from rungwise.storage import codec
from rungwise.storage.base import Entry
from rungwise.storage.log_rows import chain_entry
from rungwise.storage.sqlite import SqliteLog

BATCH = 20_000
"""How many entries are read at once: it bounds the memory that this takes."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log has been read.

    Attributes:
        entries: how many entries.
        checksum: of the last of them.
    """

    entries: int = 0
    checksum: int = 0


def is_still_there(log: SqliteLog, position: Position) -> bool:
    """Whether a log begins with what has been read; false if it is another one by now."""
    if not position.entries:
        return True
    last = position.entries - 1
    found = log.select(f"SELECT checksum FROM entries WHERE number = {last:d}")  # noqa: S608 - a number
    return found == [(position.checksum,)]


def read_tail(
    log: SqliteLog, position: Position, limit: int = BATCH
) -> tuple[list[tuple[int, Entry]], Position]:
    """Entries from a position on: ([(part, entry), …], the position behind them).

    Args:
        log: open for reading.
        position: what has been read.
        limit: how many entries at most.
    """
    of = "part" if log.version > 2 else "0"
    rows = log.select(
        f"SELECT number, event, decision, checksum, {of} FROM entries "  # noqa: S608 - numbers
        f"WHERE number >= {position.entries:d} ORDER BY number LIMIT {limit:d}"
    )
    checksum = position.checksum
    for expected, (number, what, answer, stored, part) in enumerate(rows, start=position.entries):
        if number != expected:
            raise CorruptLogError(str(log.path), f"entry {expected} is missing")
        if not (type(what) is str and type(answer) is str and type(part) is int):
            raise CorruptLogError(str(log.path), f"entry {number} is no text")
        checksum = chain_entry(what, answer, part, before=checksum)
        if checksum != stored:
            raise CorruptLogError(str(log.path), f"entry {number} was altered")
    entries = [
        (row[4], entry) for row, entry in zip(rows, _decode(rows, str(log.path)), strict=True)
    ]
    return entries, Position(position.entries + len(rows), checksum)


def read_parts(log: SqliteLog, position: Position) -> list[tuple[int, Entry]]:
    """[(part, entry), …] of the further studies in a log, up to a position.

    They are few. Each is checked against the entry before it; what lies between is not read.

    Args:
        log: open for reading, of the version that has snapshots, or a later one.
        position: what is behind it is left to :func:`read_tail`.
    """
    rows = log.select(
        "SELECT number, event, decision, checksum, part, ifnull((SELECT before.checksum "  # noqa: S608 - a number
        "FROM entries AS before WHERE before.number = entries.number - 1), 0) FROM entries "
        f"WHERE part > 0 AND number < {position.entries:d} ORDER BY number"
    )
    for number, what, answer, stored, part, before in rows:
        if chain_entry(what, answer, part, before=before) != stored:
            raise CorruptLogError(str(log.path), f"entry {number} was altered")
    return [(row[4], entry) for row, entry in zip(rows, _decode(rows, str(log.path)), strict=True)]


def _decode(rows: Sequence[tuple[Any, ...]], path: str) -> list[Entry]:
    """The entries of some rows; one document for all is read several times as fast."""
    try:
        text = ",".join(row[1] for row in rows)
        events = json.loads(f"[{text}]", parse_constant=_refuse)
    except (ValueError, RecursionError):
        events = []
    if len(events) != len(rows):  # one of them is damaged: find out which
        events = [None] * len(rows)
    found = []
    for (number, what, answer, *_), event in zip(rows, events, strict=True):
        plain, decision = read_plain_event(event), codec.DECISIONS.get(answer)
        if plain is None or decision is None:
            place = f"entry {number} of {path}"
            found.append(codec.entry_from_texts(what, answer, place, event))
        else:
            found.append((plain, decision))
    return found


def _refuse(name: str) -> Any:
    raise ValueError(name)
