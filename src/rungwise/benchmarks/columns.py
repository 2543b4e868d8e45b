"""Configurations as columns of arrays, and back, with the type of every value.

A column ``config/NAME`` is of bools, signed whole numbers or floats if all its values are; else it
holds unsigned positions in the list ``options/NAME``, a JSON text. Where a parameter is absent from
some rows, ``absent/NAME`` says from which.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.errors import TableError, Words
from rungwise.space.scalars import Scalar, identity, is_scalar, plain

Arrays = dict[str, NDArray[Any]]


def write(configs: Sequence[Mapping[str, Any]]) -> Arrays:
    """The columns of configurations, in the order in which the parameters first appear."""
    rows = [_row(number, config) for number, config in enumerate(configs)]
    arrays: Arrays = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        present = np.array([name in row for row in rows])
        values = [row[name] for row in rows if name in row]
        column, options = _column(values)
        full = np.zeros(len(rows), dtype=column.dtype)
        full[present] = column
        arrays[f"config/{name}"] = full
        if options is not None:
            arrays[f"options/{name}"] = text(options)
        if not present.all():
            arrays[f"absent/{name}"] = ~present
    return arrays


def read(arrays: Mapping[str, NDArray[Any]], rows: int) -> tuple[dict[str, Scalar], ...]:
    """The configurations that :func:`write` was given."""
    configs: list[dict[str, Scalar]] = [{} for _ in range(rows)]
    for key, column in arrays.items():
        kind, _, name = key.partition("/")
        if kind != "config":
            continue
        _check(key, column, "biuf", (rows,))
        values: list[Scalar] = column.tolist()
        if column.dtype.kind == "u":
            values = _chosen(key, column, arrays.get(f"options/{name}"))
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise TableError(key, Words("not finite"), "a parameter must be a finite number")
        absent = arrays.get(f"absent/{name}")
        if absent is not None:
            _check(f"absent/{name}", absent, "b", (rows,))
        missing = [False] * rows if absent is None else absent.tolist()
        for config, value, gone in zip(configs, values, missing, strict=True):
            if not gone:
                config[name] = value
    return tuple(configs)


def text(document: Any) -> NDArray[np.uint8]:
    """A JSON document as an array of its bytes."""
    # ASCII, so that even half a surrogate pair, which UTF-8 has no bytes for, comes back.
    written = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return np.frombuffer(written.encode(), dtype=np.uint8)


def document(key: str, array: NDArray[Any]) -> Any:
    """The JSON document that :func:`text` wrote."""
    if array.dtype != np.uint8 or array.ndim != 1:
        raise TableError(
            key, Words(f"of {array.dtype} {array.shape}"), "it must be a text in bytes"
        )
    try:
        return json.loads(array.tobytes().decode())
    except (ValueError, RecursionError):
        raise TableError(key, Words("no JSON"), "it must be a JSON text in UTF-8") from None


def _row(number: int, config: Any) -> dict[str, Scalar]:
    place = f"configs[{number}]"
    if not isinstance(config, Mapping):
        raise TableError(place, config, "a configuration must be a dict")
    row = {}
    for name, value in config.items():
        scalar = plain(value)
        if not isinstance(name, str) or not name or "\0" in name or not _writable(name):
            raise TableError(place, name, "a parameter's name must be a text, not empty")
        if not is_scalar(scalar):
            rule = "a value must be a str, bool, None or finite number"
            raise TableError(f"{place}[{name!r}]", value, rule)
        row[name] = scalar
    return row


def _writable(name: str) -> bool:
    """Whether a name has bytes: a zip file names its members in UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _column(values: list[Scalar]) -> tuple[NDArray[Any], list[Scalar] | None]:
    """An array, and the options that it counts through if it does."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values, dtype=bool), None
    if kinds == {float}:
        return np.array(values, dtype="<f8"), None
    if kinds == {int} and all(-(2**63) <= int(value or 0) < 2**63 for value in values):
        return np.array(values, dtype="<i8"), None
    options = {identity(value): value for value in values}
    index = {key: position for position, key in enumerate(options)}
    kind = "<u1" if len(index) <= 2**8 else "<u4"
    return np.array([index[identity(value)] for value in values], kind), list(options.values())


def _chosen(key: str, column: NDArray[Any], options: NDArray[Any] | None) -> list[Scalar]:
    if options is None:
        raise TableError(key, Words("without options"), "positions need a list to count through")
    listed = document(key.replace("config/", "options/", 1), options)
    if not isinstance(listed, list) or not all(
        is_scalar(option) or (type(option) is float and math.isfinite(option)) for option in listed
    ):
        raise TableError(key, listed, "options must be a list of scalars")
    if column.size and int(column.max()) >= len(listed):
        rule = f"there are {len(listed)} options"
        raise TableError(key, int(column.max()), rule)
    return [listed[position] for position in column.tolist()]


def _check(key: str, array: NDArray[Any], kinds: str, shape: tuple[int, ...]) -> None:
    if array.dtype.kind not in kinds or array.shape != shape:
        found = Words(f"of {array.dtype} {array.shape}")
        raise TableError(key, found, f"it must be a column of shape {shape}")
