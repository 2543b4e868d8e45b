"""Nothing at all: errors are raised, and results returned, elsewhere."""

from __future__ import annotations

from typing import ClassVar

from rungwise.display.base import Snapshot


class QuietDisplay:
    """Shows nothing."""

    shows_notices: ClassVar[bool] = False

    def begin(self, snapshot: Snapshot) -> None:
        """Nothing."""

    def due(self) -> bool:
        return False

    def update(self, snapshot: Snapshot) -> None:
        """Nothing."""

    def notice(self, text: str) -> None:
        """Nothing."""

    def end(self, snapshot: Snapshot, text: str) -> None:
        """Nothing."""
