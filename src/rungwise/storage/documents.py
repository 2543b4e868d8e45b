"""Studies and entries as plain JSON, without loss: what every log that lasts writes."""

from __future__ import annotations

import json
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


def text_of(document: Any) -> str:
    """A document as one line of JSON."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False)


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
