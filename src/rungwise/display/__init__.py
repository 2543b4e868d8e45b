"""Displays: what a person or a program sees while a study runs.

The name of a display (``show="lines"``) follows from its class, see
:mod:`rungwise.options.registry`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from rungwise.backends.base import WorkerView
from rungwise.display.base import Adopted, Display, Snapshot
from rungwise.display.json_lines import EventDisplay
from rungwise.display.lines import LineDisplay
from rungwise.display.notebook import NotebookDisplay, is_notebook
from rungwise.display.quiet import QuietDisplay
from rungwise.options.registry import DISPLAYS
from rungwise.validation import adopt

if TYPE_CHECKING:
    from rungwise.display.live import LiveDisplay

__all__ = [
    "Display",
    "EventDisplay",
    "LineDisplay",
    "LiveDisplay",
    "NotebookDisplay",
    "QuietDisplay",
    "Snapshot",
    "WorkerView",
    "choose",
]


def __getattr__(name: str) -> Any:
    if name != "LiveDisplay":
        raise AttributeError(f"module 'rungwise.display' has no attribute {name!r}")
    # Importing rich takes time: only a live view pays for it.
    from rungwise.display.live import LiveDisplay  # noqa: PLC0415

    return LiveDisplay


def choose(show: object, argument: str = "show") -> Display:
    """The display that a name stands for, or that a user has made.

    Args:
        show: ``"auto"`` or ``"live"``: a live view in a notebook, or if the standard error output
            is a terminal that can draw it, else log lines; or the name of any other display; or
            a display.
        argument: where the name was written, for the error.
    """
    if not isinstance(show, str):
        return show if isinstance(show, Display) else adopt(show, Adopted)
    if show in ("auto", "live") and is_notebook():
        return NotebookDisplay()
    if show == "auto":
        show = "live" if _can_draw() else "lines"
    kind = DISPLAYS.find(show, argument)
    if kind.needs_terminal and not _can_draw():
        lines = LineDisplay()
        lines.notice("the live view needs a terminal that can draw it: log lines instead")
        return lines
    display: Display = kind()
    return display


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
