"""Legal configurations for a model to choose from: random ones, and neighbours of good ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rungwise.errors import SpaceError
from rungwise.searchers.base import History
from rungwise.space import Choice, Space

WIDTHS = (0.02, 0.1, 0.3)
"""How far a number is moved, as a standard deviation in its range of 1."""


def fresh(
    space: Space, history: History, configs: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Those that are different, and in a finite space not drawn before."""
    found: dict[str, dict[str, Any]] = {}
    for config in configs:
        key = space.key(config)
        if key not in found and (space.size is None or history.times_drawn(key) == 0):
            found[key] = config
    return list(found.values())


def neighbour(
    space: Space, config: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Any] | None:
    """The configuration with one parameter changed, and each other one rarely; None if forbidden.

    A parameter that becomes active by that is drawn at random.
    """
    names = [p.name for p in space.parameters if p.name in config and p.domain.size != 1]
    if not names:
        return None
    chosen = names[int(rng.random() * len(names))]
    width = WIDTHS[int(rng.random() * len(WIDTHS))]
    moved: dict[str, Any] = {}
    for parameter in space.parameters:
        name = parameter.name
        if not parameter.is_active(moved):
            continue
        if name not in config:
            moved[name] = parameter.draw(rng)
        elif name == chosen or rng.random() < 0.1:
            domain = parameter.domain
            loose = isinstance(domain, Choice) and not domain.ordered
            moved[name] = (
                domain.at(rng.random()) if loose else nudged(domain, config[name], width, rng)
            )
        else:
            moved[name] = config[name]
    try:
        return space.validate(moved)
    except SpaceError:
        return None


def nudged(domain: Any, value: Any, width: float, rng: np.random.Generator) -> Any:
    """A number or ordered option near another; the width is a deviation in a range of 1."""
    # Reflected at the bounds, so that they are not hit more often than the rest.
    place = abs((domain.unit(value) + width * rng.standard_normal() + 1) % 2 - 1)
    return domain.at(min(place, 1 - 1e-12))
