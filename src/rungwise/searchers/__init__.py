"""Searchers: they propose the next configuration.

A searcher is an immutable value; everything it knows comes in as arguments. Nothing here does I/O
or keeps random state.
"""

from rungwise.core.searcher import History, Observed, Searcher
from rungwise.searchers.among_rows import AmongRows
from rungwise.searchers.gp import GP
from rungwise.searchers.grid import Grid
from rungwise.searchers.initial import Initial
from rungwise.searchers.kde import KDE
from rungwise.searchers.optuna import OptunaSearcher
from rungwise.searchers.random import RandomSearcher
from rungwise.searchers.sobol import Sobol
from rungwise.searchers.tpe import TPE

__all__ = [
    "GP",
    "KDE",
    "TPE",
    "AmongRows",
    "Grid",
    "History",
    "Initial",
    "Observed",
    "OptunaSearcher",
    "RandomSearcher",
    "Searcher",
    "Sobol",
]
