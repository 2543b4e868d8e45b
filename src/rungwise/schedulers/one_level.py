"""One level: every configuration is trained to the same resource."""

from __future__ import annotations

import math
from collections import deque

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import FloorCut, Rung
from rungwise.core.scheduler import Extension, Move, Promote, Reopened
from rungwise.core.trials import State
from rungwise.schedulers.ceilings import Fixed
from rungwise.schedulers.promotion import Promotion


class OneLevel(Promotion):
    """A ladder of one rung: a trial that reaches it is done.

    Args:
        resource: how far every configuration is trained.
    """

    def __init__(self, resource: int) -> None:
        super().__init__(Ladder((resource,), eta=2), ceiling=Fixed, cut=FloorCut(2))
        self._behind: deque[int] = deque()  # trials that were done under a lower maximum

    def next_move(self, *, may_draw: bool) -> Move | None:
        if self._behind:
            return Promote(self._behind.popleft(), self._levels[0])
        return super().next_move(may_draw=may_draw)

    def extend(self, extension: Extension) -> Reopened:
        """The level moves up: all that were trained to the old one continue to the new one."""
        if extension.max_resource is None:
            return Reopened()
        old, level = self._levels[0], extension.max_resource
        self.ladder = Ladder((level,), self.ladder.eta)
        self._levels = self.ladder.levels
        self.rungs[:] = [Rung(level, self._cut)]
        self.ceiling.extend(self.ladder, extension.known, extension.reports)
        done, until = [], {}
        for trial in extension.known:
            if trial.state in (State.FAILED, State.ENDED):
                continue
            self._enter_passed(trial)
            if trial.id in self.rungs[0].losses:
                continue
            if trial.state is State.LOST:
                until[trial.id] = level
            elif trial.state is State.STOPPED and trial.resource >= old:
                done.append(trial.id)
                if trial.losses[-1] < math.inf:
                    self._behind.append(trial.id)
        return Reopened(done, until)
