"""What a study needs besides its workers: whether it is still there, and what to say if not."""

from __future__ import annotations

import shlex
from typing import Protocol, runtime_checkable

from rungwise.checkpoints import CheckpointStore
from rungwise.errors import OutageError
from rungwise.policy import Outage
from rungwise.storage.study_file import About, StudyFile, shown


@runtime_checkable
class Checkable(Protocol):
    """A checkpoint store that can say what is wrong with it."""

    def find_problem(self) -> str | None:
        """Why nothing can be written to it now; None if something can be."""
        ...


def find_problem(store: CheckpointStore) -> str | None:
    """Why checkpoints cannot be written now, where the store can tell."""
    return store.find_problem() if isinstance(store, Checkable) else None


def describe_way_to_resume(file: StudyFile, about: About) -> str:
    """What resumes a study, for messages."""
    name = shown(file.path)
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
