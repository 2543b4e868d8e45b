"""Promotion: pause at every rung, promote the best when a worker is free (ASHA and PASHA)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rungwise.core.decisions import CONTINUE, PAUSE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.scheduler import Draw, Move, Promote, Reopened
from rungwise.core.trials import Candidate
from rungwise.schedulers.base import UnderCeiling, waits_at


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

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        if resource < trial.until:
            self.ceiling.reported(trial, arrived=False)
            return CONTINUE
        self._climb(trial, resource, loss)
        self.ceiling.reported(trial, arrived=True)
        return STOP if trial.id in self.rungs[-1].losses else PAUSE

    def released(self, trial: Candidate) -> None:
        # A trial that was paused between rungs (the study ended) does not wait for promotion.
        if trial.resource >= trial.until:
            self._offer(trial)

    def dropped(self, trial: Candidate) -> None:
        self._climb(trial, trial.until, math.inf)

    def raise_to(self, ladder: Ladder, known: Sequence[Candidate], reports: int) -> Reopened:
        """Trials at the old maximum wait there for promotion, as in every other rung."""
        done = [trial for trial in known if waits_at(trial, self.ladder.max_resource)]
        super().raise_to(ladder, known, reports)
        return Reopened([trial.id for trial in done if self._offer(trial)])

    def _offer(self, trial: Candidate) -> bool:
        """Let a trial wait where it stands; False if that is the last rung."""
        stands = self._count_entered(trial.id) - 1
        if stands == self._top:
            return False
        self.rungs[stands].offer(trial.id)
        return True

    def _climb(self, trial: Candidate, resource: float, loss: float) -> None:
        """Enter every rung that is reached with this report: the first at or beyond its level."""
        for rung in self.rungs:
            if rung.level > resource:
                return
            if trial.id not in rung.losses:
                rung.enter(trial.id, loss)
