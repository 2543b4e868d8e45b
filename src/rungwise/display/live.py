"""A live view on a terminal, redrawn a few times per second when the study sends its state.

There is no thread that redraws: a view that moves while the study stands still would mislead.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from rich.console import Console
from rich.live import Live

from rungwise.display.base import Display, Snapshot
from rungwise.display.changes import SHARE, ChangeWatch, Clock
from rungwise.display.render import Scene, draw, find_room
from rungwise.formatting import format_config, strip_controls

PERIOD = 0.25
"""The fewest seconds between two drawings."""


class Screen(Console):
    """A console that raises when its terminal is gone, where others end the process."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - rich calls it while it handles the error


class LiveDisplay(Display):
    """Draws the study in place.

    Args:
        console: where; the standard error output by default.
        timer: returns seconds.
    """

    needs_terminal: ClassVar[bool] = True

    def __init__(self, console: Screen | None = None, *, timer: Clock = time.monotonic) -> None:
        if console is None:
            console = Screen(stderr=True, highlight=False)
        self._console = console
        self._timer = timer
        self._watch = ChangeWatch(timer)
        self._notices: deque[str] = deque(maxlen=3)
        self._due = 0.0
        self._lost = self._begun = False
        # What callbacks print stands above the view, unless it goes to a file.
        prints = _is_terminal(sys.stdout)
        self._live = Live(
            console=console, auto_refresh=False, redirect_stdout=prints, vertical_overflow="crop"
        )

    def begin(self, snapshot: Snapshot) -> None:
        self._watch.begin(snapshot)
        self._begun = True
        self._guard(self._live.start)
        self._draw(snapshot)

    def due(self) -> bool:
        return self._timer() >= self._due and not self._lost

    def update(self, snapshot: Snapshot) -> None:
        if self._timer() >= self._due:
            self._draw(snapshot)

    def notice(self, text: str) -> None:
        clean = strip_controls(text).strip()
        if self._begun:
            self._notices.append(clean)
        else:  # above the view, where it stays
            self._guard(lambda: self._console.print(clean, markup=False))

    def end(self, snapshot: Snapshot, text: str) -> None:
        self._draw(snapshot, over=True)
        self._guard(self._live.stop)
        self._guard(lambda: self._console.print(f"\n{strip_controls(text)}", markup=False))
        best = snapshot.view.best
        if best is not None and len(format_config(best.config)) > find_room(
            best, snapshot.view.unit, self._console.width
        ):
            config = strip_controls(repr(dict(best.config)))
            whole = f"best configuration: {config}"
            self._guard(lambda: self._console.print(whole, markup=False, soft_wrap=True))

    def _draw(self, snapshot: Snapshot, *, over: bool = False) -> None:
        if self._lost:
            return
        begun = self._timer()
        # First, because it keeps to a budget of its own.
        saved = self._watch.saved(snapshot, now=over)
        drawing = self._timer()
        ladder = snapshot.view.rungs()
        left = None if over else self._watch.left(snapshot, ladder)
        scene = Scene(snapshot, ladder, saved, left, tuple(self._notices))
        frame = draw(scene, self._console)
        self._guard(lambda: self._live.update(frame, refresh=True))
        done = self._timer()
        # A view of many trials takes longer: then it is drawn less often.
        self._due = max(begun + PERIOD, done + SHARE * (done - drawing))

    def _guard(self, act: Callable[[], object]) -> None:
        """Do it unless the terminal is gone: the study continues without a terminal."""
        if self._lost:
            return
        try:
            act()
        except (OSError, ValueError):  # hung up, closed, or without the characters needed
            self._lost = True


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
