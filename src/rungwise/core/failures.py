"""What is known about a failed job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known about a failed job.

    Attributes:
        job: the job.
        trial: its trial.
        resource: the furthest resource it had reported.
        at: when, in seconds since the study began.
        reason: what happened, in one line.
        trace: the traceback, if there is one.
        output: the last lines it printed.
        spared: whether it was put down to an outage and not held against the trial.
    """

    job: int
    trial: int
    resource: float
    at: float
    reason: str
    trace: str
    output: str
    spared: bool = False
