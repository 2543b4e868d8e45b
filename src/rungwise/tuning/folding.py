"""The engine of a study in a file, rebuilt from its log."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from rungwise.core.engine import Engine
from rungwise.core.events import StudyExtended
from rungwise.core.replay import lost_jobs, replay
from rungwise.errors import ReplayMismatchError, RoundingWarning
from rungwise.session import snapshot_keeper
from rungwise.storage.base import Entry
from rungwise.storage.snapshots import KeptCurves, Snapshot, read_snapshot
from rungwise.storage.study_file import StudyFile, StudyPart, shown


def fold(
    part: StudyFile | StudyPart,
    on_entry: Callable[[Entry], None] | None = None,
    *,
    whole: bool = False,
) -> tuple[Engine, float]:
    """The engine of a study, and where the study's clock stands.

    Every decision is checked that came after the snapshot of the study, if it has one.

    Args:
        part: the study, or the file it is in.
        on_entry: called with every entry before it is replayed.
        whole: replay everything, also what a snapshot holds.
    """
    part = part.main if isinstance(part, StudyFile) else part
    whole = whole or on_entry is not None or part.number != 0
    found = None if whole else read_snapshot(part.file.log, part.file.types)
    if found is not None:
        if found.entries < snapshot_keeper.EVERY:  # damage is found where that takes no time
            part.file.log.check_entries()
        try:
            engine, part.clock = _replay(part, on_entry, found)
        except Exception:  # noqa: BLE001 - whatever a false snapshot may lead to: the entries count
            found = None
    if found is None:
        engine, part.clock = _replay(part, on_entry, None)
    part.curves = KeptCurves() if found is None else found.curves
    return engine, part.clock


def _replay(
    part: StudyPart, on_entry: Callable[[Entry], None] | None, found: Snapshot | None
) -> tuple[Engine, float]:
    clock = 0.0 if found is None else found.clock
    after = (0, 0) if found is None else (found.entries, found.checksum)
    done = None if found is None else (found.engine, found.entries)
    space = part.study.space
    # Configurations that cannot be drawn again here are taken from the log as they are.
    propose = None if space is None or space.drawable else False

    def entries() -> Iterator[Entry]:
        nonlocal clock
        for entry in part.read_from(after=after):
            clock = max(clock, entry[0].at)
            if on_entry is not None:
                on_entry(entry)
            yield entry

    rounded: list[int] = []
    try:
        engine = replay(
            part.study, entries(), propose=propose, on_rounded=rounded.append, after=done
        )
    except ReplayMismatchError as error:
        error.args = (f"{part.file.path}: {error}",)  # replay() knows of no files
        raise
    if rounded:
        text = (
            f"{shown(part.file.path)} was written on a machine that rounds in another way: this "
            f"one would have proposed {len(rounded)} of its {len(engine.trials)} configurations "
            f"with other last digits. Those in the file are what happened, and are kept."
        )
        warnings.warn(text, RoundingWarning, stacklevel=2)
    return engine, clock


def fold_for_resuming(
    part: StudyPart, extend: Callable[[Engine, float], StudyExtended | None] | None = None
) -> tuple[Engine, float]:
    """The same as :func:`fold`, with the jobs that were open given up as lost.

    Args:
        part: the study.
        extend: (the engine, the clock) → how the study is extended, or None; if it raises, nothing
            has been written.
    """
    # Every decision of a study is checked before it goes on, unless that would take long.
    engine, clock = fold(part, whole=len(part.file.log) < snapshot_keeper.EVERY)
    entries: list[Entry] = [(event, engine.handle(event)) for event in lost_jobs(engine, at=clock)]
    event = None if extend is None else extend(engine, clock)
    if event is not None:
        entries.append((event, engine.handle(event)))
    if entries:
        part.extend(entries)
    return engine, clock
