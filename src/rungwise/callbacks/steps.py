"""Resources as steps, for trackers that count in whole numbers."""

from __future__ import annotations

from collections.abc import Callable

FURTHEST = 2**63 - 1
"""The largest step that such trackers hold."""


class StepCounter:
    """Turns resources into steps, and says once if some become the same.

    Args:
        name: of the callback, for the notice.
        scale: what resources are multiplied with before they are rounded.
        notice: shows a text to the user.
    """

    def __init__(self, name: str, scale: float, notice: Callable[[str], None]) -> None:
        self._name = name
        self._scale = scale
        self._notice = notice
        self._said = False

    def count(self, resource: float) -> int:
        """The step of a report at a resource."""
        exact = resource * self._scale
        step = min(round(exact), FURTHEST)
        if step != exact and not self._said:
            self._said = True
            self._notice(
                f"{self._name} counts steps in whole numbers, and resource {resource:g} becomes "
                f"step {step}: give scale=1000, or report in a smaller unit"
            )
        return step
