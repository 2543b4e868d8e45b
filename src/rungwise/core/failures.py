"""What is known of a job that failed."""

from __future__ import annotations

from dataclasses import dataclass


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
