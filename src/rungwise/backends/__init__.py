"""Where jobs run: backends are values, opened when a study runs.

Names are looked up when they are first used: a worker, which needs none, starts in no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rungwise.backends.local import Local
    from rungwise.backends.ray import Ray
    from rungwise.backends.threads import Threads

__all__ = ["Local", "Ray", "Threads"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{name.lower()}"), name)
