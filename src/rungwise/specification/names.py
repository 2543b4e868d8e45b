"""Schedulers, criteria, searchers, backends and callbacks as they are written in a file.

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
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.options.registry import CALLBACKS, Family
from rungwise.specification.document import Document

_COUNTS = ("eta", "min_resource", "max_resource", "resource", "size", "workers")


def read_name(document: Document, family: Family) -> Any:
    """Return a name, or a mapping with one as its type, as it is written.

    Args:
        document: the value of a key.
        family: what it is to name.
    """
    if isinstance(document.data, str):
        return document.data
    rule = f"it must be one of {', '.join(family.words())}"
    document.mapping(f"{rule}; or a mapping with such a type")
    name = document.data.get("type")
    if not isinstance(name, str):
        raise InvalidArgumentError(document.label("type"), name, rule)
    return {key: _plain(key, value) for key, value in document.data.items()}


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
    name, options = CALLBACKS.unfold(read_name(document, CALLBACKS), label)
    kind = CALLBACKS.find(name, label, document.data)
    for path in kind.paths:
        written = options.get(path, inspect.signature(kind).parameters[path].default)
        options[path] = str(folder / str(written))
    return CALLBACKS.make(name, options, label, document.data)


def _plain(name: str, value: Any) -> Any:
    """A count as an int, however it was written: 1e3 is 1000."""
    whole = name in _COUNTS and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value
