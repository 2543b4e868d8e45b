"""A study without a maximum has a safety net, and says when its ceiling has reached that."""

from __future__ import annotations

import warnings

from rungwise.core.decisions import Decision
from rungwise.core.events import Reported
from rungwise.errors import SafetyNetWarning
from rungwise.session.part import Part


class SafetyNet(Part):
    """Follows the ceiling of a study."""

    def open(self) -> None:
        self._seen = len(self.session.engine.scheduler.ceilings)
        self.idle = self.session.opened.assignments.max_resource is not None

    def reported(self, report: Reported, decision: Decision, trial: int) -> None:  # noqa: ARG002
        engine = self.session.engine
        ceilings = engine.scheduler.ceilings
        if len(ceilings) == self._seen:
            return
        self._seen = len(ceilings)
        level = ceilings[-1][1]
        if level == engine.study.scheduler.max_resource:
            text = (
                f"no max_resource was given, and the ceiling has reached the safety net at "
                f"{level:g}: the ranking of configurations is still not stable. Give max_resource, "
                f"or a criterion that is easier to satisfy."
            )
            self.session.notice(text)
            warnings.warn(text, SafetyNetWarning, stacklevel=2)
