"""Searchers: they propose the next configuration.

A searcher is an immutable value; everything it knows comes in as arguments. Nothing here does I/O
or keeps random state.

Names are looked up when they are first used: a study needs one searcher, a reader none.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
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

_PLACES = {
    "GP": "rungwise.searchers.gp",
    "KDE": "rungwise.searchers.kde",
    "TPE": "rungwise.searchers.tpe",
    "AmongRows": "rungwise.searchers.among_rows",
    "Grid": "rungwise.searchers.grid",
    "History": "rungwise.core.searcher",
    "Initial": "rungwise.searchers.initial",
    "Observed": "rungwise.core.searcher",
    "OptunaSearcher": "rungwise.searchers.optuna",
    "RandomSearcher": "rungwise.searchers.random",
    "Searcher": "rungwise.core.searcher",
    "Sobol": "rungwise.searchers.sobol",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(_importlib.import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    loaded = {name for name in globals() if not name.startswith("_")}  # submodules
    return sorted({*loaded, *__all__})
