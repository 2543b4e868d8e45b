"""JSON documents as arrays of bytes: the configurations and the names of rows.

Python's types come back as they were: JSON distinguishes 1, 1.0, true, null and "1".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.errors import TableError, Words
from rungwise.space.scalars import Scalar, is_scalar, plain

LIMIT = 2**26
"""The most bytes of a document: read, it takes up to thirty times as much memory."""


def pack_configs(configs: Sequence[Mapping[str, Any]]) -> NDArray[np.uint8]:
    """Configurations as an array, once they are known to be sound."""
    return pack_json("configs", [_check_config(*numbered) for numbered in enumerate(configs)])


def unpack_configs(array: NDArray[Any], rows: int) -> tuple[dict[str, Scalar], ...]:
    """The configurations that :func:`pack_configs` was given."""
    configs = unpack_json("configs", array)
    if not isinstance(configs, list) or len(configs) != rows:
        found = Words(f"of length {len(configs)}" if isinstance(configs, list) else "not a list")
        raise TableError("configs", found, f"it needs one for each of {rows} rows")
    return tuple(_check_config(*numbered) for numbered in enumerate(configs))


def pack_json(key: str, document: Any) -> NDArray[np.uint8]:
    """A JSON document as an array of its bytes."""
    try:
        # ASCII, so that even half a surrogate pair, which UTF-8 has no bytes for, comes back.
        text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")
    except ValueError as error:  # an integer of more digits than Python reads
        raise TableError(key, Words("not writable"), f"it must be JSON ({error})") from None
    if len(text) > LIMIT:
        found = Words(f"a JSON text of {len(text):,} bytes")
        raise TableError(key, found, f"at most {LIMIT:,} are written")
    return np.frombuffer(text, dtype=np.uint8)


def unpack_json(key: str, array: NDArray[Any]) -> Any:
    """The document that :func:`pack_json` was given."""
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > LIMIT:
        found = Words(f"a {array.dtype} array of shape {array.shape}")
        rule = f"it must be a 1-D uint8 array with JSON text, at most {LIMIT:,} bytes"
        raise TableError(key, found, rule)
    try:
        return json.loads(array.tobytes().decode())
    except (ValueError, RecursionError):
        raise TableError(key, Words("not valid JSON"), "it must be JSON in UTF-8") from None


def _check_config(number: int, config: Any) -> dict[str, Scalar]:
    place = f"configs[{number}]"
    if not isinstance(config, Mapping):
        raise TableError(place, config, "a configuration must be a dict")
    checked: dict[str, Scalar] = {}
    for name, given in config.items():
        value = plain(given)
        if not isinstance(name, str) or not name or "\0" in name or not _is_writable(name):
            raise TableError(place, name, "a parameter's name must be a text, not empty")
        if not is_scalar(value):
            rule = "a value must be a str, bool, None or finite number"
            raise TableError(f"{place}[{name!r}]", given, rule)
        checked[name] = value
    return checked


def _is_writable(name: str) -> bool:
    """Whether a name has bytes in UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
