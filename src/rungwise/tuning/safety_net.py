"""A study without a maximum has a safety net, and says when its ceiling has reached that."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rungwise.core.engine import Engine
from rungwise.errors import SafetyNetWarning


class SafetyNetWatch:
    """Follows the ceiling of a study.

    Args:
        engine: the study.
        notice: shows a sentence to the user.
    """

    def __init__(self, engine: Engine, notice: Callable[[str], None]) -> None:
        self._engine = engine
        self._notice = notice
        self._seen = len(engine.scheduler.ceilings)

    def check(self) -> None:
        """Say so, if the ceiling has been raised to the safety net since the last check."""
        ceilings = self._engine.scheduler.ceilings
        if len(ceilings) == self._seen:
            return
        self._seen = len(ceilings)
        level = ceilings[-1][1]
        if level == self._engine.study.scheduler.max_resource:
            text = (
                f"no max_resource was given, and the ceiling has reached the safety net at "
                f"{level:g}: the ranking of configurations is still not stable. Give max_resource, "
                f"or a criterion that is easier to satisfy."
            )
            self._notice(text)
            warnings.warn(text, SafetyNetWarning, stacklevel=2)
