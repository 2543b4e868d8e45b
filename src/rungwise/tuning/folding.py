"""The engine of a study in a file, rebuilt from its log."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from rungwise.core.engine import Engine
from rungwise.core.events import StudyExtended
from rungwise.core.replay import lost_jobs, replay
from rungwise.errors import ReplayMismatchError, RoundingWarning
from rungwise.storage.base import Entry
from rungwise.storage.study_file import StudyFile, StudyPart, shown


def fold(
    part: StudyFile | StudyPart, on_entry: Callable[[Entry], None] | None = None
) -> tuple[Engine, float]:
    """The engine of a study, every decision checked, and where the study's clock stands.

    Args:
        part: the study, or the file it is in.
        on_entry: called with every entry before it is replayed.
    """
    part = part.main if isinstance(part, StudyFile) else part
    clock = 0.0
    space = part.study.space
    # Configurations that cannot be drawn again here are taken from the log as they are.
    propose = None if space is None or space.drawable else False

    def entries() -> Iterator[Entry]:
        nonlocal clock
        for entry in part.read_from():
            clock = max(clock, entry[0].at)
            if on_entry is not None:
                on_entry(entry)
            yield entry

    rounded: list[int] = []
    try:
        engine = replay(part.study, entries(), propose=propose, on_rounded=rounded.append)
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
    engine, clock = fold(part)
    entries: list[Entry] = [(event, engine.handle(event)) for event in lost_jobs(engine, at=clock)]
    event = None if extend is None else extend(engine, clock)
    if event is not None:
        entries.append((event, engine.handle(event)))
    if entries:
        part.extend(entries)
    return engine, clock
