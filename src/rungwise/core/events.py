"""Facts in: what happened, as frozen values.

``at`` is the time of the fact in seconds since the study began, on whatever clock the driver
keeps (real or virtual); the core never reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobRequested:
    """A worker is free."""

    worker: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Reported:
    """A running job reached a resource with a value of the metric (any float, NaN included)."""

    job: int
    resource: float
    value: float
    at: float = 0.0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job left its worker in good order."""

    job: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class JobFailed:
    """A job failed and is not to be tried again."""

    job: int
    reason: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class JobLost:
    """A job vanished through no fault of its trial (a crash, a lost worker): re-issue it."""

    job: int
    at: float = 0.0


Event = JobRequested | Reported | JobEnded | JobFailed | JobLost
