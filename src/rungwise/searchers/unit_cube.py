"""Configurations from points of the unit cube, for searchers that spread points evenly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rungwise.errors import SpaceError
from rungwise.space import Space


def place_point(space: Space, point: Mapping[str, float]) -> dict[str, Any] | None:
    """The configuration at a point; None if it is forbidden.

    Args:
        space: where to search.
        point: a coordinate from 0 to 1 for each parameter; 0 where one is left out.
    """
    config: dict[str, Any] = {}
    for parameter in space.parameters:
        if parameter.is_active(config):
            config[parameter.name] = parameter.domain.at(point.get(parameter.name, 0.0))
    try:
        return space.validate(config)
    except SpaceError:
        return None
