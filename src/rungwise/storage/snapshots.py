"""Snapshots of a study in its file, so that its entries need not be replayed.

Law of this file: a snapshot is never believed without proof. It is used only if the entry that it
ends with is in the log, with the same checksum of the chain; if its own digest, over all of its
parts, is right; and if the code that wrote it is the code that reads it. Otherwise the log is
replayed, as if there were none. ``rungwise verify`` replays everything in any case.

Curves are stored in chunks, each with the points that are newer than those of the last one: so a
snapshot costs what is new, and what grows with the number of trials, but not with that of reports.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rungwise.core.engine import Engine
from rungwise.errors import CorruptLogError, RungwiseError
from rungwise.storage.engine_state import (
    compute_layout,
    engine_from_text,
    engine_to_text,
    pack_points,
)
from rungwise.storage.sqlite import SqliteLog

VERSION = 5
"""The schema from which on files can hold snapshots."""


@dataclass(slots=True)
class KeptCurves:
    """Which points of curves are in the chunks of a file.

    Attributes:
        lengths: how many points of each trial.
        digests: the digest of each chunk.
        entries: after how many entries of the log the snapshot was taken.
    """

    lengths: list[int] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    entries: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that was found to be right.

    Attributes:
        engine: the engine.
        clock: where the clock of the study stood.
        entries: after how many entries of the log, of all studies in it.
        checksum: the checksum of the chain there.
        curves: what is in the chunks.
    """

    engine: Engine
    clock: float
    entries: int
    checksum: int
    curves: KeptCurves


def write_snapshot(log: SqliteLog, engine: Engine, clock: float, curves: KeptCurves) -> None:
    """Store how a study stands now, after all entries of its log.

    Args:
        log: the log, open for writing.
        engine: the engine that has handled them.
        clock: where the clock of the study stands.
        curves: what is in the chunks already; it is changed.

    Raises:
        SchemaError: the scheduler keeps something that cannot be stored; nothing has changed.
        LogUnavailableError: it cannot be written; then the same.
    """
    text = engine_to_text(engine, clock)
    lengths = list(curves.lengths)
    chunk = pack_points(engine.trials, lengths)
    digests = [*curves.digests, hashlib.sha256(chunk).hexdigest()]
    entries, checksum = log.head
    row = (entries, checksum, compute_layout(log.study), text, " ".join(digests))
    with log.transaction() as database:
        if not curves.digests:
            database.execute("DELETE FROM curves")
        database.execute("INSERT INTO curves VALUES (?, ?)", (len(curves.digests), chunk))
        database.execute("DELETE FROM snapshot")
        statement = "INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?)"
        database.execute(statement, (*row, _compute_digest(*row)))
    curves.lengths, curves.digests, curves.entries = lengths, digests, entries


def read_snapshot(log: SqliteLog, types: Sequence[type] = ()) -> Snapshot | None:
    """The snapshot of a log if it has one that is right, otherwise None.

    Args:
        log: the log, while nothing is written to it.
        types: recipes, rankings and searchers beyond those of rungwise.
    """
    if log.version < VERSION:
        return None
    try:
        found = log.select("SELECT * FROM snapshot LIMIT 2")
    except CorruptLogError:  # the log does without it
        return None
    if len(found) != 1 or len(found[0]) != 6:
        return None
    *row, digest = found[0]
    entries, checksum, layout, text, digests = row
    if tuple(map(type, row)) != (int, int, str, str, str) or digest != _compute_digest(*row):
        return None
    ending = log.select("SELECT checksum FROM entries WHERE number = ?", (entries - 1,))
    if ending != [(checksum,)]:
        return None
    names = digests.split()
    try:
        if layout != compute_layout(log.study):
            return None
        chunks = _read_chunks(log, names)
        engine, clock, lengths = engine_from_text(text, log.study, chunks, types)
    except (RungwiseError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return Snapshot(engine, clock, entries, checksum, KeptCurves(lengths, names, entries))


def _read_chunks(log: SqliteLog, digests: Sequence[str]) -> Iterator[bytes]:
    for number, digest in enumerate(digests):
        ((chunk,),) = log.select("SELECT points FROM curves WHERE number = ?", (number,))
        if hashlib.sha256(chunk).hexdigest() != digest:
            raise ValueError(f"chunk {number} was altered")
        yield chunk


def _compute_digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()
