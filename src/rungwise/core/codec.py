"""Lossless translation of events and decisions to plain JSON values and back.

Every dict carries its kind; a log carries the schema version once, in its header. NaN and ±inf,
which JSON cannot express, are written as strings in the fields that hold numbers. What the fields
are, and which are left out where they have their default, is said where events and decisions are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, cast

from rungwise.core import decisions, events
from rungwise.core.decisions import Decision
from rungwise.core.events import Event
from rungwise.core.fields import find_table
from rungwise.errors import SchemaError

SCHEMA = 1
"""The version of the format; readers refuse others."""

_EVENTS = {table.name: table for table in events.TABLES.values()}
_PLAIN = {name: table.plain for name, table in _EVENTS.items()}
_DECISIONS = {table.name: table for table in decisions.TABLES.values()}


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
    return events.TABLES[type(event)].to_json(event)


def event_from_json(data: Any) -> Event:
    """The event that :func:`event_to_json` wrote."""
    event = read_plain_event(data)
    if event is not None:
        return event
    return cast("Event", find_table(_EVENTS, data, "event").from_json(data))


def read_plain_event(data: Any) -> Event | None:
    """The event, if it is nothing but numbers, as nearly all are; None for anything else."""
    try:
        kind, length, pick, types = _PLAIN[data["kind"]]
        values = pick(data)
    except (KeyError, TypeError):
        return None
    return kind(*values) if len(data) == length and (*map(type, values),) in types else None


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """A decision as a plain dict."""
    return decisions.TABLES[type(decision)].to_json(decision)


def decision_from_json(data: Mapping[str, Any]) -> Decision:
    """The decision that :func:`decision_to_json` wrote."""
    return cast("Decision", find_table(_DECISIONS, data, "decision").from_json(data))
