"""The searcher of a study for which none was chosen."""

from __future__ import annotations

from rungwise.core.searcher import Searcher
from rungwise.searchers.random import RandomSearcher


def default_searcher() -> Searcher:
    """What ``tune`` uses where no searcher is given: random sampling.

    Example:
        >>> default_searcher()
        RandomSearcher()
    """
    return RandomSearcher()
