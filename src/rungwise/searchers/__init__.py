"""Searchers: who proposes the next configuration.

A searcher is an immutable value; all that it knows comes in as arguments. Nothing here does I/O
or keeps random state of its own.
"""

from rungwise.searchers.base import History, Observed, Searcher
from rungwise.searchers.random import RandomSearcher

__all__ = ["History", "Observed", "RandomSearcher", "Searcher"]
