"""Check everything in a study file."""

from __future__ import annotations

import os
from dataclasses import dataclass

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
    with open_to_read(study) as file:
        engine, _ = fold(file)
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
