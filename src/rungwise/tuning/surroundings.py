"""What a study needs besides its workers: whether it is still there, and what to say if not."""

from __future__ import annotations

import math
import shlex
import time
from typing import Protocol, runtime_checkable

from rungwise.checkpoints import CheckpointStore
from rungwise.errors import LogUnavailableError, OutageError
from rungwise.policy import Outage
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile, shown


@runtime_checkable
class Checkable(Protocol):
    """A checkpoint store that can say what is wrong with it."""

    def find_problem(self) -> str | None:
        """Why nothing can be written to it now; None if something can be."""
        ...


def find_problem(store: CheckpointStore) -> str | None:
    """Why checkpoints cannot be written now, where the store knows."""
    return store.find_problem() if isinstance(store, Checkable) else None


CHECK_EVERY = 1.0
"""Seconds between two looks whether the files of a study are still there."""


class FileWatch:
    """Notices that the files of a running study were deleted, moved or replaced.

    Args:
        file: the study.
    """

    def __init__(self, file: StudyFile) -> None:
        self._file = file
        self._next = 0.0

    def check(self, now: float = math.inf) -> None:
        """Raise if a file is gone; everything that was reported is written again first.

        Args:
            now: the time, by ``time.monotonic()``: nothing is done a moment after the last look;
                by default it is.
        """
        if now < self._next:
            return
        self._next = time.monotonic() + CHECK_EVERY
        loss = self._file.log.find_loss()
        if loss is None:
            return
        place = self._file.log.rescue()
        kept = f"everything that was reported is in {place}"
        raise LogUnavailableError(str(self._file.path), f"{loss}; {kept}")


def describe_way_to_resume(file: StudyFile, about: StudyRecord) -> str:
    """What resumes a study, for messages."""
    name = shown(file.path)
    if about.kind == "ask/tell":
        return "the same call of rungwise.open_study"
    if about.train is None:
        return f"the same call of rungwise.tune, or rungwise.resume({name!r}, train)"
    return f"rungwise resume {shlex.quote(name)}"


def make_outage_error(outage: Outage, file: StudyFile, *, kept: bool) -> OutageError:
    """The error with which a study stops whose surroundings have failed."""
    spared = sorted(outage.spared)
    if not kept:
        hint = "It was not kept: give study='name.db' to be able to resume."
        return OutageError(None, outage.cause, spared, hint)
    hint = f"Repair that, then go on with: {describe_way_to_resume(file, file.about)}"
    return OutageError(shown(file.path), outage.cause, spared, hint)
