"""RUSH: the best configurations of an earlier task set a bar for all others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rungwise.core.decisions import STOP, Continue, Pause, Stop
from rungwise.core.ladder import Ladder
from rungwise.core.scheduler import (
    Bracket,
    CheckRecord,
    Extension,
    Move,
    Promote,
    Recipe,
    Reopened,
    Scheduler,
    Trace,
    Winner,
)
from rungwise.core.trials import Candidate
from rungwise.schedulers.presets import PASHA
from rungwise.schedulers.trial_losses import find_loss
from rungwise.validation import must_be, set_frozen, whole


@dataclass(frozen=True, slots=True)
class Rush(Recipe):
    """Any scheduler, with a bar that earlier winners set.

    The first ``priors`` configurations of the study are known to be good, for example the leaders
    of an earlier study on a similar task (:func:`rungwise.leaders`). Any other continues beyond a
    rung only if it is at least as good there as the best of them has been at the same level so
    far; at a level that no prior has reached there is no bar. The priors themselves follow the
    scheduler.

    Args:
        scheduler: decides what is trained next, under the bar; :class:`PASHA` by default.
        priors: how many configurations, the first ones of the study, set the bar.

    Example:
        >>> Rush(PASHA(max_resource=81), priors=4).max_resource
        81

    Reference:
        Zappella, Salinas and Archambeau, A Resource-efficient Method for Repeated HPO and NAS
        Problems (2021). There the bar is part of ASHA; here of any scheduler.
    """

    words: ClassVar[tuple[str, ...]] = ()

    scheduler: Recipe = field(default_factory=PASHA)
    priors: int = field(kw_only=True)

    def __post_init__(self) -> None:
        must_be("scheduler", self.scheduler, Recipe, "a recipe such as rungwise.PASHA(…)")
        set_frozen(self, priors=whole("priors", self.priors, at_least=0))

    @property
    def max_resource(self) -> int | None:
        """The furthest any trial may be trained; None when open-ended."""
        return self.scheduler.max_resource

    @property
    def winner(self) -> Winner:
        """Which trial wins by default: as in the scheduler under the bar."""
        return self.scheduler.winner

    @property
    def min_resource(self) -> int:
        """Where the scheduler's ladder begins."""
        return self.scheduler.min_resource

    @property
    def eta(self) -> int:
        """η of the scheduler."""
        return self.scheduler.eta

    def noise_percentile(self) -> float | None:
        """That of the scheduler."""
        return self.scheduler.noise_percentile()

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        return Barred(self.scheduler.build(trials=trials), priors=self.priors)

    def limited_to(self, max_resource: int) -> Rush:
        """The same for at most this resource."""
        return replace(self, scheduler=self.scheduler.limited_to(max_resource))


class Barred(Scheduler):
    """A scheduler whose promotions must clear the bar.

    The bar is checked when a trial is about to continue: when it is promoted, or, if trials are
    not paused, when it arrives at a rung. A trial that does not clear it once is not trained
    further. The bar gets lower only when a prior fails.

    Args:
        inner: the scheduler under the bar.
        priors: how many trials, the first ones, set it.
    """

    def __init__(self, inner: Scheduler, *, priors: int) -> None:
        self._inner = inner
        self._priors = priors
        self._trials: dict[int, Candidate] = {}
        self._held = 0  # trials that a prior has held back
        self._highest = 0  # the highest level where that happened

    def next_move(self, *, may_draw: bool) -> Move | None:
        while True:
            move = self._inner.next_move(may_draw=may_draw)
            if not isinstance(move, Promote) or self._clears(self._trials[move.trial]):
                return move
            self._refuse(self._trials[move.trial])

    def started(self, trial: Candidate) -> None:
        self._trials[trial.id] = trial
        self._inner.started(trial)

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        decision = self._inner.reported(trial, resource, loss)
        if self._inner.pauses or not isinstance(decision, Continue):
            return decision
        before = trial.resources[-2] if len(trial.resources) > 1 else 0
        if self._find_level(before) == self._find_level(resource) or self._clears(trial):
            return decision
        self._note(trial)
        return STOP

    def released(self, trial: Candidate) -> None:
        self._inner.released(trial)

    def dropped(self, trial: Candidate) -> None:
        self._inner.dropped(trial)

    def extend(self, extension: Extension) -> Reopened:
        """As the inner scheduler; a trial that did not clear the bar stays where it is."""
        return self._inner.extend(extension)

    @property
    def raisable(self) -> bool:
        return self._inner.raisable

    @property
    def pauses(self) -> bool:
        return self._inner.pauses

    @property
    def version(self) -> int:
        return self._inner.version

    @property
    def ceilings(self) -> Trace:
        return self._inner.ceilings

    @property
    def levels(self) -> Sequence[int]:
        return self._inner.levels

    @property
    def epsilons(self) -> Trace:
        return self._inner.epsilons

    @property
    def checks(self) -> Sequence[CheckRecord]:
        return self._inner.checks

    @property
    def ladder(self) -> Ladder | None:
        return self._inner.ladder

    @property
    def brackets(self) -> Sequence[Bracket] | None:
        return self._inner.brackets

    def explain(self) -> str:
        inner = self._inner.explain()
        if not self._priors:
            return inner
        if not self._held:
            return (
                f"{inner}; no configuration was stopped by comparison with the prior configurations"
            )
        n = self._held
        were = f"{n} configurations were" if n != 1 else "1 configuration was"
        prior = (
            "the prior configuration"
            if self._priors == 1
            else f"the best of {self._priors} prior configurations"
        )
        return (
            f"{inner}; {were} not trained further, at levels up to {self._highest}, "
            f"because {prior} had been better at the same level"
        )

    def _clears(self, trial: Candidate) -> bool:
        """Whether a trial is as good at its level as the best prior has been there so far."""
        if trial.id < self._priors:
            return True
        level = self._find_level(trial.resource)
        others = (self._trials.get(number) for number in range(self._priors))
        # A prior that failed sets no bar.
        sound = (other for other in others if other is not None and not other.failed)
        bar = min((find_loss(other, level) for other in sound), default=math.inf)
        return find_loss(trial, level) <= bar

    def _find_level(self, resource: float) -> int:
        """The highest level that is reached with a resource; 0 below the first."""
        ladder = self.ladder
        levels = self._inner.levels if ladder is None else ladder.levels
        reached = bisect_right(levels, resource)
        return levels[reached - 1] if reached else 0

    def _refuse(self, trial: Candidate) -> None:
        """Refuse a promotion: for the inner scheduler the trial never gets there."""
        # A scheduler that waits for a full rung must not wait for this trial; ASHA and PASHA
        # ignore the call, since the trial has reached every level it was sent to.
        self._inner.dropped(trial)
        self._note(trial)

    def _note(self, trial: Candidate) -> None:
        self._held += 1
        self._highest = max(self._highest, self._find_level(trial.resource))
