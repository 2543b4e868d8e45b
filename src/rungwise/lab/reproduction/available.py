"""Which extras are installed, and so which methods can be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rungwise.searchers import OptunaSearcher
from rungwise.searchers.checking import is_installed as module_is_installed

PACKAGES: Mapping[str, Sequence[str]] = {
    extra: modules for *modules, extra in (OptunaSearcher.needs,)
}
"""The modules that an extra of rungwise installs."""


def is_installed(extra: str) -> bool:
    """Whether an extra is installed; True for the empty name, which means no extra."""
    return not extra or all(map(module_is_installed, PACKAGES[extra]))
