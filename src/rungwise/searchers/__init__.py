"""Searchers: who proposes the next configuration.

A searcher is an immutable value; all that it knows comes in as arguments. Nothing here does I/O
or keeps random state of its own.
"""

from rungwise.searchers.base import History, Observed, Searcher
from rungwise.searchers.gp import GP
from rungwise.searchers.grid import Grid
from rungwise.searchers.kde import KDE
from rungwise.searchers.random import RandomSearcher
from rungwise.searchers.sobol import Sobol

__all__ = ["GP", "KDE", "Grid", "History", "Observed", "RandomSearcher", "Searcher", "Sobol"]
