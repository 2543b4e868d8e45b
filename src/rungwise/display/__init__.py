"""Displays: what a person or a program sees while a study runs."""

from __future__ import annotations

import os
import sys

from rungwise.core.checks import one_of
from rungwise.display.base import Display, Snapshot, WorkerView
from rungwise.display.events import EventDisplay
from rungwise.display.lines import LineDisplay
from rungwise.display.quiet import QuietDisplay

__all__ = ["Display", "Snapshot", "WorkerView", "choose"]


def choose(show: str) -> Display:
    """The display that a word stands for.

    Args:
        show: ``"auto"`` or ``"live"``: a live view if the standard error output is a terminal
            that can draw it, else log lines; ``"lines"``; ``"json"``: objects for programs;
            ``"quiet"``: nothing.
    """
    one_of("show", show, ("auto", "live", "lines", "json", "quiet"))
    if show == "quiet":
        return QuietDisplay()
    if show == "json":
        return EventDisplay()
    if show == "lines" or not _can_draw():
        return LineDisplay()
    # rich is worth its import only where it draws.
    from rungwise.display.live import LiveDisplay  # noqa: PLC0415

    return LiveDisplay()


def _can_draw() -> bool:
    """Whether the standard error output is a terminal with a cursor and the characters needed."""
    stream = sys.stderr
    try:
        if not stream.isatty() or os.environ.get("TERM") == "dumb":
            return False
        "█→ε".encode(stream.encoding or "ascii")
    except (AttributeError, LookupError, OSError, ValueError):
        return False
    return True
