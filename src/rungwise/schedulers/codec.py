"""Recipes as plain JSON: ``{"type": "PASHA", …}``, without loss; and rankings and searchers.

A class of your own can be stored too: it must be a dataclass whose fields are plain JSON,
rankings, recipes or searchers, and be passed to :func:`recipe_from_json` in ``types``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from rungwise import rankings, schedulers
from rungwise.core.codec import check_fields
from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import Searcher
from rungwise.errors import SchemaError
from rungwise.rankings import Ranking

RECIPES: tuple[type, ...] = tuple(getattr(schedulers, name) for name in schedulers.__all__)
_PUBLIC: tuple[type, ...] = tuple(getattr(rankings, name) for name in rankings.__all__)
RANKINGS = tuple(kind for kind in _PUBLIC if issubclass(kind, Ranking) and kind is not Ranking)


_PARTS = (Ranking, Recipe, Searcher)


def recipe_to_json(value: Any) -> dict[str, Any]:
    """A recipe, ranking or searcher as a plain dict."""
    document: dict[str, Any] = {"type": type(value).__name__}
    for field in fields(value):
        item = getattr(value, field.name)
        document[field.name] = recipe_to_json(item) if isinstance(item, _PARTS) else item
    return document


def list_recipe_types(value: Any) -> tuple[type, ...]:
    """The classes that :func:`recipe_from_json` must know: a recipe's own and those within."""
    if not is_dataclass(value) or isinstance(value, type):
        return ()
    within = (getattr(value, field.name) for field in fields(value))
    return (type(value), *(kind for part in within for kind in list_recipe_types(part)))


def recipe_from_json(document: Mapping[str, Any], *, types: Iterable[type] = ()) -> Any:
    """The recipe or ranking that :func:`recipe_to_json` wrote.

    Args:
        document: the dict.
        types: classes beyond the recipes and rankings of rungwise.
    """
    return _from_json(document, {kind.__name__: kind for kind in (*RECIPES, *RANKINGS, *types)})


def _from_json(document: Any, known: Mapping[str, type]) -> object:
    name = document.get("type") if isinstance(document, Mapping) else None
    if not isinstance(name, str) or name not in known:
        raise SchemaError(f"type is {name!r}, but must be one of {sorted(known)}.")
    kind: Any = known[name]
    # A field that a later version added has a default: how studies behaved before it existed.
    given = check_fields(kind, set(document) - {"type"}, defaults=True)
    items = {key: document[key] for key in given}
    return kind(
        **{
            key: _from_json(item, known) if isinstance(item, Mapping) else item
            for key, item in items.items()
        }
    )
