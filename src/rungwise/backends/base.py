"""What a backend is: it starts jobs, answers their reports, and tells what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rungwise.core.decisions import Decision, Job
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported

Fact = Reported | JobEnded | JobFailed | JobLost


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known of a job that failed.

    Attributes:
        job: the job.
        trial: its trial.
        resource: the furthest it had reported.
        at: when, in seconds since the study began.
        reason: what happened, in one line.
        trace: the traceback, where there is one.
        output: the last of what it printed.
    """

    job: int
    trial: int
    resource: float
    at: float
    reason: str
    trace: str
    output: str


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

    def answer(self, job: int, decision: Decision) -> None:
        """Tell a job what was decided on its report.

        After a Pause or Stop the job ends; its :class:`JobEnded` follows.
        """
        ...

    def poll(self) -> Sequence[Fact]:
        """What happened since, in order; waited for.

        It may come back empty-handed (a signal, a tick of the clock, nothing runs).
        """
        ...


def legible(text: str, limit: int) -> str:
    """Text that any file can hold, and not too much of it: the end says most."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return clean if len(clean) <= limit else "…" + clean[1 - limit :]
