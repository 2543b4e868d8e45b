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


def check_searcher(searcher: Any, space: Space) -> None:
    """Raise now what a searcher would raise later, also where priors cannot be drawn.

    Its class may declare what it needs, ``needs = (module, …, extra)``: the modules that must be
    installed, and the extra of rungwise that installs them. A method ``check(space)`` may raise
    for anything else that is wrong. Searchers in its fields are checked as well.

    Args:
        searcher: the searcher.
        space: where it is to search.
    """
    if not space.drawable:
        raise MissingExtraError("drawing from a normal or beta prior", "configspace")
    needs = getattr(type(searcher), "needs", None)
    if needs is not None and not all(map(is_installed, needs[:-1])):
        raise MissingExtraError(f"the searcher {type(searcher).__name__}", needs[-1])
    check = getattr(searcher, "check", None)
    if callable(check):
        check(space)
    for field in fields(searcher) if is_dataclass(searcher) else ():
        if isinstance(part := getattr(searcher, field.name), Searcher):
            check_searcher(part, space)
