"""JSON lines, for programs: one object per line, each with its kind and the seconds elapsed.

=============  =======================================================================
kind           what it holds
=============  =======================================================================
``started``    study, metric, goal, scheduler, max_resource (null: open), limits, workers
``ceiling``    level, reports (how many there had been), why
``best``       value, resource, trial, config
``progress``   everything that changes, every second
``notice``     text
``ended``      text, state, why, numbers, rule, and everything of ``progress``
=============  =======================================================================
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import Any, ClassVar, TextIO

from rungwise.core.codec import jsonable
from rungwise.display.base import Display, Snapshot
from rungwise.display.changes import ChangeWatch, Clock
from rungwise.display.line_writer import LineWriter

CHECK_PERIOD, PERIOD = 0.25, 1.0
"""Seconds between two checks for changes, and between two objects of progress."""


class EventDisplay(Display):
    """Writes one JSON object per line.

    Args:
        stream: where to; the standard output by default.
        timer: returns seconds.
    """

    words: ClassVar[tuple[str, ...]] = ("json",)

    def __init__(self, stream: TextIO | None = None, *, timer: Clock = time.monotonic) -> None:
        self._writer = LineWriter(sys.stdout if stream is None else stream)
        self._timer = timer
        self._watch = ChangeWatch(timer)
        self._due = 0.0
        self._progress_due = 0.0
        self._origin = timer()

    def begin(self, snapshot: Snapshot) -> None:
        now = self._timer()
        self._origin = now - snapshot.elapsed
        self._watch.begin(snapshot)
        self._due = now + CHECK_PERIOD
        self._progress_due = now + PERIOD
        view = snapshot.view
        self._write(
            "started",
            study=snapshot.study,
            metric=snapshot.metric,
            goal=view.goal,
            scheduler=type(view.recipe).__name__,
            max_resource=snapshot.max_resource,
            limits=asdict(view.limits),
            workers=len(snapshot.workers),
        )

    def due(self) -> bool:
        return self._timer() >= self._due

    def update(self, snapshot: Snapshot) -> None:
        now = self._timer()
        if now < self._due:
            return
        self._due = now + CHECK_PERIOD
        self._write_changes(snapshot)
        if now >= self._progress_due:
            self._progress_due = now + PERIOD
            self._write("progress", **self._state(snapshot))

    def notice(self, text: str) -> None:
        self._write("notice", text=text)

    def end(self, snapshot: Snapshot, text: str) -> None:
        self._write_changes(snapshot)
        state = self._state(snapshot, over=True)
        view = snapshot.view
        told = {"why": view.why, "numbers": view.numbers, "rule": view.rule}
        self._write("ended", text=text, state=view.state, **told, **state)

    def _write(self, kind: str, **fields: Any) -> None:
        elapsed = round(max(0.0, self._timer() - self._origin), 3)
        document = {"kind": kind, "elapsed": elapsed, **jsonable(fields)}
        self._writer.write_line(json.dumps(document, allow_nan=False))

    def _write_changes(self, snapshot: Snapshot) -> None:
        for reports, level in self._watch.ceilings(snapshot):
            self._write("ceiling", level=level, reports=reports, why=snapshot.view.explanation)
        if self._watch.best_changed(snapshot):
            self._write("best", **(_best(snapshot) or {}))

    def _state(self, snapshot: Snapshot, *, over: bool = False) -> dict[str, Any]:
        view = snapshot.view
        ladder = view.rungs()
        left = self._watch.left(snapshot, ladder)
        saved = self._watch.saved(snapshot, now=over)
        return {
            "trials": view.trials,
            "reports": view.reports,
            "resource": view.resource_spent,
            "ceiling": view.ceiling,
            "epsilon": view.epsilon,
            "best": _best(snapshot),
            "rungs": [asdict(rung) for rung in ladder],
            "busy": snapshot.busy,
            "failures": snapshot.failures,
            "failed_trials": snapshot.failed_trials,
            "checkpoints_bytes": snapshot.checkpoints_bytes,
            "left": None if over else {"low": left.low, "high": left.high},
            "savings": None if saved is None else saved.to_json(),
        }


def _best(snapshot: Snapshot) -> dict[str, Any] | None:
    best = snapshot.view.best
    if best is None:
        return None
    return {
        "value": best.value,
        "resource": best.resource,
        "trial": best.trial,
        "config": best.config,
        "problem": best.problem,
    }
