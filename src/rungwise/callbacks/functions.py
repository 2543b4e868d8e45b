"""A function as a callback: the short form ``on_report=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rungwise.callbacks.base import Callback
from rungwise.callbacks.events import ReportEvent


class ReportFunction(Callback):
    """Calls a function with every report; what that raises stops the study.

    That is the only difference to other callbacks, and what ``on_report`` has always done: a way
    to end a study from one's own code. It can be resumed.

    Args:
        function: called with a :class:`ReportEvent`.
    """

    stops_the_study: ClassVar[bool] = True

    def __init__(self, function: Callable[[ReportEvent], object]) -> None:
        self._function = function

    def reported(self, report: ReportEvent) -> None:
        """Call the function."""
        self._function(report)
