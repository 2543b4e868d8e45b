"""Check everything in a study file."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rungwise.errors import CorruptLogError
from rungwise.storage.engine_state import digest_engine
from rungwise.storage.snapshots import read_snapshot
from rungwise.tuning.folding import fold
from rungwise.tuning.opening import open_to_read


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked.

    Attributes:
        entries: how many entries, of all studies in the file.
        reports: how many reports that brought something new.
        trials: of how many trials.
        notes: how many notes.
        retrainings: how many retrainings.
    """

    entries: int
    reports: int
    trials: int
    notes: int
    retrainings: int


def verify_study(study: str | os.PathLike[str]) -> Verified:
    """Check every checksum in a file, and replay every decision of every study in it.

    Args:
        study: the file.
    """
    with open_to_read(study, checked=True) as file:
        found = read_snapshot(file.log)
        short = None if found is None else digest_engine(*fold(file))
        found = None
        engine, clock = fold(file, whole=True)
        if short is not None and short != digest_engine(engine, clock):
            raise CorruptLogError(str(file.path), "its snapshot is not what its entries lead to")
        parts = [part for _, part in file.retrainings()]
        for part in parts:
            fold(part)
            part.failures()
        file.failures()
        _ = file.about
        return Verified(
            entries=len(file.log),
            reports=engine.reports,
            trials=len(engine.trials),
            notes=file.log.notes,
            retrainings=len(parts),
        )
