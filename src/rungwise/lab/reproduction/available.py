"""Which of the methods can be run with what is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rungwise.searchers import GP, OptunaSearcher
from rungwise.searchers.checking import is_installed as module_is_installed

PACKAGES: Mapping[str, Sequence[str]] = {
    extra: modules for *modules, extra in (GP.needs, OptunaSearcher.needs)
}
"""The modules that an extra of rungwise brings."""


def is_installed(extra: str) -> bool:
    """Whether an extra is installed; no extra always is."""
    return not extra or all(map(module_is_installed, PACKAGES[extra]))
