"""Notices are kept with the study, for those who look at it later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rungwise.display import Display

MOST = 1000
"""How many notices of a session a study file keeps."""


class NoticeKeeper:
    """A display whose notices are kept as well.

    Args:
        display: what a person sees.
        keep: keeps one.
    """

    def __init__(self, display: Display, keep: Callable[[str], None]) -> None:
        self._display = display
        self._keep = keep
        self._left = MOST

    def __getattr__(self, name: str) -> Any:
        return getattr(self._display, name)

    def notice(self, text: str) -> None:
        """Show it and keep it."""
        self._display.notice(text)
        self.keep(text)

    def keep(self, text: str) -> None:
        """Keep it without showing it."""
        if self._left:
            self._left -= 1
            self._keep(text)
