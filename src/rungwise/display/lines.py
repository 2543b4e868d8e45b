"""Log lines, for where there is no terminal."""

from __future__ import annotations

import sys
import time
from typing import ClassVar, TextIO

from rungwise.display.base import Display, Snapshot
from rungwise.display.changes import ChangeWatch, Clock
from rungwise.display.line_writer import LineWriter
from rungwise.display.phrases import (
    describe_draws,
    describe_failures,
    describe_scheduler,
)
from rungwise.formatting import (
    format_amount,
    format_clock,
    format_config,
    format_count,
    format_place,
    format_resource,
    format_value,
    strip_controls,
)

CHECK_PERIOD = 0.25
"""Seconds between two checks for changes."""

SOONEST, LATEST = 1.0, 10.0
"""Seconds between two lines of progress: few at first, so that a user sees that it works."""

BEST = 5.0
"""Seconds between two lines about a new best, which at first comes with every report."""


class LineDisplay(Display):
    """Writes a line when something has happened, and every ten seconds.

    Args:
        stream: where to; the standard error output by default.
        timer: returns seconds.
    """

    words: ClassVar[tuple[str, ...]] = ("lines",)

    def __init__(self, stream: TextIO | None = None, *, timer: Clock = time.monotonic) -> None:
        self._writer = LineWriter(sys.stderr if stream is None else stream)
        self._timer = timer
        self._watch = ChangeWatch(timer)
        self._due = 0.0
        self._pause = SOONEST
        self._progress_due = 0.0
        self._best_due = 0.0
        self._best_pending = False
        self._origin = timer()

    def begin(self, snapshot: Snapshot) -> None:
        now = self._timer()
        self._origin = now - snapshot.elapsed
        self._watch.begin(snapshot)
        self._due = now + CHECK_PERIOD
        self._progress_due = now + self._pause
        view = snapshot.view
        name = f"{snapshot.study}: " if snapshot.study else ""
        reports = f", {format_count(view.reports, 'report')} so far" if view.reports else ""
        self._write(
            f"{name}{snapshot.metric} ({view.goal}), {describe_scheduler(snapshot)}, "
            f"{describe_draws(snapshot)}, {format_count(len(snapshot.workers), 'worker')}{reports}"
        )

    def due(self) -> bool:
        return self._timer() >= self._due

    def update(self, snapshot: Snapshot) -> None:
        now = self._timer()
        if now < self._due:
            return
        self._due = now + CHECK_PERIOD
        self._write_changes(snapshot, now)
        if now >= self._progress_due:
            self._pause = min(2 * self._pause, LATEST)
            self._progress_due = now + self._pause
            self._write(self._progress(snapshot))

    def notice(self, text: str) -> None:
        self._write(text)

    def end(self, snapshot: Snapshot, text: str) -> None:
        self._write_changes(snapshot, self._timer())
        self._write(self._progress(snapshot, over=True))
        self._write(text)

    def _write(self, text: str) -> None:
        stamp = f"[{format_clock(self._timer() - self._origin)}] "
        indented = strip_controls(text).rstrip().replace("\n", "\n" + " " * len(stamp))
        self._writer.write_line(stamp + indented)

    def _write_changes(self, snapshot: Snapshot, now: float) -> None:
        risen = self._watch.ceilings(snapshot)
        if risen:
            levels = ", then ".join(format_resource(level) for _, level in risen)
            self._write(f"ceiling {levels}: {snapshot.view.explanation}")
        if self._watch.best_changed(snapshot):
            self._best_pending = True
        if self._best_pending and now >= self._best_due:
            self._best_pending = False
            self._best_due = now + BEST
            self._write(f"new best: {_best(snapshot)}")

    def _progress(self, snapshot: Snapshot, *, over: bool = False) -> str:
        view = snapshot.view
        parts = [
            describe_draws(snapshot),
            format_count(view.reports, "report"),
            f"{format_amount(view.resource_spent, view.unit)} spent",
        ]
        ceiling, epsilon, best = view.ceiling, view.epsilon, view.best
        if ceiling is not None:
            parts.append(f"ceiling {format_resource(ceiling)}")
        if epsilon is not None:
            parts.append(f"epsilon {epsilon:.3g}")
        if best is not None:
            parts.append(f"best {format_value(best.value)}")
        if snapshot.failures:
            parts.append(f"failed: {describe_failures(snapshot)}")
        if not over:
            parts.append(f"{snapshot.busy} of {len(snapshot.workers)} workers busy")
        saved = self._watch.saved(snapshot, now=over)
        if saved is not None:
            parts.append(str(saved))
        if not over:
            parts.append(f"left: {self._watch.left(snapshot)}")
        return ", ".join(parts)


def _best(snapshot: Snapshot) -> str:
    best = snapshot.view.best
    if best is None:
        return "none"
    return (
        f"{format_value(best.value)} {format_place(best.resource, snapshot.view.unit)} by trial "
        f"{best.trial} ({best.problem or format_config(best.config)})"
    )
