"""Methods of others that are only compared with: recipes, as in :mod:`rungwise.schedulers`."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import ClassVar

from rungwise.core.decisions import CONTINUE, PAUSE, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.scheduler import Draw, Move, Promote, Recipe, Scheduler
from rungwise.core.trials import Candidate
from rungwise.schedulers.base import ToTheMaximum
from rungwise.schedulers.halving import Halving
from rungwise.schedulers.trial_losses import find_loss


@dataclass(frozen=True, slots=True)
class TopK(Recipe):
    """i-Epoch with its finish: train all for i, the best K in full, take the best.

    Args:
        resource: i.
        keep: K.
        max_resource: the full training.

    Reference:
        Egele et al., Is One Epoch All You Need For Multi-Fidelity Hyperparameter Optimization?
        (2023).
    """

    words: ClassVar[tuple[str, ...]] = ()

    resource: int
    keep: int
    max_resource: int

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        size = trials or 1
        low = min(self.resource, self.max_resource)
        levels = (low, self.max_resource) if low < self.max_resource else (low,)
        return Halving(Ladder(levels, eta=max(2, size // self.keep)), size=size)

    def limited_to(self, max_resource: int) -> TopK:
        """The same with a maximum."""
        return replace(self, max_resource=max_resource)


@dataclass(frozen=True, slots=True)
class Deepening(Recipe):
    """iSHA: successive halving whose maximum is raised twice by η, with what was done reused.

    Each time new configurations are drawn, η times as many in all as before; those evaluated at a
    level already count as promoted to it, and the best of the others fill up the rung.

    Args:
        max_resource: R, the last maximum.
        eta: η.
        raises: how often the maximum is raised.

    Reference:
        Brandt et al., Iterative Deepening Hyperband (2024), the efficient variant.
    """

    words: ClassVar[tuple[str, ...]] = ()

    max_resource: int
    eta: int = 3
    raises: int = 2

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        ladder = Ladder.between(1, self.max_resource, eta=self.eta)
        return DeepeningHalving(ladder, size=trials or 1, raises=min(self.raises, ladder.top))

    def limited_to(self, max_resource: int) -> Deepening:
        """The same with a maximum."""
        return replace(self, max_resource=max_resource)


class DeepeningHalving(ToTheMaximum):
    """The scheduler of :class:`Deepening`.

    Args:
        ladder: where the rungs are.
        size: how many trials there are in the end.
        raises: how often the maximum is raised.
    """

    def __init__(self, ladder: Ladder, *, size: int, raises: int) -> None:
        super().__init__(ladder)
        self._size = size
        self._left = raises
        self._trials: dict[int, Candidate] = {}
        self._dead: set[int] = set()
        self._rung = 0
        self._list: list[int] = []  # in the current rung
        self._queue: deque[int] = deque()
        self._away: set[int] = set()
        self._drawing = True

    def next_move(self, *, may_draw: bool) -> Move | None:
        if self._drawing:
            if may_draw and len(self._trials) < self._target:
                return Draw(self.levels[0])
            self._drawing = False
            self._list = list(self._trials)
        self._advance()
        if not self._queue:
            return Draw(self.levels[0]) if self._drawing and may_draw else None
        trial = self._queue.popleft()
        self._away.add(trial)
        return Promote(trial, self.levels[self._rung])

    def started(self, trial: Candidate) -> None:
        self._trials[trial.id] = trial
        self._away.add(trial.id)

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:  # noqa: ARG002 - ranked by the curve
        return CONTINUE if resource < trial.until else PAUSE

    def released(self, trial: Candidate) -> None:
        self._away.discard(trial.id)

    def dropped(self, trial: Candidate) -> None:
        self._away.discard(trial.id)
        self._dead.add(trial.id)

    def explain(self) -> str:
        return f"the maximum was raised until it was {self.levels[self.ladder.top - self._left]}"

    @property
    def _target(self) -> int:
        """How many trials are drawn before the maximum is raised again."""
        part: int = self.ladder.eta**self._left
        return max(1, -(-self._size // part))  # rounded up

    def _advance(self) -> None:
        """When a rung is complete go to the next; at the maximum, raise it."""
        while not self._drawing and not self._away and not self._queue:
            if self._rung == self.ladder.top - self._left:
                if not self._left:
                    return
                self._left -= 1
                self._rung = 0
                self._drawing = True
                return
            self._list = self._promote()
            self._rung += 1
            level = self.levels[self._rung]
            self._queue.extend(
                one
                for one in self._list
                if one not in self._dead and self._trials[one].resource < level
            )

    def _promote(self) -> list[int]:
        low, high = self.levels[self._rung], self.levels[self._rung + 1]
        keys = sorted((self._find_loss(one, low), one) for one in self._list)
        ranked = [one for loss, one in keys if loss < math.inf]
        done = [one for one in ranked if self._trials[one].resource >= high]
        others = [one for one in ranked if self._trials[one].resource < high]
        return done + others[: max(0, len(keys) // self.ladder.eta - len(done))]

    def _find_loss(self, trial: int, level: int) -> float:
        return math.inf if trial in self._dead else find_loss(self._trials[trial], level)
