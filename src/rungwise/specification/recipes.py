"""Schedulers, criteria and searchers as a person writes them in a file.

::

    scheduler: asha                        # a name, as on the command line
    scheduler: {type: PASHA, promote: quantile, ranking: {type: soft, epsilon: 0.02}}
    ranking: noise:90                      # NAME or NAME:numbers, as on the command line
    searcher: gp:startup=20                # NAME or NAME:options, as on the command line
    searcher: {type: gp, startup: 20}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from rungwise.core.scheduling import Recipe
from rungwise.errors import InvalidArgumentError
from rungwise.rankings import Ranking
from rungwise.searchers.base import Searcher
from rungwise.specification import choices
from rungwise.specification.spaces import known_key
from rungwise.specification.texts import Document

_COUNTS = ("eta", "min_resource", "max_resource", "resource", "size")

OF_RECIPE = ("scheduler", "ranking", "eta", "min_resource")
"""The keys of a study that make it say which scheduler it wants."""


def recipe_of(document: Document) -> Recipe:
    """The scheduler of a study: its own key, and those beside it that belong to it."""
    kind: Any = choices.SCHEDULERS["pasha"]
    place, options = document, dict[str, Document]()
    if "scheduler" in document.data:
        place = document["scheduler"]
        kind, options = _typed(place, choices.SCHEDULERS)
    known = tuple(kind.__dataclass_fields__)
    for key in ("ranking", "eta", "min_resource", "max_resource"):
        if key not in document.data:
            continue
        if key in options:
            raise document[key].wrong("it must be given once, here or for the scheduler")
        if key in known:
            options[key] = document[key]
        elif key != "max_resource":
            raise document[key].wrong(f"{kind.__name__} has none")
    if "resource" in known and "max_resource" in document.data:
        options.setdefault("resource", document["max_resource"])
    recipe: Recipe = _built(kind, options, place)
    return recipe


def searcher_of(document: Document) -> Searcher:
    """The searcher of a study, from the value of its key."""
    if isinstance(document.data, str):
        return choices.searcher(document.data, document.label())
    document.mapping(f"it must be one of {', '.join(choices.SEARCHERS)}; or a mapping with a type")
    name = document.data.get("type")
    if not isinstance(name, str):
        rule = f"it must be one of {', '.join(choices.SEARCHERS)}"
        raise InvalidArgumentError(document.label("type"), name, rule)
    options = {key: option.data for key, option in document.items() if key != "type"}
    return choices.build_searcher(name, options, document.label(), document.data)


def _ranking(document: Document) -> Ranking:
    if isinstance(document.data, str) and ":" in document.data:
        try:
            return choices.ranking(document.data.lower())
        except InvalidArgumentError as error:
            raise InvalidArgumentError(document.label(), document.data, error.rule) from None
    ranking: Ranking = _built(*_typed(document, choices.RANKINGS), document)
    return ranking


def _typed(
    document: Document, kinds: Mapping[str, Callable[..., Any]]
) -> tuple[Any, dict[str, Document]]:
    """The kind that a name or a mapping with a type asks for, and its options."""
    names = {**{kind.__name__.lower(): kind for kind in kinds.values()}, **kinds}
    rule = f"it must be one of {', '.join(kinds)}"
    if isinstance(document.data, str):
        if document.data.lower() not in names:
            raise document.wrong(rule)
        return names[document.data.lower()], {}
    document.mapping(f"{rule}; or a mapping with such a type")
    name = document.data.get("type")
    if not isinstance(name, str) or name.lower() not in names:
        raise InvalidArgumentError(document.label("type"), name, rule)
    kind: Any = names[name.lower()]
    options = {key: option for key, option in document.items() if key != "type"}
    known = tuple(kind.__dataclass_fields__)
    for key in options:
        if key not in known:
            raise known_key(document, key, ("type", *known))
    return kind, options


def _built(kind: Any, options: Mapping[str, Document], place: Document) -> Any:
    values = {name: _plain(name, option.data) for name, option in options.items()}
    if "ranking" in options:
        values["ranking"] = _ranking(options["ranking"])
    missing = [
        field.name
        for field in fields(kind)
        if field.name not in values
        and field.default is MISSING
        and field.default_factory is MISSING
    ]
    if missing:
        raise place.wrong(f"{kind.__name__} must also be given {', '.join(missing)}")
    try:
        return kind(**values)
    except InvalidArgumentError as error:
        # Errors are about a field; its place is where that was written.
        at = options.get(error.argument)
        label = place.label(error.argument) if at is None else at.label()
        raise InvalidArgumentError(label, error.value, error.rule) from None


def _plain(name: str, value: Any) -> Any:
    """A count as an int, however it was written: 1e3 is 1000."""
    whole = name in _COUNTS and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value
