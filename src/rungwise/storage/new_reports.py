"""The reports of a log that brought something new, with the jobs that they are of."""

from __future__ import annotations

from rungwise.core.decisions import Decision, Job, StartJob
from rungwise.core.events import Reported
from rungwise.storage.base import Entry


class NewReports:
    """Follows the entries of one study, from its first on."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._furthest: dict[int, float] = {}

    def take(self, entry: Entry) -> tuple[Reported, Decision, Job] | None:
        """Return the report in the next entry, if it is one and its trial had not got as far."""
        event, decision = entry
        if isinstance(decision, StartJob):
            self._jobs[decision.job.id] = decision.job
        if not isinstance(event, Reported):
            return None
        # A report of a job that was never issued counts for nothing; the replay refuses it.
        job = self._jobs.get(event.job)
        if job is None or event.resource <= self._furthest.get(job.trial, 0):
            return None
        self._furthest[job.trial] = event.resource
        return event, decision, job
