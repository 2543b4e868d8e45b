"""Whether a study should give up because nothing works: most likely the function itself is wrong.

Law of this file: only a study without a single report gives up. When configurations fail and
others do not, one of the others reports sooner or later, and the study goes on.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from rungwise.core.failures import Failure
from rungwise.errors import NothingFoundError
from rungwise.storage.study_file import shown
from rungwise.tuning.failure_text import describe_failure, describe_traceback, find_place

FIRST_FAILURES = 20
"""A study gives up when this many jobs per worker have failed before the first report."""

SAME_FAILURES, SAME_TRIALS = 6, 4
"""It gives up sooner if its last failures were all the same: this many, of this many trials."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


class FirstFailures:
    """Counts the failures of a session that has no report yet.

    Args:
        workers: how many jobs run at a time.
    """

    def __init__(self, workers: int) -> None:
        self._most = FIRST_FAILURES * workers
        self._count = 0
        self._kind: str | None = None
        self._jobs: list[int] = []
        self._trials: set[int] = set()
        self._settled_by: int | None = None
        self.identical = False

    def add(self, failure: Failure, next_job: int) -> None:
        """A job has failed.

        Args:
            failure: how.
            next_job: the number that the next job will have.
        """
        self._count += 1
        kind = name_kind(failure)
        if kind != self._kind:
            self._kind, self._jobs, self._trials = kind, [], set()
            self._settled_by = None
        self._jobs.append(failure.job)
        self._trials.add(failure.trial)
        enough = len(self._jobs) >= SAME_FAILURES and len(self._trials) >= SAME_TRIALS
        if enough and self._settled_by is None:
            # Jobs that run already may be those that work: their first report may just take long.
            self._settled_by = next_job

    def is_hopeless(self, open_jobs: Sequence[int]) -> bool:
        """Whether to give up, if there is no report yet.

        Args:
            open_jobs: the jobs that are running.
        """
        self.identical = self._settled_by is not None and all(
            job >= self._settled_by for job in open_jobs
        )
        return self.identical or self._count >= self._most

    def make_error(self, failures: Sequence[Failure], path: Path | None) -> NothingFoundError:
        """The error of a study in which every job failed.

        Args:
            failures: all of the study; others may have failed before, in another session.
            path: the study file; None if it is not kept.
        """
        reasons = [describe_failure(failure) for failure in failures]
        failure = failures[0]
        if self.identical:
            kind = name_kind(failures[-1])
            failure = next(each for each in failures if name_kind(each) == kind)
        hint = describe_traceback(failure)
        if path is None:
            return NothingFoundError(None, reasons, hint)
        name = shown(path)
        if self.identical:
            hint += (
                "\nIt stopped because all failures were the same before anything was reported. If "
                f"other configurations would work: rungwise resume {shlex.quote(name)}"
            )
        hint += (
            f"\nAll tracebacks: rungwise show {shlex.quote(name)} --trial {failure.trial}, or "
            f"[failure.trace for failure in rungwise.load({name!r}).failures]"
        )
        return NothingFoundError(str(path), reasons, hint.lstrip())


def name_kind(failure: Failure) -> str:
    """What failures have in common that have the same cause: all but the numbers."""
    place = find_place(failure.trace)
    reason = _NUMBER.sub("#", failure.reason)
    return reason if place is None else f"{reason.partition(':')[0]} in {place}"
