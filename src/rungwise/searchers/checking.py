"""Check that a searcher can work before a study depends on it."""

from __future__ import annotations

import importlib.util
from dataclasses import fields, is_dataclass
from typing import Any

from rungwise.core.searcher import Searcher
from rungwise.errors import MissingExtraError
from rungwise.space import Space


def is_installed(module: str) -> bool:
    """Whether a module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # its import is blocked, or it is installed only in part
        return False


def check_searcher(searcher: Searcher | None, space: Space) -> None:
    """Raise now what a searcher would raise later, also where priors cannot be drawn.

    What it :attr:`needs` must be installed. Searchers in its fields are checked as well.

    Args:
        searcher: the searcher.
        space: where it is to search.
    """
    if not space.drawable:
        raise MissingExtraError("drawing from a normal or beta prior", "configspace")
    if searcher is None:
        return
    if not all(map(is_installed, searcher.needs[:-1])):
        raise MissingExtraError(f"the searcher {type(searcher).__name__}", searcher.needs[-1])
    searcher.check(space)
    whole: Any = searcher
    for field in fields(whole) if is_dataclass(whole) else ():
        if isinstance(part := getattr(whole, field.name), Searcher):
            check_searcher(part, space)
