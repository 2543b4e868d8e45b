"""Which scheduler a study has if none is given."""

from __future__ import annotations

from rungwise.core.scheduler import Recipe
from rungwise.schedulers.presets import PASHA


def default_scheduler(max_resource: int | None = None) -> Recipe:
    """What :func:`rungwise.tune` uses if no scheduler is given: PASHA, as in the paper.

    Args:
        max_resource: the most training for one configuration; None if it is not known.

    Example:
        >>> default_scheduler(max_resource=200).max_resource
        200
    """
    return PASHA(max_resource=max_resource)
