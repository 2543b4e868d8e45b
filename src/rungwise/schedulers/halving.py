"""Synchronous successive halving: a rung must be complete before any trial is promoted."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import islice

from rungwise.core.decisions import CONTINUE, PAUSE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Cut, FloorCut, Rung
from rungwise.core.scheduler import Draw, Extension, Move, Promote, Reopened
from rungwise.core.trials import Candidate
from rungwise.schedulers.base import ToTheMaximum, waits_at


class Halving(ToTheMaximum):
    """One bracket: ``size`` configurations start, the best ⌊n/η⌋ of each full rung continue.

    Args:
        ladder: where the rungs are.
        size: how many configurations start; a study that draws fewer closes the rung early.
        grows: whether the size is the number of trials of the study, and grows with it.
        bracket: its number, for schedulers that run several.
        first: which part of the first rung continues, if it is another one than ⌊n/η⌋.

    Reference:
        Jamieson and Talwalkar (2016); the paper, section 2.
    """

    def __init__(
        self,
        ladder: Ladder,
        *,
        size: int,
        bracket: int = 0,
        grows: bool = False,
        first: Cut | None = None,
    ) -> None:
        super().__init__(ladder)
        cut = FloorCut(ladder.eta)
        self._cuts = (cut if first is None else first, cut)  # of the first rung, of all others
        self.rungs = [Rung(level, cut) for level in ladder.levels]
        self._size = size
        self._bracket = bracket
        self._grows = grows
        self._rung = 0
        self._trials: dict[int, Candidate] = {}
        self._queue: deque[int] = deque()  # trials to be sent to the current rung
        self._closed = False  # no further trial will be sent to the current rung
        self._away: dict[int, int] = {}  # sent, and not back yet: trial → to which rung

    @property
    def is_over(self) -> bool:
        """Whether the bracket will have no further job."""
        return self._closed and not self._queue and not self._away

    @property
    def is_full(self) -> bool:
        """Whether as many configurations were drawn as were to start."""
        return len(self._trials) >= self._size

    def next_move(self, *, may_draw: bool) -> Move | None:
        if self._rung == 0 and not self._closed:
            if may_draw and not self.is_full:
                return Draw(self.ladder.levels[0], self._bracket)
            self._close()
        if not self._queue:
            return None
        trial = self._queue.popleft()
        self._away[trial] = self._rung
        if not self._queue:
            self._closed = True
        return Promote(trial, self.ladder.levels[self._rung])

    def started(self, trial: Candidate) -> None:
        self._trials[trial.id] = trial
        self._away[trial.id] = 0
        if len(self._trials) == self._size:
            self._closed = True

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        if resource < trial.until:
            return CONTINUE
        rung = self._away[trial.id]
        self.rungs[rung].enter(trial.id, loss)
        return STOP if rung == self.ladder.top else PAUSE

    def released(self, trial: Candidate) -> None:
        # A trial that was paused between rungs (the study ended) has not arrived.
        if trial.resource >= trial.until:
            self._take_back(trial)

    def dropped(self, trial: Candidate) -> None:
        self.rungs[self._away[trial.id]].enter(trial.id, math.inf)
        self._take_back(trial)

    def _take_back(self, trial: Candidate) -> None:
        self._away.pop(trial.id, None)
        self._advance()

    # -- extensions ----------------------------------------------------------------------------

    def extend(self, extension: Extension) -> Reopened:
        """More configurations, if the size was the number of trials; a longer ladder."""
        size = self._size
        if self._grows and extension.trials is not None:
            size = extension.trials
        ladder = self.ladder
        if extension.max_resource is not None:
            ladder = ladder.raised_to(extension.max_resource)
        elif size == self._size and self.is_full:
            return Reopened()
        return Reopened(self.reopen(ladder, size=size, reports=extension.reports))

    def reopen(self, ladder: Ladder, *, size: int, reports: int) -> Sequence[int]:
        """Begin again at the first rung, with what is known (iSHA in its efficient variant).

        First the further configurations are drawn. Then every rung is gone through once more:
        trials that were promoted from it stay promoted, and the best of the others join them, up
        to ⌊n/η⌋. Jobs that are under way are waited for.

        Returns:
            The trials that were done, and may be promoted from now on.

        Reference:
            Brandt et al., iHyperband (2023): incremental successive halving.
        """
        old, done = self.ladder, []
        if ladder != self.ladder:
            self.rungs += [Rung(level, self._cuts[1]) for level in ladder.levels[old.top + 1 :]]
            self.raise_ladder(ladder, reports)
            there = [self._trials[number] for number in self.rungs[old.top].losses]
            done = [trial.id for trial in there if waits_at(trial, old.max_resource)]
        self._size = size
        self._queue.clear()  # those that were to be promoted are found again
        self._rung = 0
        self._closed = self.is_full
        self._advance()
        return done

    def _close(self) -> None:
        self._closed = True
        self._advance()

    def _advance(self) -> None:
        """When all trials sent to the rung are back, its best go to the next one."""
        while self._closed and not self._away and not self._queue and self._rung < self.ladder.top:
            rung, above = self.rungs[self._rung], self.rungs[self._rung + 1]
            cut = self._cuts[min(self._rung, 1)]
            places = max(0, cut.size(len(rung)) - len(above))
            others = (trial for trial in rung.ranked() if trial not in above)
            best = [trial for trial in islice(others, places) if rung.losses[trial] < math.inf]
            if not best and not len(above):
                return
            self._rung += 1
            for number in best:
                self._send(self._trials[number])
            self._closed = not self._queue

    def _send(self, trial: Candidate) -> None:
        """Send a trial to the current rung, unless a report was already beyond its level."""
        level = self.ladder.levels[self._rung]
        if trial.resource < level:
            self._queue.append(trial.id)
        else:
            loss = trial.losses[bisect_left(trial.resources, level)]
            self.rungs[self._rung].enter(trial.id, loss)

    def explain(self) -> str:
        best = f"the best ⌊n/{self.ladder.eta}⌋ of each full rung were promoted"
        return f"{best}, and the last rung was {self.ladder.levels[self._rung]}"
