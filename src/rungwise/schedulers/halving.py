"""Synchronous successive halving: a rung must be complete before any trial is promoted."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque

from rungwise.core.decisions import CONTINUE, PAUSE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.rungs import FloorCut, Rung
from rungwise.core.scheduler import Draw, Move, Promote
from rungwise.core.trials import Trial
from rungwise.schedulers.base import ToTheMaximum


class Halving(ToTheMaximum):
    """One bracket: ``size`` configurations start, the best ⌊n/η⌋ of each full rung continue.

    Args:
        ladder: where the rungs are.
        size: how many configurations start; a study that draws fewer closes the rung early.
        bracket: its number, for schedulers that run several.

    Reference:
        Jamieson and Talwalkar (2016); the paper, section 2.
    """

    def __init__(self, ladder: Ladder, *, size: int, bracket: int = 0) -> None:
        super().__init__(ladder)
        self.rungs = [Rung(level, FloorCut(ladder.eta)) for level in ladder.levels]
        self._size = size
        self._bracket = bracket
        self._rung = 0
        self._sent = 0  # trials sent to the current rung
        self._trials: dict[int, Trial] = {}
        self._queue: deque[int] = deque()  # trials to be sent to the current rung
        self._closed = False  # no further trial will be sent to the current rung
        self._away: set[int] = set()  # sent, and not back yet

    @property
    def is_over(self) -> bool:
        """Whether the bracket will have no further job."""
        return self._closed and not self._queue and not self._away

    def next_move(self, *, may_draw: bool) -> Move | None:
        if self._rung == 0 and not self._closed:
            if may_draw and self._sent < self._size:
                return Draw(self.ladder.levels[0], self._bracket)
            self._close()
        if not self._queue:
            return None
        trial = self._queue.popleft()
        self._away.add(trial)
        if not self._queue:
            self._closed = True
        return Promote(trial, self.ladder.levels[self._rung])

    def started(self, trial: Trial) -> None:
        self._trials[trial.id] = trial
        self._away.add(trial.id)
        self._sent += 1
        if self._sent == self._size:
            self._closed = True

    def reported(self, trial: Trial, resource: float, loss: float) -> Continue | Pause | Stop:
        if resource < trial.until:
            return CONTINUE
        self._enter(trial, loss)
        return STOP if trial.rung == self.ladder.top else PAUSE

    def released(self, trial: Trial) -> None:
        self._take_back(trial)

    def dropped(self, trial: Trial) -> None:
        self._enter(trial, math.inf)
        self._take_back(trial)

    def _enter(self, trial: Trial, loss: float) -> None:
        trial.rung = self._rung
        self.rungs[trial.rung].enter(trial.id, loss)

    def _take_back(self, trial: Trial) -> None:
        self._away.discard(trial.id)
        self._advance()

    def _close(self) -> None:
        self._closed = True
        self._advance()

    def _advance(self) -> None:
        """When all trials sent to the rung are back, its best go to the next one."""
        while self._closed and not self._away and not self._queue and self._rung < self.ladder.top:
            rung = self.rungs[self._rung]
            best = rung.ranked()[: len(rung) // self.ladder.eta]
            best = [trial for trial in best if rung.losses[trial] < math.inf]
            if not best:
                return
            self._rung += 1
            for number in best:
                self._send(self._trials[number])
            self._closed = not self._queue

    def _send(self, trial: Trial) -> None:
        """Send a trial to the current rung, unless a report was already beyond its level."""
        level = self.ladder.levels[self._rung]
        if trial.resource < level:
            self._queue.append(trial.id)
        else:
            self._enter(trial, trial.losses[bisect_left(trial.resources, level)])

    def explain(self) -> str:
        best = f"the best ⌊n/{self.ladder.eta}⌋ of each full rung were promoted"
        return f"{best}, and the last rung was {self.ladder.levels[self._rung]}"
