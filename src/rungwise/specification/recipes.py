"""Schedulers, criteria, searchers and backends as they are written in a file.

::

    scheduler: asha                        # a name, as on the command line
    scheduler: {type: PASHA, promote: quantile, ranking: {type: soft, epsilon: 0.02}}
    ranking: noise:90                      # NAME or NAME:numbers, as on the command line
    searcher: gp:startup=20                # NAME or NAME:options, as on the command line
    searcher: {type: gp, startup: 20}
    backend: threads
    backend: {type: local, workers: 4}
    track: tensorboard:runs                # NAME or NAME:options, or a list of them
    track: [csv, {type: mlflow, experiment: digits}]
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import Searcher
from rungwise.errors import InvalidArgumentError
from rungwise.options import list_options
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.registry import BACKENDS, CALLBACKS, RANKINGS, SCHEDULERS, SEARCHERS, Family
from rungwise.options.study_options import LadderOptions
from rungwise.rankings import Ranking
from rungwise.schedulers.default import default_kind
from rungwise.specification.document import Document
from rungwise.specification.spaces import known_key

_COUNTS = ("eta", "min_resource", "max_resource", "resource", "size", "workers")

OF_SCHEDULER = tuple(each.name for each in list_options(LadderOptions))
"""The keys of a study that are options of its scheduler."""

OF_RECIPE = ("scheduler", *OF_SCHEDULER)
"""The keys of a study that choose its scheduler."""

_OF_DEFAULT = (*OF_SCHEDULER, "max_resource")


def read_scheduler(document: Document) -> Recipe:
    """The scheduler of a study: its own key, and the keys beside it that belong to it."""
    kind: Any = default_kind([key for key in _OF_DEFAULT if key in document.data])
    place, options = document, dict[str, Document]()
    if "scheduler" in document.data:
        place = document["scheduler"]
        kind, options = _typed(place, SCHEDULERS)
    known = tuple(kind.__dataclass_fields__)
    for key in _OF_DEFAULT:
        if key not in document.data:
            continue
        if key in options:
            raise document[key].wrong("it must be given once, here or for the scheduler")
        if key in known:
            options[key] = document[key]
        elif key != "max_resource":
            raise document[key].wrong(f"{kind.__name__} has no such option")
    if "resource" in known and "max_resource" in document.data:
        options.setdefault("resource", document["max_resource"])
    recipe: Recipe = _built(kind, options, place)
    return recipe


def read_searcher(document: Document) -> Searcher:
    """The searcher of a study, from the value of its key."""
    searcher: Searcher
    if isinstance(document.data, str):
        searcher = SEARCHERS.build(document.data, document.label())
        return searcher
    name = _find_type(document, SEARCHERS)
    options = {key: option.data for key, option in document.items() if key != "type"}
    searcher = SEARCHERS.make(name, options, document.label(), document.data)
    return searcher


def read_backend_key(document: Document) -> Any:
    """The backend of a study: its own key, and the keys beside it that are short forms."""
    place = document["backend"]
    kind, options = _typed(place, BACKENDS)
    for key in (each.name for each in SHORT_FORMS):
        if key not in document.data:
            continue
        if key in options:
            raise document[key].wrong("it must be given once, here or for the backend")
        if key not in kind.__dataclass_fields__:
            raise document[key].wrong(f"{kind.__name__} has no such option")
        options[key] = document[key]
    return _built(kind, options, place)


def read_callbacks(document: Document, folder: Path) -> list[Any]:
    """The callbacks of a study: one, or a list of them.

    Args:
        document: the value of the key.
        folder: what the files that they write to are relative to.
    """
    several = isinstance(document.data, list)
    each = [document[place] for place in range(len(document.data))] if several else [document]
    return [_callback(one, folder) for one in each]


def _callback(document: Document, folder: Path) -> Any:
    label = document.label()
    if isinstance(document.data, str):
        name, options = CALLBACKS.parse(document.data, label)
    else:
        name = _find_type(document, CALLBACKS)
        options = {key: option.data for key, option in document.items() if key != "type"}
    kind = CALLBACKS.find(name, label, document.data)
    for path in kind.paths:
        written = options.get(path, inspect.signature(kind).parameters[path].default)
        options[path] = str(folder / str(written))
    return CALLBACKS.make(name, options, label, document.data)


def _ranking(document: Document) -> Ranking:
    ranking: Ranking = _built(*_typed(document, RANKINGS), document)
    return ranking


def _typed(document: Document, family: Family) -> tuple[Any, dict[str, Document]]:
    """The class that a text or a mapping with a type asks for, and its options."""
    if isinstance(document.data, str):
        word, written = family.parse(document.data, document.label())
        # Options in a text are where the text is.
        options = {key: replace(document, data=value) for key, value in written.items()}
        return family.find(word), options
    name = _find_type(document, family)
    kind: Any = family.find(name, document.label("type"))
    options = {key: option for key, option in document.items() if key != "type"}
    known = tuple(kind.__dataclass_fields__)
    for key in options:
        if key not in known:
            raise known_key(document, key, ("type", *known))
    return kind, options


def _find_type(document: Document, family: Family) -> str:
    rule = f"it must be one of {', '.join(family.words())}"
    document.mapping(f"{rule}; or a mapping with such a type")
    name = document.data.get("type")
    if not isinstance(name, str):
        raise InvalidArgumentError(document.label("type"), name, rule)
    return name


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
