"""Saying once that a model has failed.

Python's own "once" ends whenever filters of warnings change, which libraries do in every fit. No
decision depends on what is remembered here.
"""

from __future__ import annotations

import warnings

from rungwise.errors import ModelWarning

_told: set[str] = set()


def warn_once(who: str, why: str) -> None:
    """Warn, unless this process has warned of the same before.

    Args:
        who: the searcher.
        why: what happened, as a clause.
    """
    text = f"{who} {why}; proposals are random instead."
    if text not in _told:
        _told.add(text)
        warnings.warn(text, ModelWarning, stacklevel=3)
