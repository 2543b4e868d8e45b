"""Warn once per searcher; silence warnings of third-party libraries.

Python's own "once" is reset whenever the warning filters change, which happens in every fit. No
decision depends on the state kept here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rungwise.errors import ModelWarning

_warned: set[str] = set()

LIBRARIES = r"(torch|scipy|numpy|optuna|cmaes|sklearn)(\.|$)"
"""The modules whose warnings are about how this package calls them."""


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Ignore warnings of these libraries only: the filters apply to all threads of the process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=LIBRARIES)
        # A library may attribute a warning to its caller.
        callers = r"rungwise\.(searchers|lab\.reproduction)\."
        warnings.filterwarnings("ignore", module=callers)
        yield


def warn_once(searcher: str, what: str) -> None:
    """Warn, unless this process has warned about the same searcher before, for any reason.

    Args:
        searcher: its name.
        what: what happened, as a clause.
    """
    if searcher not in _warned:
        _warned.add(searcher)
        text = f"{searcher} {what}; a random configuration was proposed instead. "
        text += "Later failures of this searcher are not reported."
        warnings.warn(text, ModelWarning, stacklevel=3)
