"""Adaptive halving: successive halving that promotes more where a lower rung cannot be trusted.

Law of this file: rungs are complete before anything is promoted, and every trial in a rung is
ranked by its loss at that rung's level.

The best one in η of a rung are promoted. When they are back, their order at the new level is
compared with their order at the rung below. Unless more pairs of them kept their order than changed
it, the lower rung was no guide, and what was left behind there may be better: so its best half is
promoted, not only one in η. Fewer than 5 trials are no evidence; then half are promoted at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rungwise.core.decisions import CONTINUE, PAUSE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.scheduler import Draw, Extension, Move, Promote, Reopened, Scheduler, Winner
from rungwise.core.trials import Candidate
from rungwise.schedulers.base import ToTheMaximum, waits_at
from rungwise.schedulers.order_kept import keeps_order
from rungwise.schedulers.presets import OnLadder
from rungwise.schedulers.trial_losses import find_loss
from rungwise.validation import set_frozen, whole

EVIDENCE = 5
"""An order of fewer trials than this is no evidence that a rung can be trusted."""

WIDE_CUT = 2
"""One in 2 of a rung is promoted where it cannot be trusted."""

BATCH = 64
"""Up to this number, all trials of a study are drawn; as many compete if it has no number."""


@dataclass(frozen=True, slots=True)
class AdaptiveHalving(OnLadder):
    """Successive halving that promotes more trials of a rung whose ranking misled.

    A rung must be complete before its best are promoted: one in η, rounded up. Unless more pairs of
    them keep their order at the next level than change it, and if they are fewer than 5, the best
    half of the rung is promoted.

    Of a study with more than 64 trials only half are drawn, and at least 64: for the same training,
    fewer configurations that are compared better end better. Give ``size`` to draw all.

    Args:
        min_resource: r, the training of the first rung.
        max_resource: R, the training of the last.
        eta: η, the distance between rungs, and the cut where a rung can be trusted.
        size: how many configurations compete; more trials compete after them. By default one
            competition for the whole study, or of 64 after 64 if it has no number of trials.

    Example:
        >>> import rungwise as rw
        >>> table = rw.power_laws(rows=64, resources=81, seed=1)
        >>> rw.simulate(table, AdaptiveHalving(), trials=64).max_resource
        81
    """

    words: ClassVar[tuple[str, ...]] = ("adaptive",)
    winner: ClassVar[Winner] = "top"  # the best reach the highest rung, where they are compared

    size: int | None = None

    def __post_init__(self) -> None:
        OnLadder.__post_init__(self)
        if self.size is not None:
            set_frozen(self, size=whole("size", self.size, at_least=1))

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        return Batches(self.ending_ladder(), size=self.size, trials=trials)


def count_drawn(trials: int) -> int:
    """How many of a study's trials are drawn: half of them, and at least 64 if there are."""
    return max(min(trials, BATCH), trials // 2)


@dataclass(slots=True)
class _Promotion:
    """From the rung below to the current one.

    Attributes:
        below: who may be promoted, the best first.
        half: how many are, if the rung below cannot be trusted.
        decided: whether it is clear how many are.
    """

    below: Sequence[int] = ()
    half: int = 0
    decided: bool = True


class Batch:
    """One competition.

    Args:
        ladder: where the rungs are.
        size: how many trials start; a study that draws fewer closes the first rung early.
        number: of the batch.
    """

    def __init__(self, ladder: Ladder, *, size: int, number: int) -> None:
        self._ladder = ladder
        self._size = size
        self._number = number
        self._trials: dict[int, Candidate] = {}
        self._queue: deque[int] = deque()  # trials to be sent to the current rung
        self._away: set[int] = set()  # sent, and not back yet
        self._dead: set[int] = set()  # failed, or ended before the level of their job
        self._promotion = _Promotion()
        self._competing: list[int] = []  # in the current rung
        self._closed = False  # no further trial is drawn
        self.rung = 0
        self.counts = [0] * len(ladder.levels)  # how many competed in each rung
        self.widened: list[int] = []  # the levels whose rung was no guide

    @property
    def is_over(self) -> bool:
        """Whether it will have no further job."""
        return self._closed and not self._queue and not self._away

    def admit(self, number: int) -> None:
        """So many more trials start, if it is not too late."""
        if not self._closed:
            self._size += number

    def next_move(self, *, may_draw: bool) -> Move | None:
        if not self._closed:
            if may_draw and len(self._trials) < self._size:
                return Draw(self._ladder.levels[0], self._number)
            self._close()
        if not self._queue:
            return None
        trial = self._queue.popleft()
        self._away.add(trial)
        return Promote(trial, self._ladder.levels[self.rung])

    def started(self, trial: Candidate) -> None:
        self._trials[trial.id] = trial
        self._away.add(trial.id)
        if len(self._trials) == self._size:
            self._close()

    def take_back(self, trial: Candidate, *, dead: bool = False) -> None:
        """The job of a trial has left its worker; a dead trial ranks last from now on."""
        self._away.discard(trial.id)
        if dead:
            self._dead.add(trial.id)
        self._advance()

    def raise_to(self, ladder: Ladder) -> None:
        """Go on up a longer ladder."""
        self.counts += [0] * (ladder.top - self._ladder.top)
        self._ladder = ladder
        self._advance()

    def _close(self) -> None:
        self._closed = True
        self._competing = list(self._trials)
        self.counts[0] = len(self._competing)
        self._advance()

    def _advance(self) -> None:
        """When all that were sent are back: more of the rung below, or the best to the next."""
        while self._closed and not self._away and not self._queue:
            if not self._promotion.decided:
                self._decide()
            elif self.rung == self._ladder.top or not self._rise():
                return

    def _rise(self) -> bool:
        """Promote the best of the current rung; False if there is none to promote."""
        level = self._ladder.levels[self.rung]
        keys = sorted((self._find_loss(one, level), one) for one in self._competing)
        below = [one for loss, one in keys if loss < math.inf]
        if not below:
            return False
        half = -(-len(keys) // WIDE_CUT)  # rounded up
        few = min(-(-len(keys) // self._ladder.eta), len(below))
        at_once = few < EVIDENCE  # half: those few would be no evidence
        self._promotion = _Promotion(below, half, decided=at_once)
        self._competing = []
        self.rung += 1
        self._promote(half if at_once else few)
        return True

    def _decide(self) -> None:
        """Those promoted are back: is the rung below to be trusted?"""
        self._promotion.decided = True
        low, high = self._ladder.levels[self.rung - 1 : self.rung + 1]
        trials = [self._trials[one] for one in self._competing]
        if not keeps_order([(find_loss(one, low), find_loss(one, high)) for one in trials]):
            self.widened.append(low)
            self._promote(self._promotion.half)

    def _promote(self, number: int) -> None:
        """Up to this number of the rung below belong to the current rung."""
        more = self._promotion.below[len(self._competing) : number]
        self._competing += more
        self.counts[self.rung] = len(self._competing)
        level = self._ladder.levels[self.rung]
        # A report may be beyond the level already.
        alive = (self._trials[one] for one in more if one not in self._dead)
        self._queue.extend(one.id for one in alive if one.resource < level)

    def _find_loss(self, trial: int, level: int) -> float:
        return math.inf if trial in self._dead else find_loss(self._trials[trial], level)


class Batches(ToTheMaximum):
    """One competition after the other; nearly always there is just one.

    Args:
        ladder: where the rungs are.
        size: how many trials start in each; None for one competition of the whole study.
        trials: of the study, if it has a number.
    """

    def __init__(self, ladder: Ladder, *, size: int | None, trials: int | None) -> None:
        super().__init__(ladder)
        self._size = size
        self._asked = trials
        self._planned = None if trials is None else count_drawn(trials)
        self._drawn = 0
        self._all: list[Batch] = []
        self._live: list[Batch] = []  # those that are not over: always few

    def next_move(self, *, may_draw: bool) -> Move | None:
        self._live = [batch for batch in self._live if not batch.is_over]
        for batch in self._live:
            move = batch.next_move(may_draw=may_draw)
            if move is not None:
                return move
        size = self._find_size()
        return self._open(size).next_move(may_draw=True) if may_draw and size > 0 else None

    def _find_size(self) -> int:
        """How many trials start in the next competition."""
        if self._size is not None:
            return self._size
        return BATCH if self._planned is None else self._planned - self._drawn

    def _open(self, size: int) -> Batch:
        batch = Batch(self.ladder, size=size, number=len(self._all))
        self._all.append(batch)
        self._live.append(batch)
        return batch

    def extend(self, extension: Extension) -> Reopened:
        """More trials join a competition that still draws, else they compete among themselves.

        Of more than 64 at once half are drawn. All competitions go up a longer ladder.
        """
        self._plan(extension.trials)
        if extension.max_resource is None:
            return Reopened()
        old = self.ladder.max_resource
        self.raise_ladder(self.ladder.raised_to(extension.max_resource), extension.reports)
        for batch in self._all:
            batch.raise_to(self.ladder)
        self._live = list(self._all)
        return Reopened([trial.id for trial in extension.known if waits_at(trial, old)])

    def _plan(self, trials: int | None) -> None:
        if trials is None or self._asked is None or self._planned is None:
            self._asked, self._planned = trials, None if trials is None else count_drawn(trials)
        elif trials > self._asked:
            more = count_drawn(trials - self._asked)
            self._asked, self._planned = trials, self._planned + more
            if self._size is None and self._all:
                self._all[-1].admit(more)

    def started(self, trial: Candidate) -> None:
        self._drawn += 1
        self._all[trial.bracket].started(trial)

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:  # noqa: ARG002 - ranked by the curve
        if resource < trial.until:
            return CONTINUE
        return STOP if resource >= self.ladder.max_resource else PAUSE

    def released(self, trial: Candidate) -> None:
        self._all[trial.bracket].take_back(trial)

    def dropped(self, trial: Candidate) -> None:
        self._all[trial.bracket].take_back(trial, dead=True)

    def explain(self) -> str:
        last = self._all[-1] if self._all else None
        if last is None:
            return "no configuration was drawn"
        text = f"the best 1 in {self.ladder.eta} of each full rung was promoted"
        text += f"{self._describe_widened()}{_count(self.levels, last)}"
        if self._size is not None or self._planned is None or self._planned == self._asked:
            return text
        if self._drawn < self._planned:  # the study stopped, or ended, before all were drawn
            return text
        return (
            f"{self._drawn} of {self._asked} trials were drawn, because fewer configurations that "
            f"are compared better end better for the same training; {text}"
        )

    def _describe_widened(self) -> str:
        widened = sorted({level for batch in self._all for level in batch.widened})
        rare = f"half where fewer than {EVIDENCE} were compared"
        if not widened:
            return f", and {rare}"
        levels = " and ".join(map(str, widened))
        return f", half of the rung at {levels}, whose order did not last, and {rare}"


def _count(levels: Iterable[int], batch: Batch) -> str:
    """How many trials competed at each level so far."""
    reached = [(n, level) for n, level in zip(batch.counts, levels, strict=True) if n]
    shown = ", ".join(f"{n} at {level}" for n, level in reached)
    return f"; trials compared: {shown}" if shown else ""
