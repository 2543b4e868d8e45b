"""Sharp halving: a sharp cut after the first rung, and rounds between which a searcher learns.

Law of this file: it is successive halving, gone through again with twice as many trials whenever it
is over. Trials of all rounds compete with each other.

Most of the training goes into the first rung, so that many configurations are looked at. That is
right where the order after the first rung is a guide, and wrong where it misleads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import FloorCut
from rungwise.core.scheduler import Extension, Move, Reopened, Scheduler, Winner
from rungwise.schedulers.halving import Halving
from rungwise.schedulers.presets import OnLadder
from rungwise.validation import set_frozen, whole

ROUND = 32
"""How many trials are in the first round."""

LEAST = 2
"""How many of the first rung are promoted at least; more would keep places of later rounds."""


@dataclass(frozen=True, slots=True)
class SharpHalving(OnLadder):
    """Successive halving that promotes few of the first rung, in rounds of growing size.

    The best one in ``first_cut`` of the first rung are promoted, and at least 2 of them; of every
    other rung the best ⌊n/η⌋. The first round has 32 trials. When it is over, as many more are
    drawn as there are, and all rungs are gone through again, so that a searcher that learns has
    seen what became of the first half. The rounds end at 32, 64, 128, … trials. With fewer than 48
    trials little is compared: only two are trained beyond the first rung.

    For studies in which the first rung is a guide to the end, with a searcher that learns. Where
    early rankings mislead, it ends worse than other schedulers: take :class:`AdaptiveHalving`.

    Args:
        min_resource: r, the training of the first rung, where most of the training goes.
        max_resource: R, the training of the last, if the study has enough trials to get there.
        eta: η, the distance between rungs, and the cut of all rungs but the first.
        first_cut: one in this number of the first rung is promoted.

    Example:
        >>> import rungwise as rw
        >>> table = rw.power_laws(rows=64, resources=81, seed=1)
        >>> rw.simulate(table, SharpHalving(), trials=64).max_resource
        9
    """

    words: ClassVar[tuple[str, ...]] = ("sharp",)
    winner: ClassVar[Winner] = "top"  # the few that got furthest are those that were looked for

    first_cut: int = 16

    def __post_init__(self) -> None:
        OnLadder.__post_init__(self)
        set_frozen(self, first_cut=whole("first_cut", self.first_cut, at_least=2))

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        return Rounds(self.ending_ladder(), first_cut=self.first_cut, trials=trials)


def end_round(drawn: int, asked: int | None) -> int:
    """How many trials are drawn when the round after these is full, of those asked for."""
    end = ROUND
    while end <= drawn:
        end *= 2
    return end if asked is None else min(end, asked)


class Rounds(Halving):
    """Successive halving, gone through again with twice as many trials whenever it is over.

    How many are drawn before a rung is cut does not depend on the number of trials that was asked
    for, so a study that is extended goes on as one that was longer from the start, but for a last
    round that was not full.

    Args:
        ladder: where the rungs are.
        first_cut: one in this number of the first rung is promoted.
        trials: of the study, if it has a number.
    """

    def __init__(self, ladder: Ladder, *, first_cut: int, trials: int | None) -> None:
        first = FloorCut(first_cut, at_least=LEAST)
        super().__init__(ladder, size=end_round(0, trials), first=first)
        self._first_cut = first_cut
        self._trials_asked = trials
        self._rounds = 1

    def next_move(self, *, may_draw: bool) -> Move | None:
        move = super().next_move(may_draw=may_draw)
        if move is None and may_draw and self.is_over:
            size = end_round(self._size, self._trials_asked)
            if size > self._size:
                self._rounds += 1
                self.reopen(self.ladder, size=size, reports=0)
                move = super().next_move(may_draw=True)
        return move

    def extend(self, extension: Extension) -> Reopened:
        """More trials are drawn in further rounds; a longer ladder is gone through again."""
        if extension.trials is not None:
            self._trials_asked = extension.trials
        return super().extend(extension)

    def explain(self) -> str:
        rounds = "1 round" if self._rounds == 1 else f"{self._rounds} rounds"
        return (
            f"the best 1 in {self._first_cut} of the first rung and 1 in {self.ladder.eta} of "
            f"every other full rung were promoted, in {rounds}, and the last rung was "
            f"{self.ladder.levels[self._rung]}"
        )
