"""A study's specification as plain JSON, without loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from rungwise import searchers
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import SchemaError
from rungwise.schedulers import documents as recipes
from rungwise.space import Space

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
    wanted = {field.name for field in fields(Study)}
    if set(document) != wanted:
        raise SchemaError(f"a study must have exactly {sorted(wanted)}, not {sorted(document)}.")
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
