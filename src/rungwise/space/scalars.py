"""JSON scalars: the only values that a configuration holds.

Python says ``True == 1 == 1.0``, JSON does not. Law of this file: two scalars are the same if type
and value are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeGuard

from rungwise import lazy_numpy as np

Scalar: TypeAlias = str | int | float | bool | None

_TYPES = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for; anything else unchanged."""
    if type(value) in _TYPES:  # as nearly all are: NumPy need not be loaded to say so
        return value
    return value.item() if isinstance(value, np.generic) else value


def is_scalar(value: Any) -> TypeGuard[Scalar]:
    """Whether a value is a JSON scalar (so neither NaN nor infinite)."""
    return type(value) in _TYPES and (type(value) is not float or math.isfinite(value))


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a value is a finite number; a bool is none."""
    return is_scalar(value) and type(value) in (int, float)


def identity(value: Scalar) -> tuple[type, Scalar]:
    """What distinguishes 1, 1.0 and True."""
    return (type(value), value)


def canonical(document: Mapping[str, Any]) -> str:
    """JSON text that does not depend on the order of keys."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
