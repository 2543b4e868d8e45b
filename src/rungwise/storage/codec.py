"""Studies and entries as plain JSON, without loss: the format of every persistent log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from rungwise import searchers
from rungwise.core.codec import (
    check_fields,
    decision_from_json,
    decision_to_json,
    event_from_json,
    event_to_json,
)
from rungwise.core.decisions import CONTINUE, NOTED, PAUSE, STOP, WAIT, Decision
from rungwise.core.events import TABLES, Event
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import SchemaError
from rungwise.schedulers.codec import list_recipe_types, recipe_from_json, recipe_to_json
from rungwise.space import Space
from rungwise.storage.base import Entry


def study_to_json(study: Study) -> dict[str, Any]:
    """A study as a plain dict."""
    return {
        "scheduler": recipe_to_json(study.scheduler),
        "limits": asdict(study.limits),
        "goal": study.goal,
        "space": None if study.space is None else study.space.to_json(),
        "searcher": None if study.searcher is None else recipe_to_json(study.searcher),
        "initial": [dict(config) for config in study.initial],
        "seed": study.seed,
    }


def study_from_json(document: Mapping[str, Any], *, types: Iterable[type] = ()) -> Study:
    """The study that :func:`study_to_json` wrote.

    Args:
        document: the dict.
        types: recipes, rankings and searchers beyond those of rungwise.
    """
    check_fields(Study, set(document))
    own = tuple(types)
    space, searcher = document["space"], document["searcher"]
    try:
        return Study(
            recipe_from_json(document["scheduler"], types=own),
            Limits(**document["limits"]),
            goal=document["goal"],
            space=None if space is None else Space.from_json(space),
            searcher=None
            if searcher is None
            else recipe_from_json(searcher, types=(*list_searchers(searcher), *own)),
            initial=document["initial"],
            seed=document["seed"],
        )
    except (TypeError, AttributeError, KeyError) as error:
        raise SchemaError(f"the study cannot be read: {error}") from error


def list_study_types(study: Study) -> tuple[type, ...]:
    """The classes that :func:`study_from_json` must know, the user's own and rungwise's."""
    return (*list_recipe_types(study.scheduler), *list_recipe_types(study.searcher))


def list_searchers(document: Any) -> tuple[type, ...]:
    """The searchers of rungwise that a document names: others need not be loaded.

    Args:
        document: of a searcher. If it names anything else, these are all, for the error.
    """
    named = set(_list_names(document))
    names = named if named.issubset(searchers.__all__) else searchers.__all__
    kinds: list[type] = [getattr(searchers, name) for name in sorted(names)]
    return tuple(kind for kind in kinds if is_dataclass(kind))


def _list_names(document: Any) -> Iterator[str]:
    if isinstance(document, Mapping):
        yield str(document.get("type"))
        for part in document.values():
            yield from _list_names(part)


_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode


def to_text(document: Any) -> str:
    """A document as one line of JSON."""
    text = _encode(document)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 cannot encode
            return json.dumps(document, allow_nan=False)
    return text


def entry_to_texts(entry: Entry) -> tuple[str, str]:
    """An entry as two lines of JSON: the event and the decision."""
    event, decision = entry
    answer = _TEXTS.get(type(decision))
    if answer is None:
        answer = to_text(decision_to_json(decision))
    return _event_text(event), answer


def entry_from_texts(what: str, answer: str, place: str, event: Any = None) -> Entry:
    """The entry that :func:`entry_to_texts` wrote.

    Args:
        what: the event.
        answer: the decision.
        place: where they are in the log, for the error.
        event: the event, if its text has been parsed already.
    """
    try:
        found = event_from_json(json.loads(what) if event is None else event)
        decision = DECISIONS.get(answer)
        return found, decision_from_json(json.loads(answer)) if decision is None else decision
    except (ValueError, TypeError, AttributeError, RecursionError, SchemaError) as error:
        raise SchemaError(f"{place} cannot be read: {error}") from error


def _event_text(event: Event) -> str:
    table = TABLES[type(event)]
    text = table.to_plain_text(event)
    if text is None:
        return to_text(table.to_json(event))
    more = table.list_unusual(event)
    return f"{text[:-1]}, {to_text(more)[1:]}" if more else text


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """An entry as a plain dict."""
    event, decision = entry
    return {"event": event_to_json(event), "decision": decision_to_json(decision)}


def entry_from_json(document: Any, place: str) -> Entry:
    """The entry that :func:`entry_to_json` wrote.

    Args:
        document: the dict.
        place: where it is in the log, for the error.
    """
    try:
        return _entry(**document)
    except (TypeError, AttributeError, SchemaError) as error:
        raise SchemaError(f"{place} cannot be read: {error}") from error


def _entry(*, event: Any, decision: Any) -> Entry:
    return event_from_json(event), decision_from_json(decision)


_CONSTANT: tuple[Decision, ...] = (CONTINUE, PAUSE, STOP, WAIT, NOTED)
_TEXTS = {type(decision): to_text(decision_to_json(decision)) for decision in _CONSTANT}
DECISIONS = {_TEXTS[type(decision)]: decision for decision in _CONSTANT}
"""The decisions without fields, by their text."""
