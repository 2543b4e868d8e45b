"""A live view in a notebook: one output that is replaced while the study runs."""

from __future__ import annotations

import importlib
import sys
import time
from collections import deque
from contextlib import suppress
from typing import Any, ClassVar

from rungwise.display.base import Display, Snapshot
from rungwise.display.changes import SHARE, ChangeWatch, Clock
from rungwise.display.phrases import (
    describe_draws,
    describe_failures,
    describe_scheduler,
)
from rungwise.errors import InvalidArgumentError, MissingExtraError
from rungwise.formatting import (
    format_amount,
    format_clock,
    format_count,
    format_resource,
    format_value,
)
from rungwise.views.html import escape, make_best, make_table

PERIOD = 0.5
"""The fewest seconds between two drawings: each is a message to the notebook."""

NOTICES = 5
"""How many notices are shown: the last ones."""


class NotebookDisplay(Display):
    """Shows the study as HTML, through IPython.

    Args:
        timer: returns seconds.

    Raises:
        MissingExtraError: IPython is not installed.
        InvalidArgumentError: this is no notebook.
    """

    words: ClassVar[tuple[str, ...]] = ("notebook",)

    def __init__(self, *, timer: Clock = time.monotonic) -> None:
        try:
            self._ipython: Any = importlib.import_module("IPython.display")
        except ImportError:
            raise MissingExtraError('show="notebook"', "notebook") from None
        if importlib.import_module("IPython").get_ipython() is None:
            rule = 'it must be run in a notebook: "auto" shows what there is'
            raise InvalidArgumentError("show", "notebook", rule)
        self._timer = timer
        self._watch = ChangeWatch(timer)
        self._notices: deque[str] = deque(maxlen=NOTICES)
        self._handle: Any = None
        self._due = 0.0

    def begin(self, snapshot: Snapshot) -> None:
        self._watch.begin(snapshot)
        self._draw(snapshot)

    def due(self) -> bool:
        return self._timer() >= self._due

    def update(self, snapshot: Snapshot) -> None:
        if self.due():
            self._draw(snapshot)

    def notice(self, text: str) -> None:
        self._notices.append(text)

    def end(self, snapshot: Snapshot, text: str) -> None:
        self._draw(snapshot, text)

    def _draw(self, snapshot: Snapshot, ending: str = "") -> None:
        begun = self._timer()
        page = self._ipython.HTML(self._write(snapshot, ending))
        # Whatever happens to the notebook, the study goes on without it.
        with suppress(Exception):
            if self._handle is None:
                self._handle = self._ipython.display(page, display_id=True)
            else:
                self._handle.update(page)
        done = self._timer()
        # A view of many trials takes longer: then it is drawn less often.
        self._due = max(begun + PERIOD, done + SHARE * (done - begun))

    def _write(self, snapshot: Snapshot, ending: str) -> str:
        view = snapshot.view
        head = f"{snapshot.metric} ({view.goal}), {describe_scheduler(snapshot)}"
        facts = [
            format_clock(snapshot.elapsed),
            describe_draws(snapshot),
            format_count(view.reports, "report"),
            f"{format_amount(view.resource_spent, view.unit)} spent",
        ]
        if not ending:
            facts.append(f"{snapshot.busy} of {format_count(len(snapshot.workers), 'worker')} busy")
            facts.append(f"left: {self._watch.left(snapshot)}")
        if snapshot.failures:
            facts.append(f"failed: {describe_failures(snapshot)}")
        saved = self._watch.saved(snapshot, now=bool(ending))
        if saved is not None:
            facts.append(str(saved))
        parts = [f"<p><b>{escape(head)}</b><br/>{escape(' · '.join(facts))}</p>"]
        if view.best is not None:
            parts.append(make_best(view.best, snapshot.metric, view.unit))
        parts.append(_write_rungs(snapshot))
        parts.append(f"<p>{escape(ending or view.explanation)}</p>")
        if self._notices:
            items = "".join(f"<li>{escape(text)}</li>" for text in self._notices)
            parts.append(f"<ul>{items}</ul>")
        return f"<div>{''.join(parts)}</div>"


def _write_rungs(snapshot: Snapshot) -> str:
    ceiling = snapshot.view.ceiling
    rows = [
        [
            f"{format_resource(rung.level)}{' ← ceiling' if rung.level == ceiling else ''}",
            *(rung.entered, rung.waiting, rung.running_to),
            "–" if rung.best is None else format_value(rung.best),
        ]
        for rung in snapshot.view.rungs()
    ]
    return make_table(["rung", "reached", "waiting", "running to it", "best"], rows)


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook; IPython is not imported to find out."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
