"""Whether a searcher can work, before it is asked in the middle of a study."""

from __future__ import annotations

import importlib.util
from dataclasses import fields, is_dataclass
from typing import Any

from rungwise.core.searcher import Searcher
from rungwise.errors import MissingExtraError
from rungwise.space import Space


def is_there(module: str) -> bool:
    """Whether a module can be imported, as far as can be seen without doing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # somebody forbids it, or it is half there
        return False


def check_searcher(searcher: Any, space: Space) -> None:
    """Raise what a searcher would raise later, also where priors of the space cannot be drawn.

    Its class may say what it needs, ``needs = (module, …, extra)``: the modules that must be there,
    and the extra of rungwise that brings them. A method ``check(space)`` may raise whatever else is
    wrong. Searchers within it are checked as well.

    Args:
        searcher: the searcher.
        space: where it is to search.
    """
    if not space.drawable:
        raise MissingExtraError("drawing from a normal or beta prior", "configspace")
    needs = getattr(type(searcher), "needs", None)
    if needs is not None and not all(map(is_there, needs[:-1])):
        raise MissingExtraError(f"the searcher {type(searcher).__name__}", needs[-1])
    check = getattr(searcher, "check", None)
    if callable(check):
        check(space)
    for field in fields(searcher) if is_dataclass(searcher) else ():
        if isinstance(part := getattr(searcher, field.name), Searcher):
            check_searcher(part, space)
