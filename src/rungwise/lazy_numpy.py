"""NumPy, imported when something of it is first used.

Its import takes longer than showing a study that has ended, which computes nothing. A module that
this loads says ``from rungwise import lazy_numpy as np``; all others import NumPy itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import *  # noqa: F403 - all of it, for type checkers


def __getattr__(name: str) -> Any:
    found = globals()[name] = getattr(importlib.import_module("numpy"), name)
    return found
