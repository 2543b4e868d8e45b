"""Facts in: what happened, as frozen values.

``at`` is the time of the event in seconds since the study began, on the driver's clock (real or
virtual); the core never reads a clock. Fields hold plain Python numbers and text, so that the log
holds them exactly and a replay takes the same decisions.

The classes are the format of the log, see ``fields.py``: a new field is one line here, with a
default, behind the others of its class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, get_args

from rungwise.core.fields import (
    WRITTEN,
    Form,
    Number,
    Table,
    Text,
    Whole,
    is_number,
    make_checked,
    make_number,
    number_from_json,
    number_to_json,
    read_object,
)
from rungwise.core.limits import Limits
from rungwise.errors import InvalidArgumentError, SchemaError

FURTHEST = 2**53
"""The largest resource: beyond it a float cannot represent every whole number."""

_NUMBERS = frozenset({int, float})


def _are_metrics(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        type(name) is str and is_number(number) for name, number in value
    )


def _metrics_to_json(value: Metrics) -> dict[str, float | str]:
    # A plain finite number is written as it is: nearly all are.
    return {
        name: number if type(number) is float and number - number == 0 else number_to_json(number)
        for name, number in value
    }


def _metrics_from_json(data: Any, place: str) -> Metrics:
    return tuple(
        (name, number_from_json(value, f"{place}.{name}"))
        for name, value in read_object(data, place).items()
    )


def _limits_from_json(data: Any, place: str) -> Limits:
    try:
        return Limits(**data)
    except (TypeError, InvalidArgumentError) as error:
        raise SchemaError(f"{place} cannot be read: {error}") from error


def _are_configs(value: Any) -> bool:
    return type(value) is tuple and bool(value) and all(isinstance(one, Mapping) for one in value)


def _configs_from_json(data: Any, place: str) -> tuple[dict[str, Any], ...]:
    if not isinstance(data, list):
        raise SchemaError(f"{place} is {data!r}, but a list was expected.")
    return tuple(read_object(config, place) for config in data)


_AMOUNT = "a finite, non-negative number"
_FINITE = math.nextafter(math.inf, 0.0)
_ABOVE_ZERO = math.nextafter(0.0, 1.0)

Time = Annotated[float, make_number(_AMOUNT, 0.0, _FINITE, "time"), WRITTEN]
Cost = Annotated[float, make_number(_AMOUNT, 0.0, _FINITE), WRITTEN]
Again = Annotated[float, make_number(_AMOUNT, 0.0, _FINITE, "amount that was trained again")]
Resource = Annotated[
    float, make_number(f"a plain number above 0 and up to {FURTHEST}", _ABOVE_ZERO, FURTHEST)
]
Metrics = Annotated[
    tuple[tuple[str, float], ...],
    Form(
        "plain numbers by name",
        _are_metrics,
        _metrics_from_json,
        _metrics_to_json,
        noun="other metrics",
    ),
]
"""The other metrics of a report, by name: stored with it; no decision depends on them."""

Words = Annotated[Text, WRITTEN]
Outcome = Annotated[
    str,
    make_checked("'stopped' or 'failed'", lambda value: value in ("stopped", "failed")),
    WRITTEN,
]
StudyLimits = Annotated[
    Limits, Form("a Limits", lambda value: type(value) is Limits, _limits_from_json, asdict)
]
MaxResource = Annotated[
    int | None,
    make_checked(
        f"a whole number from 1 to {FURTHEST}, or None",
        lambda value: value is None or (type(value) is int and 0 < value <= FURTHEST),
    ),
    WRITTEN,
]
Configs = Annotated[
    tuple[Mapping[str, Any], ...],
    Form(
        "a tuple of configurations",
        _are_configs,
        _configs_from_json,
        lambda value: [dict(config) for config in value],
    ),
]


@dataclass(frozen=True, slots=True)
class JobRequested:
    """A worker is free."""

    at: Time = 0.0


@dataclass(frozen=True, slots=True)
class Reported:
    """A running job reached a resource with a value of the metric (any float, NaN included).

    ``again`` is what jobs of the study have trained since the report before this one although it
    had been reported already: no decision but that of a budget depends on it.
    """

    job: Whole
    resource: Resource
    value: Number
    at: Time = 0.0
    cost: Cost = 0.0
    metrics: Metrics = ()
    again: Again = 0.0


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job ended without an error and left its worker."""

    job: Whole
    at: Time = 0.0


@dataclass(frozen=True, slots=True)
class JobFailed:
    """A job failed and will not be retried."""

    job: Whole
    reason: Words = ""
    at: Time = 0.0


@dataclass(frozen=True, slots=True)
class JobLost:
    """A job was lost, through no fault of its trial (a crash, a lost worker): re-issue it."""

    job: Whole
    at: Time = 0.0


@dataclass(frozen=True, slots=True)
class StudyExtended:
    """From now on the study has other limits, each at least as large as before.

    Attributes:
        limits: all limits from now on.
        max_resource: the new maximum of training; None if it stays.
        at: when.
    """

    limits: StudyLimits
    max_resource: MaxResource = None
    at: Time = 0.0


@dataclass(frozen=True, slots=True)
class ConfigurationsAdded:
    """Someone wants these configurations tried next, on top of the number of trials.

    Attributes:
        configs: the configurations.
        request: what distinguishes the request from all others, so that none is applied twice.
        at: when.
    """

    configs: Configs
    request: Words = ""
    at: Time = 0.0


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

    trial: Whole
    outcome: Outcome = "stopped"
    reason: Words = ""
    request: Words = ""
    at: Time = 0.0


Request = ConfigurationsAdded | TrialStopped
"""Events that someone has asked for."""

Event = JobRequested | Reported | JobEnded | JobFailed | JobLost | StudyExtended | Request


TABLES: dict[type, Table] = {kind: Table(kind) for kind in get_args(Event)}
"""The fields of every kind of event."""

_get_optional, _DEFAULTS = TABLES[Reported].get_optional, TABLES[Reported].defaults


def find_flaw(event: Event) -> str | None:
    """Which field of an event breaks a rule, and how; None if all are legal."""
    # Nearly all events are of these kinds, and break no rule; the table says what does.
    if type(event) is Reported and _is_plain(event):
        return None
    quick = type(event) is JobRequested or (type(event) is JobEnded and type(event.job) is int)
    if quick and type(event.at) is float and 0 <= event.at < math.inf:
        return None
    return TABLES[type(event)].find_flaw(event)


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
        and event.cost == 0
        and _get_optional(event) == _DEFAULTS
    )
