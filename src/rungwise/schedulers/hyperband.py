"""Hyperband: several brackets of successive halving that start at different rungs.

Bracket s of s_max = the ladder's top starts ⌈(s_max + 1) / (s + 1) · η^s⌉ configurations at rung
s_max − s (Li et al. 2018, Algorithm 1): from many configurations that are trained briefly at first
to few that are trained fully from the start.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from rungwise.core.decisions import Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Cut
from rungwise.core.scheduler import Draw, Extension, Move, Reopened
from rungwise.core.trials import Candidate
from rungwise.schedulers.base import ToTheMaximum
from rungwise.schedulers.ceilings import Fixed
from rungwise.schedulers.halving import Halving
from rungwise.schedulers.promotion import Promotion

B = TypeVar("B", Halving, Promotion)


def bracket_sizes(ladder: Ladder) -> tuple[int, ...]:
    """How many configurations each bracket starts, the one from the lowest rung first."""
    most = ladder.top
    # −(−a // b) is a / b rounded up, in whole numbers.
    return tuple(-(-(most + 1) * ladder.eta**s // (s + 1)) for s in range(most, -1, -1))


class _Brackets(ToTheMaximum, Generic[B]):
    """Brackets that each manage their own trials."""

    brackets: list[B]

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        return self.brackets[trial.bracket].reported(trial, resource, loss)

    def released(self, trial: Candidate) -> None:
        self.brackets[trial.bracket].released(trial)

    def dropped(self, trial: Candidate) -> None:
        self.brackets[trial.bracket].dropped(trial)


class SyncBrackets(_Brackets[Halving]):
    """Synchronous Hyperband: bracket after bracket, in cycles until the study ends.

    While a bracket waits for a rung, the next one begins, so that no worker is idle.

    Args:
        ladder: where the rungs are.
    """

    def __init__(self, ladder: Ladder) -> None:
        super().__init__(ladder)
        self.brackets = []
        self._sizes = bracket_sizes(ladder)
        self._starts: list[int] = []  # the rung at which each bracket starts
        self._live: list[Halving] = []  # those that are not over: always few

    def next_move(self, *, may_draw: bool) -> Move | None:
        self._live = [bracket for bracket in self._live if not bracket.is_over]
        for bracket in self._live:
            move = bracket.next_move(may_draw=may_draw)
            if move is not None:
                return move
        if not may_draw:
            return None
        return self._open().next_move(may_draw=True)

    def _open(self) -> Halving:
        number = len(self.brackets)
        start = (self._starts[-1] + 1) % len(self._sizes) if self._starts else 0
        self._starts.append(start)
        ladder = self.ladder.starting_at(start)
        bracket = Halving(ladder, size=self._sizes[start], bracket=number)
        self.brackets.append(bracket)
        self._live.append(bracket)
        return bracket

    def started(self, trial: Candidate) -> None:
        self.brackets[trial.bracket].started(trial)

    def extend(self, extension: Extension) -> Reopened:
        """Fill brackets that the end of the study had closed early; go up a longer ladder.

        Under a higher maximum every bracket has the size that Hyperband gives it there, and the
        cycle has one more bracket per new rung at its end.
        """
        if extension.max_resource is not None:
            self.raise_ladder(self.ladder.raised_to(extension.max_resource), extension.reports)
            self._sizes = bracket_sizes(self.ladder)
        done: list[int] = []
        self._live = []
        for bracket, start in zip(self.brackets, self._starts, strict=True):
            if extension.max_resource is not None or not bracket.is_full:
                ladder = self.ladder.starting_at(start)
                done += bracket.reopen(ladder, size=self._sizes[start], reports=extension.reports)
            self._live.append(bracket)
        return Reopened(done)

    def explain(self) -> str:
        n = len(self.brackets)
        were = "was" if n == 1 else "were"
        return (
            f"{n} bracket{'s' * (n != 1)} of successive halving {were} started, each with the "
            f"maximum resource {self.ladder.max_resource}"
        )


class AsyncBrackets(_Brackets[Promotion]):
    """Asynchronous Hyperband: each bracket is a separate ASHA over part of the ladder.

    A new configuration goes to the bracket that is furthest behind its share of Hyperband's
    numbers; nothing is drawn at random.

    Args:
        ladder: where the rungs are.
        cut: which part of a rung may be promoted.

    Reference:
        Li et al. (2020), section 3.3 (asynchronous Hyperband).
    """

    def __init__(self, ladder: Ladder, *, cut: Cut) -> None:
        super().__init__(ladder)
        self._cut = cut
        self._shares = bracket_sizes(ladder)
        self._drawn = [0] * len(self._shares)
        self.brackets = [
            Promotion(ladder.starting_at(k), ceiling=Fixed, cut=cut)
            for k in range(len(self._shares))
        ]

    def next_move(self, *, may_draw: bool) -> Move | None:
        for bracket in self.brackets:
            move = bracket.next_move(may_draw=False)
            if move is not None:
                return move
        if not may_draw:
            return None
        behind = min(range(len(self._shares)), key=lambda k: (self._drawn[k] + 1) / self._shares[k])
        return Draw(self.ladder.levels[behind], behind)

    def started(self, trial: Candidate) -> None:
        self._drawn[trial.bracket] += 1

    def extend(self, extension: Extension) -> Reopened:
        """Each bracket goes up a longer ladder, and every new rung has a bracket of its own."""
        if extension.max_resource is None:
            return Reopened()
        self.raise_ladder(self.ladder.raised_to(extension.max_resource), extension.reports)
        self._shares = bracket_sizes(self.ladder)
        done: list[int] = []
        for start in range(len(self._shares)):
            ladder = self.ladder.starting_at(start)
            if start == len(self.brackets):
                self.brackets.append(Promotion(ladder, ceiling=Fixed, cut=self._cut))
                self._drawn.append(0)
            else:
                own = [trial for trial in extension.known if trial.bracket == start]
                done += self.brackets[start].raise_to(ladder, own, extension.reports).waiting
        return Reopened(done)

    def explain(self) -> str:
        n = len(self.brackets)
        return (
            f"{n} bracket{'s' * (n != 1)} ran in parallel, each with the maximum resource "
            f"{self.ladder.max_resource}"
        )
