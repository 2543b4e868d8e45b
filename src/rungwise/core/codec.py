"""Lossless translation of events and decisions to plain JSON values and back.

Every dict carries its kind; a log carries the schema version once, in its header. NaN and ±inf,
which JSON cannot express, are written as strings in the fields that hold numbers. The other
metrics of a report are an object, which is left out if the report has no others; ``again`` is left
out if it is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, replace
from typing import Any, cast

from rungwise.core.decisions import (
    Continue,
    Decision,
    Done,
    Job,
    Noted,
    Pause,
    StartJob,
    Stop,
    Wait,
)
from rungwise.core.events import (
    ConfigurationsAdded,
    Event,
    JobEnded,
    JobFailed,
    JobLost,
    JobRequested,
    Metrics,
    Reported,
    StudyExtended,
    TrialStopped,
)
from rungwise.core.limits import Limits
from rungwise.errors import InvalidArgumentError, SchemaError

SCHEMA = 1
"""The version of the format; readers refuse others."""

_EVENTS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        JobRequested,
        Reported,
        JobEnded,
        JobFailed,
        JobLost,
        StudyExtended,
        ConfigurationsAdded,
        TrialStopped,
    )
}
_DECISIONS: Mapping[str, type] = {
    "Run": StartJob,  # the name that logs have for it, since before the class was renamed
    **{kind.__name__: kind for kind in (Wait, Done, Continue, Pause, Stop, Noted)},
}
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_WHOLE = frozenset({"id", "trial", "job"})
_TEXT = frozenset({"reason", "why", "outcome", "request"})


def check_fields(kind: Any, given: set[str], *, defaults: bool = False) -> list[str]:
    """The fields of a dataclass that are given, if those and no others are.

    Args:
        kind: the dataclass.
        given: their names.
        defaults: whether fields that have a default may be missing.
    """
    known = {field.name: field for field in fields(kind)}
    wanted = {
        name
        for name, field in known.items()
        if not defaults or (field.default is MISSING and field.default_factory is MISSING)
    }
    if not wanted <= given <= known.keys():
        missing, unknown = sorted(wanted - given), sorted(given - known.keys())
        raise SchemaError(f"{kind.__name__} lacks {missing} and has the unknown {unknown}.")
    return sorted(given)


def number_to_json(value: float) -> float | str:
    """A float as JSON can hold it."""
    if isinstance(value, int) or math.isfinite(value):
        # NumPy scalars may be subclasses of float or int; the log gets plain numbers.
        return value if type(value) in (int, float) else value.__float__()
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def number_from_json(value: Any, place: str) -> float:
    """The float that :func:`number_to_json` wrote."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise SchemaError(f"{place} is {value!r}, but a number was expected.")


