"""Stopping: a trial runs until a rung shows that it is not among the best.

For systems that cannot pause. A trial stopped at the ceiling does not come back when the ceiling
rises; only trials that arrive later go further.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rungwise.core.decisions import CONTINUE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Cut
from rungwise.core.scheduler import Draw, Move, Reopened
from rungwise.core.trials import Candidate, State
from rungwise.schedulers.base import CeilingOver, UnderCeiling


class Stopping(UnderCeiling):
    """Asynchronous successive halving without pauses.

    At a rung a trial continues if it is in the best part of those that have reached it so far, and
    if the rung is below the ceiling as it was when the trial arrived.

    Args:
        ladder: where the rungs are.
        ceiling: the highest rung that trials may reach now.
        cut: which part of a rung may continue (at least one trial).
    """

    pauses = False

    def __init__(self, ladder: Ladder, *, ceiling: CeilingOver, cut: Cut) -> None:
        super().__init__(ladder, ceiling=ceiling, cut=cut)
        self._next: dict[int, int] = {}  # the rung that each trial enters next

    def started(self, trial: Candidate) -> None:
        self._next[trial.id] = 0

    def next_move(self, *, may_draw: bool) -> Move | None:
        return Draw(self.ladder.max_resource) if may_draw else None

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        levels, passed = self._levels, self._next[trial.id]
        if resource < levels[passed]:
            self.ceiling.reported(trial, arrived=False)
            return CONTINUE
        highest = self.ceiling.rung
        continues = True
        while passed <= self._top and levels[passed] <= resource:
            rung = self.rungs[passed]
            rung.enter(trial.id, loss)
            continues = continues and rung.includes(trial.id)
            passed += 1
        self._next[trial.id] = passed
        self.ceiling.reported(trial, arrived=True)
        return CONTINUE if continues and passed <= highest else STOP

    def released(self, trial: Candidate) -> None:
        """A stopped trial is done."""

    def raise_to(self, ladder: Ladder, known: Sequence[Candidate], reports: int) -> Reopened:
        """Only trials that come later go further, and those that are started again."""
        super().raise_to(ladder, known, reports)
        self._next = {trial.id: self._count_entered(trial.id) for trial in known}
        again = (trial.id for trial in known if trial.state is State.LOST)
        return Reopened(until=dict.fromkeys(again, ladder.max_resource))

    def dropped(self, trial: Candidate) -> None:
        # It ranks last at the next rung, wherever its job was to end.
        self.rungs[self._next[trial.id]].enter(trial.id, math.inf)
        self._next[trial.id] += 1
