"""What a backend is: it starts jobs, stops them, and tells what happened. Nothing else."""

from __future__ import annotations

from typing import Protocol

from rungwise.core.decisions import Job
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported

Fact = Reported | JobEnded | JobFailed | JobLost


class Backend(Protocol):
    """Runs jobs on a fixed number of workers."""

    @property
    def workers(self) -> int:
        """How many jobs run at a time."""
        ...

    @property
    def now(self) -> float:
        """Seconds since the study began."""
        ...

    def start(self, job: Job) -> None:
        """Run a job on a free worker."""
        ...

    def stop(self, job: int) -> None:
        """Make a job end; its :class:`JobEnded` follows."""
        ...

    def poll(self) -> Fact | None:
        """The next fact, waited for; None when nothing runs."""
        ...