def jsonable(value: Any) -> Any:
    """A value as JSON, for readers: what is not finite becomes null, an unknown type its text.

    The conversion may lose information; logs are written by the functions below, which lose
    nothing.
    """
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or type(value) in (str, bool, int):
        return value
    return str(value)


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as a plain dict."""
    packed = _pack(event)
    if isinstance(event, StudyExtended):
        return {**packed, "limits": asdict(event.limits)}
    if isinstance(event, ConfigurationsAdded):
        return {**packed, "configs": [dict(config) for config in event.configs]}
    metrics, again = packed.pop("metrics", ()), packed.pop("again", 0)
    more = {"metrics": metrics_to_json(metrics)} if metrics else {}
    return {**packed, **more, **({"again": again} if again else {})}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """The event that :func:`event_to_json` wrote."""
    if data.get("kind") == "StudyExtended":
        return _extension_from_json(data)
    if data.get("kind") == "ConfigurationsAdded":
        return _addition_from_json(data)
    if data.get("kind") != "Reported":
        return cast("Event", _unpack(data, _EVENTS, "event"))
    plain = {key: value for key, value in data.items() if key != "metrics"}
    event = cast("Reported", _unpack({"again": 0.0, **plain, "metrics": 0}, _EVENTS, "event"))
    return replace(event, metrics=metrics_from_json(data.get("metrics", {})))


def _extension_from_json(data: Mapping[str, Any]) -> StudyExtended:
    # Placeholders stand for what is no number, or not always one, while the rest is checked.
    plain = {**data, **{name: 0 for name in ("limits", "max_resource") if name in data}}
    event = cast("StudyExtended", _unpack(plain, _EVENTS, "event"))
    maximum = data["max_resource"]
    if maximum is not None and type(maximum) is not int:
        raise SchemaError(f"StudyExtended.max_resource is {maximum!r}, but must be a whole number.")
    try:
        return replace(event, limits=Limits(**data["limits"]), max_resource=maximum)
    except (TypeError, InvalidArgumentError) as error:
        raise SchemaError(f"StudyExtended.limits cannot be read: {error}") from error


def _addition_from_json(data: Mapping[str, Any]) -> ConfigurationsAdded:
    plain = {**data, **({"configs": 0} if "configs" in data else {})}
    event = cast("ConfigurationsAdded", _unpack(plain, _EVENTS, "event"))
    configs = data["configs"]
    if not isinstance(configs, list) or not all(isinstance(one, Mapping) for one in configs):
        raise SchemaError(f"ConfigurationsAdded.configs is {configs!r}, but must be a list.")
    return replace(event, configs=tuple(dict(config) for config in configs))


def metrics_to_json(metrics: Metrics) -> dict[str, float | str]:
    """The other metrics of a report as a plain dict."""
    return {name: number_to_json(value) for name, value in metrics}


def metrics_from_json(data: Any) -> Metrics:
    """The metrics that :func:`metrics_to_json` wrote."""
    if not isinstance(data, Mapping):
        raise SchemaError(f"Reported.metrics is {data!r}, but an object was expected.")
    return tuple(
        (name, number_from_json(value, f"Reported.metrics.{name}")) for name, value in data.items()
    )


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """A decision as a plain dict."""
    if isinstance(decision, StartJob):
        return {"kind": "Run", "job": {**_pack(decision.job), "config": dict(decision.job.config)}}
    return _pack(decision)


def decision_from_json(data: Mapping[str, Any]) -> Decision:
    """The decision that :func:`decision_to_json` wrote."""
    if data.get("kind") == "Run":
        if set(data) != {"kind", "job"}:
            raise SchemaError(f"Run must have exactly a job, not {sorted(set(data) - {'kind'})}.")
        return StartJob(_job(data["job"]))
    return cast("Decision", _unpack(data, _DECISIONS, "decision"))


def _job(data: Any) -> Job:
    if not isinstance(data, Mapping) or not isinstance(data.get("config"), Mapping):
        raise SchemaError(f"job is {data!r}, but an object with a config was expected.")
    plain = {key: value for key, value in data.items() if key != "config"}
    # A placeholder stands for the config while the other fields are checked.
    job = cast("Job", _unpack({**plain, "config": 0}, {"Job": Job}, "job"))
    return Job(job.id, job.trial, dict(data["config"]), job.start, job.until)


def _pack(value: Any) -> dict[str, Any]:
    packed: dict[str, Any] = {"kind": type(value).__name__}
    for field in fields(value):
        item = getattr(value, field.name)
        packed[field.name] = number_to_json(item) if isinstance(item, (int, float)) else item
    return packed


def _unpack(data: Mapping[str, Any], kinds: Mapping[str, type], what: str) -> object:
    name = data.get("kind")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise SchemaError(f"{what} is of kind {name!r}, but must be one of {sorted(kinds)}.")
    wanted = check_fields(kind, set(data) - {"kind"})
    clean: dict[str, Any] = {}
    for field in wanted:
        item = data[field]
        place = f"{name}.{field}"
        if field in _TEXT:
            if not isinstance(item, str):
                raise SchemaError(f"{place} is {item!r}, but text was expected.")
            clean[field] = item
        elif field in _WHOLE:
            if not isinstance(item, int) or isinstance(item, bool):
                raise SchemaError(f"{place} is {item!r}, but a whole number was expected.")
            clean[field] = item
        else:
            clean[field] = number_from_json(item, place)
    return kind(**clean)
