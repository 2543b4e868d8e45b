"""The rule that separates an outage from configurations that fail, and what is held back meanwhile.

Jobs of a healthy study fail independently of each other, so the rule counts *in the order in which
jobs were started*: how long jobs take cannot change that order, while in the order of their ends
quick failures would cluster. A job that is still running interrupts a row until it is known
how it ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

IN_A_ROW = 15
"""So many different trials, started one after another, all fail: the surroundings are at fault.

With independent failures at 30 % that happens in one of 10,000 studies of 10,000 jobs.
"""

HELD_FROM = 4
"""From this many different trials on that failed without a sign of health, failures are held back.

Those before are judged at once, so that at most three trials are lost to an outage.
"""

LAST_IN_A_ROW = 10
"""So many are enough when no job is left to be started that could show that others succeed."""

LAST_RECOGNISED = 2
"""The same where the causes are recognised as those of an outage."""


class _Job:
    """A job in the row of those that were started: linked to its neighbours."""

    __slots__ = ("after", "before", "failed", "index", "recognised", "trial")

    def __init__(self, trial: int, index: int) -> None:
        self.trial, self.index = trial, index
        self.failed = self.recognised = False
        self.before: _Job | None = None
        self.after: _Job | None = None


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failure that nothing has shown to be the configuration's own."""

    job: int
    trial: int
    reports: int
    started: int  # how many jobs had been started by then


class OutageWatch:
    """Follows the jobs of one run of a study.

    A failure is known to be the configuration's own once a job that was started after it ends well,
    or sends more reports than the failed one had sent.

    Attributes:
        pending: the failures that nothing has shown to be the configurations' own.
    """

    def __init__(self) -> None:
        self._started = 0
        self._running: dict[int, _Job] = {}
        self._last: _Job | None = None
        self.pending: list[_Failure] = []

    def started(self, job: int, trial: int) -> None:
        """A job was started."""
        new = _Job(trial, self._started)
        self._started += 1
        new.before = self._last
        if self._last is not None:
            self._last.after = new
        self._last = self._running[job] = new

    def reported(self, job: int, reports: int) -> list[int]:
        """A running job has sent so many reports; which failed jobs are judged by that."""
        return self._clear(self._running[job], reports) if self.pending else []

    def ended(self, job: int) -> list[int]:
        """A job has ended well; which failed jobs are judged by that."""
        found = self._running.pop(job)
        if found.before is not None:
            found.before.after = None
        if found.after is not None:
            found.after.before = None
        if self._last is found:
            self._last = None
        return self._clear(found, math.inf) if self.pending else []

    def left(self, job: int) -> None:
        """A job has left for a reason that says nothing: it was asked to, or lost its worker."""
        found = self._running.pop(job)
        if found.before is not None:
            found.before.after = found.after
        if found.after is not None:
            found.after.before = found.before
        if self._last is found:
            self._last = found.before

    def failed(self, job: int, reports: int, *, recognised: bool) -> int:
        """A job has failed; how many different trials have failed in a row around it.

        Args:
            job: the job.
            reports: how many it had sent.
            recognised: whether its cause is one of those of outages.
        """
        found = self._running.pop(job)
        found.failed, found.recognised = True, recognised
        self.pending.append(_Failure(job, found.trial, reports, self._started))
        return len({each.trial for each in _row(found)})

    def is_to_be_held(self, *, recognised: bool) -> bool:
        """Whether the last failure is to be held back."""
        return recognised or len({failure.trial for failure in self.pending}) >= HELD_FROM

    def is_outage_at_the_end(self, spared: frozenset[int]) -> bool:
        """Whether the last row of failures is enough, when nothing more can be started.

        Args:
            spared: trials that were spared before: a recognised cause does not save them again.
        """
        if self._last is None or not self._last.failed:
            return False
        row = list(_row(self._last))
        recognised = {each.trial for each in row if each.recognised} - spared
        enough = len({each.trial for each in row}) >= LAST_IN_A_ROW
        return enough or len(recognised) >= LAST_RECOGNISED

    def clear(self) -> None:
        """All failures have been judged."""
        self.pending.clear()

    def _clear(self, good: _Job, reports: float) -> list[int]:
        """Take out the failures that a later job shows to be the configurations' own."""
        judged = [
            each for each in self.pending if each.started <= good.index and reports > each.reports
        ]
        if judged:
            self.pending = [each for each in self.pending if each not in judged]
        return [each.job for each in judged]


def _row(job: _Job) -> Iterator[_Job]:
    """A failed job and its failed neighbours on both sides."""
    yield job
    before, after = job.before, job.after
    while before is not None and before.failed:
        yield before
        before = before.before
    while after is not None and after.failed:
        yield after
        after = after.after
