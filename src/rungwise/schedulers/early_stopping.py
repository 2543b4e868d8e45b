"""Early stopping: train on for as long as that brings better values, at most to a maximum."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rungwise.core.decisions import CONTINUE, STOP, Continue, Pause, Stop
from rungwise.core.scheduler import Recipe, Scheduler
from rungwise.core.trials import Candidate
from rungwise.errors import InvalidArgumentError
from rungwise.schedulers.one_level import OneLevel
from rungwise.validation import set_frozen, whole


class UntilNoBetter(OneLevel):
    """A ladder of one rung; a trial that gets no better is stopped before it.

    Args:
        resource: how far every configuration is trained at most.
        patience: how much training without a better value ends a trial.
    """

    def __init__(self, resource: int, patience: int) -> None:
        super().__init__(resource)
        self._patience = patience
        self._best: dict[int, tuple[float, float]] = {}  # trial → the least loss, and where

    def reported(self, trial: Candidate, resource: float, loss: float) -> Continue | Pause | Stop:
        decision = super().reported(trial, resource, loss)
        least, at = self._best.get(trial.id, (float("inf"), 0.0))
        if loss < least:
            least, at = self._best[trial.id] = loss, resource
        stale = resource - at >= self._patience
        return STOP if decision is CONTINUE and stale else decision


@dataclass(frozen=True, slots=True)
class EarlyStopping(Recipe):
    """Train every configuration until it gets no better, and take the best.

    A trial is stopped with the first report that is ``patience`` units of resource or more after
    its best one. What is not finite is never better; before the first finite value the count
    begins at 0. It compares no trials: ``retrain(early_stop=20)`` trains the winner with it.

    Args:
        patience: how much training without a better value ends a trial.
        max_resource: how far each configuration is trained at most.
    """

    patience: int
    max_resource: int | None = None

    def __post_init__(self) -> None:
        set_frozen(self, patience=whole("patience", self.patience, at_least=1))
        if self.max_resource is not None:
            set_frozen(self, max_resource=whole("max_resource", self.max_resource, at_least=1))

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A ladder of one rung, before which trials may be stopped."""
        if self.max_resource is None:
            raise InvalidArgumentError("max_resource", None, "EarlyStopping needs a maximum")
        return UntilNoBetter(self.max_resource, self.patience)

    def limited_to(self, max_resource: int) -> EarlyStopping:
        """The same with a maximum."""
        return replace(self, max_resource=max_resource)
