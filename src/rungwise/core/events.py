"""Facts in: what happened, as frozen values.

``at`` is the time of the event in seconds since the study began, on the driver's clock (real or
virtual); the core never reads a clock. Fields hold plain Python numbers and text, so that the log
holds them exactly and a replay takes the same decisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rungwise.core.limits import Limits

_NUMBERS = frozenset({int, float})

FURTHEST = 2**53
"""The largest resource: beyond it a float cannot represent every whole number."""


Metrics = tuple[tuple[str, float], ...]
"""The other metrics of a report, by name: stored with it; no decision depends on them."""


@dataclass(frozen=True, slots=True)
class JobRequested:
    """A worker is free."""

    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Reported:
    """A running job reached a resource with a value of the metric (any float, NaN included).

    ``again`` is what jobs of the study have trained since the report before this one although it
    had been reported already: no decision but that of a budget depends on it.
    """

    job: int
    resource: float
    value: float
    at: float = 0.0
    cost: float = 0.0
    metrics: Metrics = ()
    again: float = 0.0


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job ended without an error and left its worker."""

    job: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class JobFailed:
    """A job failed and will not be retried."""

    job: int
    reason: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class JobLost:
    """A job was lost, through no fault of its trial (a crash, a lost worker): re-issue it."""

    job: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class StudyExtended:
    """From now on the study has other limits, each at least as large as before.

    Attributes:
        limits: all limits from now on.
        max_resource: the new maximum of training; None if it stays.
        at: when.
    """

    limits: Limits
    max_resource: int | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class ConfigurationsAdded:
    """Someone wants these configurations tried next, on top of the number of trials.

    Attributes:
        configs: the configurations.
        request: what distinguishes the request from all others, so that none is applied twice.
        at: when.
    """

    configs: tuple[Mapping[str, Any], ...]
    request: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TrialStopped:
    """Someone wants a trial trained no further.

    Attributes:
        trial: the trial.
        outcome: ``"stopped"``: it keeps what it has reached; ``"failed"``: it counts as failed.
        reason: why, in the words of the request.
        request: what distinguishes the request from all others, so that none is applied twice.
        at: when.
    """

    trial: int
    outcome: str = "stopped"
    reason: str = ""
    request: str = ""
    at: float = 0.0


Request = ConfigurationsAdded | TrialStopped
"""Events that someone has asked for."""

Event = JobRequested | Reported | JobEnded | JobFailed | JobLost | StudyExtended | Request


def find_flaw(event: Event) -> str | None:
    """Which field of an event breaks a rule, and how; None if all are legal."""
    if type(event) is Reported and _is_plain(event):
        return None
    at = event.at
    if not (_is_number(at) and 0 <= at < math.inf):
        return "its time must be a finite, non-negative number"
    if isinstance(event, JobRequested):
        return None
    if isinstance(event, StudyExtended):
        return _find_flaw_of_extension(event)
    if isinstance(event, (ConfigurationsAdded, TrialStopped)):
        return _find_flaw_of_request(event)
    if type(event.job) is not int:
        return "its job must be a whole number"
    if isinstance(event, Reported):
        return _find_flaw_of_report(event)
    told = not isinstance(event, JobFailed) or isinstance(event.reason, str)
    return None if told else "its reason must be text"


def _is_plain(event: Reported) -> bool:
    """Whether it is a report as nearly all are, which breaks no rule."""
    return (
        type(event.value) is float
        and type(event.resource) in _NUMBERS
        and 0 < event.resource <= FURTHEST
        and type(event.at) is float
        and 0 <= event.at < math.inf
        and type(event.job) is int
        and type(event.cost) is float
        and type(event.again) is float
        and event.cost == event.again == 0
        and not event.metrics
    )


def _find_flaw_of_report(event: Reported) -> str | None:
    if not _is_number(event.value):
        return "its value must be a plain number (NaN is one)"
    if not (_is_number(event.resource) and 0 < event.resource <= FURTHEST):
        return f"its resource must be a plain number above 0 and up to {FURTHEST}"
    if not (_is_number(event.cost) and 0 <= event.cost < math.inf):
        return "its cost must be a finite, non-negative number"
    if event.again and not (_is_number(event.again) and 0 <= event.again < math.inf):
        return "what was trained again must be a finite, non-negative number"
    if event.metrics and not all(
        type(name) is str and _is_number(value) for name, value in event.metrics
    ):
        return "its other metrics must be plain numbers by name"
    return None


def _find_flaw_of_extension(event: StudyExtended) -> str | None:
    if type(event.limits) is not Limits:
        return "its limits must be a Limits"
    maximum = event.max_resource
    if maximum is not None and not (type(maximum) is int and 0 < maximum <= FURTHEST):
        return f"its max_resource must be a whole number from 1 to {FURTHEST}, or None"
    return None


def _find_flaw_of_request(event: Request) -> str | None:
    if type(event.request) is not str:
        return "its request must be text"
    if isinstance(event, ConfigurationsAdded):
        legal = type(event.configs) is tuple and all(
            isinstance(config, Mapping) for config in event.configs
        )
        return None if legal and event.configs else "its configs must be a tuple of configurations"
    if type(event.trial) is not int:
        return "its trial must be a whole number"
    if event.outcome not in ("stopped", "failed"):
        return "its outcome must be 'stopped' or 'failed'"
    return None if type(event.reason) is str else "its reason must be text"


def _is_number(value: Any) -> bool:
    kind = type(value)
    if kind is float or kind is int:
        return True
    # NumPy's float64 is a float; its other kinds round differently, and bools are not numbers.
    return isinstance(value, (int, float)) and kind is not bool
