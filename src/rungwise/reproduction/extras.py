"""Which of the methods can be run with what is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

PACKAGES: Mapping[str, str] = {"bo": "botorch", "optuna": "optuna"}
"""The package that an extra of rungwise brings."""


def is_there(extra: str) -> bool:
    """Whether an extra is installed; no extra always is."""
    return not extra or find_spec(PACKAGES[extra]) is not None
