"""What stops a study before its end, and what to say then."""

from __future__ import annotations

import shlex
from typing import Protocol, runtime_checkable

from rungwise.checkpoints import CheckpointStore
from rungwise.errors import NothingFoundError, OutageError
from rungwise.session.failure_text import describe_failure, describe_traceback
from rungwise.session.failures import FirstFailures, Outage, name_kind
from rungwise.session.opened import OpenedStudy
from rungwise.storage.study_file import shown


@runtime_checkable
class Checkable(Protocol):
    """A checkpoint store that can say what is wrong with it."""

    def find_problem(self) -> str | None:
        """Why nothing can be written to it now; None if something can be."""
        ...


def find_problem(store: CheckpointStore) -> str | None:
    """Return why checkpoints cannot be written now, where the store knows."""
    return store.find_problem() if isinstance(store, Checkable) else None


def make_outage_error(outage: Outage, opened: OpenedStudy) -> OutageError:
    """Return the error with which a study stops whose surroundings have failed."""
    spared = sorted(outage.spared)
    if not opened.kept:
        hint = "It was not kept: give study='name.db' to be able to resume."
        return OutageError(None, outage.cause, spared, hint)
    file = opened.file
    hint = f"Repair that, then go on with: {opened.view(running=False).way_on}"
    return OutageError(shown(file.path), outage.cause, spared, hint)


def make_nothing_found(first: FirstFailures, opened: OpenedStudy) -> NothingFoundError:
    """Return the error with which a study stops of which nothing works.

    Args:
        first: the failures of this session.
        opened: the study; others may have failed before, in another session.
    """
    failures = opened.part.failures()
    failure = failures[0]
    cause = f"none of the first {first.trials} trials has reported anything"
    if first.identical:
        kind = name_kind(failures[-1])
        failure = next(each for each in failures if name_kind(each) == kind)
        cause = "all failures were the same before anything was reported"
    drawn, limit = len(opened.engine.trials), opened.engine.study.limits.trials
    rest = "" if limit is None or limit <= drawn else f", after {drawn} of {limit} trials"
    stopped = f"It stopped early{rest}, because {cause}."
    reasons = [describe_failure(each) for each in failures]
    traceback = describe_traceback(failure)
    if not opened.kept:
        return NothingFoundError(None, reasons, f"{traceback}\n{stopped}".lstrip(), stopped=cause)
    name = shown(opened.file.path)
    hint = (
        f"{traceback}\n{stopped} If other configurations would work, go on with: "
        f"{opened.view(running=False).way_on}\nAll tracebacks: rungwise show "
        f"{shlex.quote(name)} --trial {failure.trial}, or "
        f"[failure.trace for failure in rungwise.load({name!r}).failures]"
    )
    return NothingFoundError(str(opened.file.path), reasons, hint.lstrip(), stopped=cause)


def describe_cause(error: Exception) -> str:
    """Return what has stopped a study, as a clause."""
    if isinstance(error, NothingFoundError) and error.stopped:
        return error.stopped
    if isinstance(error, OutageError):
        return f"its surroundings seem to have failed: {error.cause}"
    first = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
