"""Backends: where jobs run.

The recipes are looked up when they are first used: a worker process imports this package too, and
every study waits for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rungwise.backends.recipes import Local, Threads

__all__ = ["Local", "Threads"]

_PLACES = {"Local": "rungwise.backends.recipes", "Threads": "rungwise.backends.recipes"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'rungwise.backends' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
