"""What changed since the last update of a display, and figures too costly for every update."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rungwise.display.base import Snapshot
from rungwise.display.estimate import Estimator, TimeLeft
from rungwise.views import RungView
from rungwise.views.savings import Savings

Clock = Callable[[], float]

PERIOD = 3.0
"""The fewest seconds between two computations of what was saved."""

SHARE = 50
"""Figures may take 1/SHARE of the time, so that displays never slow a study."""

SECONDS_PER_TRIAL = 40e-6
"""About what a trial costs in a counterfactual; it only decides when the first one is computed."""


class ChangeWatch:
    """Follows one study.

    Args:
        timer: returns seconds; any origin will do.
    """

    def __init__(self, timer: Clock = time.monotonic) -> None:
        self._timer = timer
        self._estimator = Estimator()
        self._risen = 0
        self._best: tuple[int, float] | None = None
        self._saving: Savings | None = None
        self._saving_due = 0.0
        self._saving_reports = -1

    def begin(self, snapshot: Snapshot) -> None:
        """Take the state at the beginning as known: only what follows is a change."""
        self.ceilings(snapshot)
        self.best_changed(snapshot)
        self.left(snapshot)
        cost = SECONDS_PER_TRIAL * snapshot.view.trials
        self._saving_due = self._timer() + max(PERIOD, SHARE * cost)

    def ceilings(self, snapshot: Snapshot) -> Sequence[tuple[int, float]]:
        """The ceilings reached since the last time: [(reports, level), …]."""
        trace = snapshot.view.ceilings
        new = trace[self._risen :]
        self._risen = len(trace)
        return new

    def best_changed(self, snapshot: Snapshot) -> bool:
        """Whether there is a better value than the last time."""
        best = snapshot.view.best
        now = None if best is None else (best.trial, best.value)
        changed = now != self._best
        self._best = now
        return changed

    def left(self, snapshot: Snapshot, ladder: list[RungView] | None = None) -> TimeLeft:
        """How long it may still take."""
        return self._estimator.left(snapshot, ladder)

    def saved(self, snapshot: Snapshot, *, now: bool = False) -> Savings | None:
        """What was saved, as of a few seconds ago; None while it is not known.

        Args:
            snapshot: the study.
            now: compute it even if that is not due.
        """
        view = snapshot.view
        begun = self._timer()
        if view.reports != self._saving_reports and (now or begun >= self._saving_due):
            self._saving_reports = view.reports
            self._saving = view.savings
            done = self._timer()
            self._saving_due = done + max(PERIOD, SHARE * (done - begun))
        return self._saving
