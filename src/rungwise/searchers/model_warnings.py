"""What a person hears of models: once that one has failed, and nothing of libraries' own worries.

Python's own "once" ends whenever filters of warnings change, which happens in every fit. No
decision depends on what is remembered here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rungwise.errors import ModelWarning

_told: set[str] = set()

LIBRARIES = r"(botorch|gpytorch|linear_operator|torch|scipy|numpy|optuna|cmaes|sklearn)(\.|$)"
"""Whose warnings are about what this package asks of them."""


@contextmanager
def libraries_silent() -> Iterator[None]:
    """Libraries do not warn meanwhile; all others do, since filters are those of all threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=LIBRARIES)
        # A library may warn in the name of its caller.
        warnings.filterwarnings("ignore", module=r"rungwise\.(searchers|reproduction)\.")
        yield


def warn_once(who: str, why: str) -> None:
    """Warn, unless this process has warned of the same searcher before, whatever it was then.

    Args:
        who: the searcher.
        why: what happened, as a clause.
    """
    if who not in _told:
        _told.add(who)
        text = f"{who} {why}; a random proposal takes its place. Later failures are not told."
        warnings.warn(text, ModelWarning, stacklevel=3)
