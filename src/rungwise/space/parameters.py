"""Parameters: a name, the values it may take, how it is drawn and when it is active."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rungwise import lazy_numpy as np
from rungwise.errors import SpaceError
from rungwise.space.domains import Domain
from rungwise.space.priors import Prior
from rungwise.space.rules import Rule
from rungwise.space.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a space.

    Args:
        name: its name, not empty.
        domain: the values it may take.
        prior: how it is drawn; ``None`` is uniformly.
        condition: when it is active; ``None`` is always.
    """

    name: str
    domain: Domain
    prior: Prior | None = None
    condition: Rule | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.prior is not None and not self.prior.fits(self.domain):
            raise SpaceError(self.name, self.prior, f"this prior does not fit {self.domain!r}")

    def __str__(self) -> str:
        drawn = f" drawn from {self.prior!r}" if self.prior else ""
        when = f" when {self.condition}" if self.condition else ""
        return f"{self.domain!r}{drawn}{when}"

    def is_active(self, config: Mapping[str, Any]) -> bool:
        """Whether the parameter has a value, given the values of those it depends on."""
        return self.condition is None or self.condition.holds(config)

    def draw(self, rng: np.random.Generator) -> Scalar:
        """A random value."""
        if self.prior is None:
            return self.domain.at(rng.random())
        return self.prior.draw(self.domain, rng)


def check_name(name: Any) -> str:
    """Check a name that can be used in a configuration."""
    if type(name) is not str or not name:
        raise SpaceError("name", name, "a parameter's name must be a non-empty str")
    return name


def in_order(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Parents before children, then by name.

    So a space does not depend on the order it was written in, and one pass in this order can
    decide which parameters are active.
    """
    by_name: dict[str, Parameter] = {}
    for parameter in parameters:
        if parameter.name in by_name:
            raise SpaceError("name", parameter.name, "two parameters have this name")
        by_name[parameter.name] = parameter
    depths: dict[str, int] = {}
    for name in by_name:
        _depth(name, by_name, depths, ())
    return tuple(by_name[name] for name in sorted(by_name, key=lambda name: (depths[name], name)))


def _depth(
    name: str, by_name: Mapping[str, Parameter], depths: dict[str, int], path: tuple[str, ...]
) -> int:
    """The length of the longest chain of conditions above a parameter."""
    if name in path:
        circle = " → ".join([*path[path.index(name) :], name])
        raise SpaceError("condition", circle, "conditions must not form a cycle")
    if name not in depths:
        condition = by_name[name].condition
        parents = condition.names() if condition else frozenset()
        depths[name] = max(
            (1 + _depth(parent, by_name, depths, (*path, name)) for parent in parents), default=0
        )
    return depths[name]
