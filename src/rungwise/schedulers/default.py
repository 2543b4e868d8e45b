"""Which scheduler a study has if none is given."""

from __future__ import annotations

from rungwise.core.scheduler import Recipe
from rungwise.schedulers.adaptive import AdaptiveHalving
from rungwise.schedulers.presets import PASHA


def default_scheduler(max_resource: int | None = None) -> Recipe:
    """What :func:`rungwise.tune` uses if no scheduler is given.

    With a maximum it is :class:`rungwise.AdaptiveHalving`; without one :class:`rungwise.PASHA`,
    which decides by itself how much training is enough.

    Args:
        max_resource: the most training for one configuration; None if it is not known.

    Example:
        >>> default_scheduler(max_resource=200).max_resource
        200
    """
    if max_resource is None:
        return PASHA()
    return AdaptiveHalving(max_resource=max_resource)
