"""Legal configurations for a model to choose from: random ones, and neighbours of good ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rungwise.core.searcher import History
from rungwise.errors import SpaceError
from rungwise.space import Space
from rungwise.space.domains import is_unordered

WIDTHS = (0.02, 0.1, 0.3)
"""How far a number is moved, as a standard deviation in its range of 1."""

NEAR = 0.05
"""Two values of a parameter that are closer than this share of its range count as the same."""


def select_new(
    space: Space, history: History, configs: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The configurations without repetitions and, in a finite space, without those drawn before."""
    found: dict[str, dict[str, Any]] = {}
    for config in configs:
        key = space.key(config)
        if key not in found and (space.size is None or history.times_drawn(key) == 0):
            found[key] = config
    return list(found.values())


def draw_neighbour(
    space: Space, config: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Any] | None:
    """The configuration with one parameter changed, and each other one rarely; None if forbidden.

    A parameter that becomes active by the change is drawn at random.
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
            moved[name] = (
                domain.at(rng.random())
                if is_unordered(domain)
                else draw_near(domain, config[name], width, rng)
            )
        else:
            moved[name] = config[name]
    try:
        return space.validate(moved)
    except SpaceError:
        return None


def draw_near(domain: Any, value: Any, width: float, rng: np.random.Generator) -> Any:
    """A number or ordered option near another; the width is a deviation in a range of 1."""
    # Reflected at the bounds, so that the bounds are not drawn more often than other values.
    place = abs((domain.place(value) + width * rng.standard_normal() + 1) % 2 - 1)
    return domain.at(min(place, 1 - 1e-12))


def keep_apart(
    space: Space, ranked: Sequence[Any], waiting: Sequence[Mapping[str, Any]], count: int
) -> list[Any]:
    """The first candidates that are not almost equal to a running one; others only to fill up.

    A model that is certain of its optimum would send every free worker there, to learn the same.

    Args:
        space: of the configurations.
        ranked: candidates, the best first.
        waiting: configurations that are running and have no report yet.
        count: how many to return.
    """
    found: list[Any] = []
    near: list[Any] = []
    for config in ranked:
        copies = any(_is_near(space, config, other) for other in waiting)
        (near if copies else found).append(config)
        if len(found) == count:
            return found
    return [*found, *near][:count]


def _is_near(space: Space, config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations differ by less than :data:`NEAR` in every parameter."""
    if config.keys() != other.keys():
        return False
    for parameter in space.parameters:
        name, domain = parameter.name, parameter.domain
        if name not in config:
            continue
        if is_unordered(domain):
            if domain.index(config[name]) != domain.index(other[name]):
                return False
        elif abs(domain.unit(config[name]) - domain.unit(other[name])) >= NEAR:
            return False
    return True
