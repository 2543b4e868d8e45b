"""Promotion: pause at every rung, promote the best when a worker is free (ASHA and PASHA)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rungwise.core.decisions import CONTINUE, PAUSE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.scheduler import Draw, Move, Promote
from rungwise.core.trials import State, Trial
from rungwise.schedulers.base import UnderCeiling


class Promotion(UnderCeiling):
    """Asynchronous successive halving with real pauses.

    A free worker promotes the best trial of the highest rung below the ceiling that has one to
    promote; otherwise it starts a new configuration (paper, Algorithm 1, ``get_job``; the last two
    lines of the listing belong behind its loop).

    Args:
        ladder: where the rungs are.
        ceiling: the highest rung that trials may reach now.
        cut: which part of a rung may be promoted.
    """

    def next_move(self, *, may_draw: bool) -> Move | None:
        for k in range(self.ceiling.rung - 1, -1, -1):
            trial = self.rungs[k].take()
            if trial is not None:
                return Promote(trial, self._levels[k + 1])
        return Draw(self._levels[0]) if may_draw else None

    def reported(self, trial: Trial, resource: float, loss: float) -> Continue | Pause | Stop:
        if resource < trial.until:
            self.ceiling.reported(trial, arrived=False)
            return CONTINUE
        self._climb(trial, resource, loss)
        self.ceiling.reported(trial, arrived=True)
        return STOP if trial.rung == self._top else PAUSE

    def released(self, trial: Trial) -> None:
        # A trial that was paused between rungs (the study ended) does not wait for promotion.
        if trial.resource >= trial.until and trial.rung < self._top:
            self.rungs[trial.rung].offer(trial.id)

    def dropped(self, trial: Trial) -> None:
        self._climb(trial, trial.until, math.inf)

    def raise_to(self, ladder: Ladder, known: Sequence[Trial], reports: int) -> Sequence[int]:
        """Trials at the old maximum wait there for promotion, as in every other rung."""
        old = self._top
        there = [trial for trial in known if trial.rung == old]
        super().raise_to(ladder, known, reports)
        done = [trial for trial in there if trial.state is State.STOPPED]
        for trial in done:
            if trial.rung < self._top:
                self.rungs[trial.rung].offer(trial.id)
        return [trial.id for trial in done if trial.rung < self._top]

    def _climb(self, trial: Trial, resource: float, loss: float) -> None:
        """Enter every rung that is reached with this report: the first at or beyond its level."""
        levels = self._levels
        while trial.rung < self._top and levels[trial.rung + 1] <= resource:
            trial.rung += 1
            self.rungs[trial.rung].enter(trial.id, loss)
