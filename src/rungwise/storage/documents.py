"""Studies and entries as plain JSON, without loss: what every log that lasts writes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from rungwise import searchers
from rungwise.core.codec import (
    decision_from_json,
    decision_to_json,
    event_from_json,
    event_to_json,
    fields_of,
)
from rungwise.core.decisions import CONTINUE, NOTED, PAUSE, STOP, WAIT, Decision
from rungwise.core.events import Event, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import SchemaError
from rungwise.schedulers import documents as recipes
from rungwise.space import Space
from rungwise.storage.base import Entry

_PUBLIC: tuple[type, ...] = tuple(getattr(searchers, name) for name in searchers.__all__)
SEARCHERS = tuple(kind for kind in _PUBLIC if is_dataclass(kind))


def write(study: Study) -> dict[str, Any]:
    """A study as a plain dict."""
    return {
        "scheduler": recipes.write(study.scheduler),
        "limits": asdict(study.limits),
        "goal": study.goal,
        "space": None if study.space is None else study.space.to_json(),
        "searcher": None if study.searcher is None else recipes.write(study.searcher),
        "initial": [dict(config) for config in study.initial],
        "seed": study.seed,
    }


def read(document: Mapping[str, Any], *, types: Iterable[type] = ()) -> Study:
    """The study that :func:`write` wrote.

    Args:
        document: the dict.
        types: recipes, rankings and searchers beyond those of rungwise.
    """
    fields_of(Study, set(document))
    own = tuple(types)
    space, searcher = document["space"], document["searcher"]
    try:
        return Study(
            recipes.read(document["scheduler"], types=own),
            Limits(**document["limits"]),
            goal=document["goal"],
            space=None if space is None else Space.from_json(space),
            searcher=None if searcher is None else recipes.read(searcher, types=(*SEARCHERS, *own)),
            initial=document["initial"],
            seed=document["seed"],
        )
    except (TypeError, AttributeError, KeyError) as error:
        raise SchemaError(f"the study cannot be read: {error}") from error


def types_of(study: Study) -> tuple[type, ...]:
    """The kinds that :func:`read` must know to read a study again, its own and rungwise's."""
    return (*recipes.kinds_of(study.scheduler), *recipes.kinds_of(study.searcher))


def text_of(document: Any) -> str:
    """A document as one line of JSON."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False)


def texts_of(entry: Entry) -> tuple[str, str]:
    """An entry as two lines of JSON: the event and the decision."""
    event, decision = entry
    answer = _TEXTS.get(type(decision))
    if answer is None:
        answer = text_of(decision_to_json(decision))
    return _event_text(event), answer


def entry_of(what: str, answer: str, place: str) -> Entry:
    """The entry that :func:`texts_of` wrote.

    Args:
        what: the event.
        answer: the decision.
        place: where they stand, for the error.
    """
    try:
        event = json.loads(what)
        decision = _DECISIONS.get(answer)
        if decision is None:
            return read_entry({"event": event, "decision": json.loads(answer)}, place)
        return event_from_json(event), decision
    except (ValueError, TypeError, AttributeError) as error:
        raise SchemaError(f"{place} cannot be read: {error}") from error


def _event_text(event: Event) -> str:
    # Nearly all entries are reports of finite numbers: they are written without detours.
    if type(event) is Reported:
        numbers = (event.resource, event.value, event.at, event.cost)
        if all(type(n) is int or (type(n) is float and math.isfinite(n)) for n in numbers):
            resource, value, at, cost = numbers
            return (
                f'{{"kind": "Reported", "job": {event.job}, "resource": {resource!r}, '
                f'"value": {value!r}, "at": {at!r}, "cost": {cost!r}}}'
            )
    return text_of(event_to_json(event))


def write_entry(entry: Entry) -> dict[str, Any]:
    """An entry as a plain dict."""
    event, decision = entry
    return {"event": event_to_json(event), "decision": decision_to_json(decision)}


def read_entry(document: Any, place: str) -> Entry:
    """The entry that :func:`write_entry` wrote.

    Args:
        document: the dict.
        place: where it stands, for the error.
    """
    try:
        return _entry(**document)
    except (TypeError, AttributeError, SchemaError) as error:
        raise SchemaError(f"{place} cannot be read: {error}") from error


def _entry(*, event: Any, decision: Any) -> Entry:
    return event_from_json(event), decision_from_json(decision)


_CONSTANT: tuple[Decision, ...] = (CONTINUE, PAUSE, STOP, WAIT, NOTED)
_TEXTS = {type(decision): text_of(decision_to_json(decision)) for decision in _CONSTANT}
_DECISIONS = {_TEXTS[type(decision)]: decision for decision in _CONSTANT}
