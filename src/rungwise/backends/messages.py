"""What a backend says: facts, in the order in which they happened.

They carry no time: a backend's clock stands still between two polls, and all that one poll returns
happened at that time. A job sends any number of messages, then exactly one of :class:`Ended` and
:class:`Crashed`, and nothing after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rungwise.core.events import Metrics

Fault = Literal["trial", "worker"]
"""Whose fault a crash was: the trial's own, or that of a worker that vanished or never started."""


@dataclass(slots=True)
class Reported:
    """A job has reached a resource, and waits for an answer."""

    job: int
    resource: float
    value: float
    metrics: Metrics = ()


@dataclass(slots=True)
class Saved:
    """A job has committed a checkpoint of ``size`` bytes."""

    job: int
    resource: float
    size: int


@dataclass(slots=True)
class Notice:
    """Something a person should know; of a job, or of the backend itself (None)."""

    job: int | None
    text: str


@dataclass(slots=True)
class Printed:
    """A job has printed something."""

    job: int
    data: bytes


@dataclass(slots=True)
class Ended:
    """A job has left its slot in good order.

    Attributes:
        job: the job.
        output: the last of what it printed, where it was asked to leave and that is known.
    """

    job: int
    output: str = ""


@dataclass(slots=True)
class Crashed:
    """A job raised, or its worker died or vanished.

    Attributes:
        job: the job.
        reason: what happened, in one line.
        trace: the traceback, where there is one.
        output: the last of what it printed, where that is known.
        fault: the trial's, or the worker's: a crash that is not the trial's costs it no retry.
    """

    job: int
    reason: str
    trace: str = ""
    output: str = ""
    fault: Fault = "trial"


@dataclass(slots=True)
class StartFailed:
    """A worker ended while it started, before it was given anything.

    Attributes:
        job: none.
        how: how it ended, in a few words.
        output: the last of what it printed.
        in_a_row: how many have ended so, since one got ready.
        workers: how many there are to be.
    """

    job: None
    how: str
    output: str
    in_a_row: int
    workers: int


Message = Reported | Saved | Notice | Printed | Ended | Crashed | StartFailed
