"""When a retraining has failed for good."""

from __future__ import annotations

from rungwise.core.failures import Failure
from rungwise.errors import RetrainingError
from rungwise.session.part import Part


class GiveUp(Part):
    """Stops a retraining that has failed more often than the options allow."""

    def failed(self, failure: Failure, *, again: bool) -> None:
        if not again:
            trial = self.session.opened.assignments.number(failure.trial)
            trace = failure.trace or failure.output
            self.session.stop(RetrainingError(trial, failure.reason, trace))
