"""Which jobs have hung: by a clock that does not count the time for which the tuner was stopped.

Law of this file: it reads no clock; the driver passes the time.
"""

from __future__ import annotations

LONGEST_STEP = 1.0
"""More seconds than this between two checks do not count for timeouts.

The tuner itself was stopped then (a suspended laptop, SIGSTOP, a slow callback), and that time is
not the trials' fault. Nor is anything judged at once: messages that came meanwhile may not have
been read yet.
"""

CHECK_EVERY = 0.25
"""Seconds between two checks for jobs that have hung."""


class JobTimer:
    """When a job started, and when it last sent anything, by the clock of the timeouts."""

    __slots__ = ("last_message", "started")

    def __init__(self, now: float) -> None:
        self.started = self.last_message = now


class Timeouts:
    """Two limits, and the clock they are measured by.

    Args:
        trial: the longest time that a job may run, in seconds; None for any time.
        report: the longest time that a job may send nothing, in seconds; None for any time.

    Attributes:
        any: whether there is a limit, so that there is anything to check.
    """

    def __init__(self, trial: float | None, report: float | None) -> None:
        self._trial, self._report = trial, report
        self.any = trial is not None or report is not None
        self._last: float | None = None
        self._clock = 0.0
        self._checked = 0.0

    def start(self) -> JobTimer:
        """A job starts now."""
        return JobTimer(self._clock)

    def note_sign_of_life(self, timer: JobTimer) -> None:
        """A job has sent something."""
        timer.last_message = self._clock

    def is_time_to_check(self, now: float) -> bool:
        """Let the clock go on; whether jobs are to be checked again."""
        passed = 0.0 if self._last is None else now - self._last
        self._last = now
        stopped = not 0 <= passed <= LONGEST_STEP
        self._clock += CHECK_EVERY if stopped else passed
        if stopped or self._clock - self._checked < CHECK_EVERY:
            return False
        self._checked = self._clock
        return True

    def find_overdue(self, timer: JobTimer) -> str | None:
        """Why a job has hung, in words; None if it has not."""
        if self._trial is not None and self._clock - timer.started > self._trial:
            return f"it ran longer than {self._trial:g} s (trial_timeout)"
        if self._report is not None and self._clock - timer.last_message > self._report:
            return f"it sent no report for {self._report:g} s (report_timeout)"
        return None
