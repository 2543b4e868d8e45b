"""Which of the methods can be run with what is installed."""

from __future__ import annotations

from collections.abc import Mapping

from rungwise.searchers.checking import is_there as module_is_there

PACKAGES: Mapping[str, str] = {"bo": "botorch", "optuna": "optuna"}
"""The package that an extra of rungwise brings."""


def is_there(extra: str) -> bool:
    """Whether an extra is installed; no extra always is."""
    return not extra or module_is_there(PACKAGES[extra])
