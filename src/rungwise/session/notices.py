"""Notices are shown to a person, and kept with the study for those who look at it later."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rungwise.display import Display
from rungwise.errors import UsageWarning

MOST = 1000
"""How many notices of a session a study file keeps."""


def say(display: Display, text: str, *, stacklevel: int = 2) -> None:
    """Say something important: a quiet display says nothing, so Python's warnings do."""
    if display.shows_notices:
        display.notice(text)
    else:
        warnings.warn(text, UsageWarning, stacklevel=stacklevel + 1)


class Notices:
    """Shows and keeps the notices of a session.

    Args:
        display: what a person sees.
        keep: keeps one.
    """

    def __init__(self, display: Display, keep: Callable[[str], None]) -> None:
        self._display = display
        self._keep = keep
        self._left = MOST

    def show(self, text: str) -> None:
        """Show a notice and keep it."""
        self._display.notice(text)
        self._note(text)

    def say(self, text: str) -> None:
        """Say something important, and keep it."""
        self._note(text)
        say(self._display, text, stacklevel=3)

    def _note(self, text: str) -> None:
        if self._left:
            self._left -= 1
            self._keep(text)
