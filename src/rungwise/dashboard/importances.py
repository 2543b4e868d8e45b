"""The importance of parameters, computed one at a time and not more often than it is cheap."""

from __future__ import annotations

import threading
import time
from typing import Any

from rungwise.dashboard import details
from rungwise.dashboard.feed import Feed

SHARE = 0.05
"""The part of the time that it may take."""

MOST = 64
"""Of how many rungs it is kept."""


class Importances:
    """The importance of parameters, computed one at a time and not more often than it is cheap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, float | None], tuple[float, dict[str, Any]]] = {}

    def get(self, feed: Feed, level: float | None) -> dict[str, Any]:
        """The importance at a rung, perhaps as it was some seconds ago."""
        with self._lock:
            key = (str(feed.path), level)
            held = self._found.get(key)
            if held is not None and time.monotonic() < held[0]:
                return held[1]
            begun = time.monotonic()
            found = details.write_importance(
                lambda: feed.read(lambda view, _: details.find_comparable(view, level))
            )
            took = time.monotonic() - begun
            if len(self._found) > MOST:
                self._found.clear()
            self._found[key] = (time.monotonic() + took / SHARE, found)
            return found
