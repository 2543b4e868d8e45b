"""Stopping: a trial runs until a rung shows that it is not among the best.

For systems that cannot pause. A trial stopped at the ceiling does not come back when the ceiling
rises; only trials that arrive later go further.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rungwise.core.decisions import CONTINUE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.scheduler import Draw, Move
from rungwise.core.trials import State, Trial
from rungwise.schedulers.base import UnderCeiling


class Stopping(UnderCeiling):
    """Asynchronous successive halving without pauses.

    At a rung a trial continues if it is in the best part of those that have reached it so far, and
    if the rung is below the ceiling as it was when the trial arrived.

    Args:
        ladder: where the rungs are.
        ceiling: the highest rung that trials may reach now.
        cut: which part of a rung may continue (at least one trial).
    """

    def next_move(self, *, may_draw: bool) -> Move | None:
        return Draw(self.ladder.max_resource) if may_draw else None

    def reported(self, trial: Trial, resource: float, loss: float) -> Continue | Pause | Stop:
        levels, top = self._levels, self._top
        if resource < levels[trial.rung + 1]:
            self.ceiling.reported(trial, arrived=False)
            return CONTINUE
        highest = self.ceiling.rung
        continues = True
        while trial.rung < top and levels[trial.rung + 1] <= resource:
            trial.rung += 1
            rung = self.rungs[trial.rung]
            rung.enter(trial.id, loss)
            continues = continues and rung.includes(trial.id)
        self.ceiling.reported(trial, arrived=True)
        return CONTINUE if continues and trial.rung < highest else STOP

    def released(self, trial: Trial) -> None:
        """A stopped trial is done."""

    def raise_to(self, ladder: Ladder, known: Sequence[Trial], reports: int) -> Sequence[int]:
        """Only trials that come later go further, and those that are started again."""
        super().raise_to(ladder, known, reports)
        for trial in known:
            if trial.state is State.LOST:
                trial.until = ladder.max_resource
        return ()

    def dropped(self, trial: Trial) -> None:
        # It ranks last at the next rung, wherever its job was to end.
        trial.rung += 1
        self.rungs[trial.rung].enter(trial.id, math.inf)
