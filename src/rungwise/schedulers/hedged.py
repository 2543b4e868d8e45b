"""Hedged halving: successive halving that does not rely on the first rungs alone.

Law of this file: rungs are complete before anything is promoted, and every trial in the
competition of a rung is ranked by its loss at that rung's level.

Where early rankings mislead (warm-up, learning-rate drops, deep networks), the best configuration
is lost at the first cut. So a few configurations, the first ones drawn, skip the cuts of the lower
rungs: they are trained to a rung half way up, and there they join those that were promoted. If the
early ranking can be trusted, the promoted ones win; if not, the others do.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rungwise.core.decisions import CONTINUE, PAUSE, STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.scheduler import Draw, Extension, Move, Promote, Scheduler
from rungwise.core.trials import State, Trial
from rungwise.schedulers.base import ToTheMaximum
from rungwise.schedulers.presets import OnLadder
from rungwise.schedulers.trial_losses import find_loss
from rungwise.validation import set_frozen, whole

LOWER_CUT, MEETING_CUT, UPPER_CUT = 4, 3, 2
"""One in 4 of a rung is promoted until the others join, one in 3 of the rung where they meet, and
one in 2 of each rung above it (``rungwise reproduce frontier`` says what this is worth)."""

BATCH = 64
"""Up to this number, all trials of a study are drawn; as many compete if it has no number."""


@dataclass(frozen=True, slots=True)
class HedgedHalving(OnLadder):
    """Successive halving in which some configurations skip the cuts of the lower rungs.

    A rung must be complete before its best are promoted. Each cut keeps a given part of a rung,
    rounded up, so that at least one trial reaches the maximum.

    Of a study with more than 64 trials only half are drawn, and at least 64: for the same training,
    fewer configurations that are compared better end better. Give ``size`` to draw all.

    Args:
        min_resource: r, the training of the first rung.
        max_resource: R, the training of the last.
        eta: η, the distance between rungs.
        size: how many configurations compete; more trials compete after them. By default one
            competition for the whole study, or of 64 after 64 if it has no number of trials.

    Example:
        >>> HedgedHalving(max_resource=200).meeting
        9
    """

    words: ClassVar[tuple[str, ...]] = ("hedged",)

    size: int | None = None

    def __post_init__(self) -> None:
        OnLadder.__post_init__(self)
        if self.size is not None:
            set_frozen(self, size=whole("size", self.size, at_least=1))

    @property
    def meeting(self) -> int:
        """The level where the trials that skip the lower cuts join the others."""
        ladder = self.ending_ladder()
        return ladder.levels[find_meeting(ladder)]

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        ladder = self.ending_ladder()
        return Batches(ladder, size=self.size, trials=trials)


def count_drawn(trials: int) -> int:
    """How many of a study's trials are drawn: half of them, and at least 64 if there are."""
    return max(min(trials, BATCH), trials // 2)


def find_meeting(ladder: Ladder) -> int:
    """The rung half way up in ratio: the highest whose level² is at most 2·r·R, below the last."""
    bound = 2 * ladder.levels[0] * ladder.max_resource
    return max(k for k in range(max(1, ladder.top)) if k == 0 or ladder.levels[k] ** 2 <= bound)


def count_skipping(size: int, ladder: Ladder, meeting: int) -> int:
    """How many trials skip the lower cuts: together they cost as much as the first rung."""
    if meeting == 0:
        return 0
    return max(1, round(size * ladder.levels[0] / ladder.levels[meeting]))


class Batch:
    """One competition.

    Args:
        ladder: where the rungs are.
        size: how many trials start; a study that draws fewer closes the first rung early.
        number: of the batch.
    """

    def __init__(self, ladder: Ladder, *, size: int, number: int) -> None:
        self._levels = ladder.levels
        self._top = ladder.top
        self._size = size
        self._number = number
        self.meeting = find_meeting(ladder)
        self._skipping = count_skipping(size, ladder, self.meeting)
        self._trials: dict[int, Trial] = {}
        self._skipped: list[int] = []  # the trials that skip the lower cuts
        self._queue: deque[int] = deque()  # trials to be sent to the current rung
        self._away: set[int] = set()  # sent, and not back yet
        self._dead: set[int] = set()  # failed, or ended before the level of their job
        self._competing: list[int] = []  # in the current rung
        self._closed = False  # no further trial is drawn
        self.rung = 0
        self.counts = [0] * len(self._levels)  # how many competed in each rung

    @property
    def is_over(self) -> bool:
        """Whether it will have no further job."""
        return self._closed and not self._queue and not self._away

    @property
    def skipped(self) -> int:
        """How many trials skipped the lower cuts."""
        return len(self._skipped)

    def next_move(self, *, may_draw: bool) -> Move | None:
        if not self._closed:
            if may_draw and len(self._trials) < self._size:
                skips = len(self._trials) < self._skipping
                return Draw(self._levels[self.meeting if skips else 0], self._number)
            self._close()
        if not self._queue:
            return None
        trial = self._queue.popleft()
        self._away.add(trial)
        return Promote(trial, self._levels[self.rung])

    def started(self, trial: Trial) -> None:
        if len(self._trials) < self._skipping:
            self._skipped.append(trial.id)
        self._trials[trial.id] = trial
        self._away.add(trial.id)
        if len(self._trials) == self._size:
            self._close()

    def take_back(self, trial: Trial, *, dead: bool = False) -> None:
        """The job of a trial has left its worker; a dead trial ranks last from now on."""
        self._away.discard(trial.id)
        if dead:
            self._dead.add(trial.id)
        self._advance()

    def raise_to(self, ladder: Ladder) -> None:
        """Go on up a longer ladder; the trials meet where they have met."""
        self.counts += [0] * (ladder.top - self._top)
        self._levels, self._top = ladder.levels, ladder.top
        self._advance()

    def _close(self) -> None:
        self._closed = True
        self._competing = list(self._trials)
        self.counts[0] = len(self._competing)
        self._advance()

    def _advance(self) -> None:
        """When all that were sent are back, the best of the rung go to the next one."""
        while self._closed and not self._away and not self._queue and self.rung < self._top:
            promoted = self._find_best()
            if self.rung + 1 == self.meeting:
                already = set(promoted)
                promoted += [one for one in self._skipped if one not in already]
            if not promoted:
                return
            self.rung += 1
            self._competing = promoted
            self.counts[self.rung] = len(promoted)
            level = self._levels[self.rung]
            # A report may be beyond the level already, and so are trials that skipped cuts.
            alive = (self._trials[one] for one in promoted if one not in self._dead)
            self._queue.extend(one.id for one in alive if one.resource < level)

    def _find_best(self) -> list[int]:
        """The part of the current rung that is promoted, the best first."""
        level = self._levels[self.rung]
        keys = sorted((self._find_loss(one, level), one) for one in self._competing)
        keep = -(-len(keys) // self._cut)  # rounded up
        return [one for loss, one in keys[:keep] if loss < math.inf]

    def _find_loss(self, trial: int, level: int) -> float:
        return math.inf if trial in self._dead else find_loss(self._trials[trial], level)

    @property
    def _cut(self) -> int:
        """One in how many of the current rung is promoted."""
        if self.rung < self.meeting:
            return LOWER_CUT
        return MEETING_CUT if self.rung == self.meeting else UPPER_CUT


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
        return BATCH if self._asked is None else count_drawn(self._asked) - self._drawn

    def _open(self, size: int) -> Batch:
        batch = Batch(self.ladder, size=size, number=len(self._all))
        self._all.append(batch)
        self._live.append(batch)
        return batch

    def extend(self, extension: Extension) -> Sequence[int]:
        """More trials compete among themselves; all competitions go up a longer ladder."""
        self._asked = extension.trials
        if extension.max_resource is None:
            return ()
        old = self.ladder.top
        self.raise_ladder(self.ladder.raised_to(extension.max_resource), extension.reports)
        for batch in self._all:
            batch.raise_to(self.ladder)
        self._live = list(self._all)
        there = (trial for trial in extension.known if trial.rung == old)
        return [trial.id for trial in there if trial.state is State.STOPPED]

    def started(self, trial: Trial) -> None:
        self._drawn += 1
        self._all[trial.bracket].started(trial)

    def reported(self, trial: Trial, resource: float, loss: float) -> Continue | Pause | Stop:  # noqa: ARG002 - ranked by the curve
        self._climb(trial, resource)
        if resource < trial.until:
            return CONTINUE
        return STOP if trial.rung == self.ladder.top else PAUSE

    def released(self, trial: Trial) -> None:
        self._all[trial.bracket].take_back(trial)

    def dropped(self, trial: Trial) -> None:
        self._climb(trial, trial.until)
        self._all[trial.bracket].take_back(trial, dead=True)

    def _climb(self, trial: Trial, resource: float) -> None:
        while trial.rung < self.ladder.top and self.levels[trial.rung + 1] <= resource:
            trial.rung += 1

    def explain(self) -> str:
        last = self._all[-1] if self._all else None
        if last is None:
            return "no configuration was drawn"
        text = f"the best of each full rung were promoted{self._hedge()}{_count(self.levels, last)}"
        if self._size is not None or self._asked is None or count_drawn(self._asked) == self._asked:
            return text
        return (
            f"{self._drawn} of {self._asked} trials were drawn, because fewer configurations that "
            f"are compared better end better for the same training; {text}"
        )

    def _hedge(self) -> str:
        skipped = sum(batch.skipped for batch in self._all)
        if not skipped:
            return ""
        were = "configuration was" if skipped == 1 else "configurations were"
        level = self.levels[self._all[-1].meeting]
        return (
            f", and {skipped} {were} trained to {level} whatever the earlier results, in case "
            "early rankings mislead"
        )


def _count(levels: Iterable[int], batch: Batch) -> str:
    """How many trials competed at each level so far."""
    reached = [(n, level) for n, level in zip(batch.counts, levels, strict=True) if n]
    return "; trials compared: " + ", ".join(f"{n} at {level}" for n, level in reached)
