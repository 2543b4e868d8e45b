"""Rules: when a parameter is active, and what is forbidden.

A rule is a small expression over the values of a configuration. Law of this file: a comparison
with an inactive parameter does not hold, whatever its operator.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rungwise.errors import SpaceError
from rungwise.space.domains import Choice, Domain
from rungwise.space.scalars import Scalar, identity

RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Between two parameters: values count, so the whole number 1 equals the real number 1.0."""

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    **RELATIONS,
    "==": lambda value, given: identity(value) == identity(given),
    "!=": lambda value, given: identity(value) != identity(given),
    "in": lambda value, given: identity(value) in map(identity, given),
}
"""Between a parameter and values of its own domain, where 1, 1.0 and True may all be options."""

_ORDERINGS = frozenset({"<", "<=", ">", ">="})


class Rule(Protocol):
    """An expression over a configuration."""

    def holds(self, config: Mapping[str, Any]) -> bool:
        """Whether the rule holds; absent parameters are inactive."""

    def names(self) -> frozenset[str]:
        """The parameters it looks at."""

    def to_json(self) -> dict[str, Any]:
        """The rule as plain JSON."""


@dataclass(frozen=True, slots=True)
class Compare:
    """A parameter against a value, or against several for ``in``."""

    name: str
    op: str
    value: Any

    def __str__(self) -> str:
        value = list(self.value) if self.op == "in" else self.value
        return f"{self.name} {self.op} {value!r}"

    def holds(self, config: Mapping[str, Any]) -> bool:
        """Whether the rule holds; absent parameters are inactive."""
        return self.name in config and COMPARISONS[self.op](config[self.name], self.value)

    def names(self) -> frozenset[str]:
        """The parameters it looks at."""
        return frozenset({self.name})

    def to_json(self) -> dict[str, Any]:
        """The rule as plain JSON."""
        value = list(self.value) if self.op == "in" else self.value
        return {"name": self.name, "op": self.op, "value": value}


@dataclass(frozen=True, slots=True)
class Relate:
    """A parameter against another one."""

    left: str
    op: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"

    def holds(self, config: Mapping[str, Any]) -> bool:
        """Whether the rule holds; absent parameters are inactive."""
        if self.left not in config or self.right not in config:
            return False
        return RELATIONS[self.op](config[self.left], config[self.right])

    def names(self) -> frozenset[str]:
        """The parameters it looks at."""
        return frozenset({self.left, self.right})

    def to_json(self) -> dict[str, Any]:
        """The rule as plain JSON."""
        return {"left": self.left, "op": self.op, "right": self.right}


@dataclass(frozen=True, slots=True)
class AllOf:
    """Several rules, all of which must hold."""

    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        return f"({' and '.join(map(str, self.rules))})"

    def holds(self, config: Mapping[str, Any]) -> bool:
        """Whether the rule holds; absent parameters are inactive."""
        return all(rule.holds(config) for rule in self.rules)

    def names(self) -> frozenset[str]:
        """The parameters it looks at."""
        return frozenset().union(*(rule.names() for rule in self.rules))

    def to_json(self) -> dict[str, Any]:
        """The rule as plain JSON."""
        return {"all": [rule.to_json() for rule in self.rules]}


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Several rules, one of which must hold."""

    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        return f"({' or '.join(map(str, self.rules))})"

    def holds(self, config: Mapping[str, Any]) -> bool:
        """Whether the rule holds; absent parameters are inactive."""
        return any(rule.holds(config) for rule in self.rules)

    def names(self) -> frozenset[str]:
        """The parameters it looks at."""
        return frozenset().union(*(rule.names() for rule in self.rules))

    def to_json(self) -> dict[str, Any]:
        """The rule as plain JSON."""
        return {"any": [rule.to_json() for rule in self.rules]}


def compare(domains: Mapping[str, Domain], name: str, op: str, value: Any) -> Compare:
    """A comparison whose values are checked against the parameter's domain.

    In an ordered choice "smaller" means "earlier": ``size < 'large'`` becomes a list of options.
    """
    domain = _known(domains, name)
    if op not in COMPARISONS:
        raise SpaceError("op", op, f"it must be one of {', '.join(COMPARISONS)}")
    if op == "in":
        if not isinstance(value, (list, tuple)):
            raise SpaceError(name, value, "'in' needs a list of values")
        return Compare(name, op, tuple(domain.accept(name, one) for one in value))
    if op in _ORDERINGS and not isinstance(domain, Choice) and domain.step is not None:
        domain = replace(domain, step=None)  # a bound may lie between two steps
    bound = domain.accept(name, value)
    if op in _ORDERINGS and isinstance(domain, Choice):
        return Compare(name, "in", _side(domain, name, op, bound))
    return Compare(name, op, bound)


def relate(domains: Mapping[str, Domain], left: str, op: str, right: str) -> Relate:
    """A relation between two parameters whose values can be compared."""
    kinds = [_comparable_as(_known(domains, name)) for name in (left, right)]
    if op not in RELATIONS:
        raise SpaceError("op", op, f"it must be one of {', '.join(RELATIONS)}")
    if op in _ORDERINGS and (kinds[0] is None or kinds[0] != kinds[1]):
        raise SpaceError(
            "relation", f"{left} {op} {right}", "both must be numbers, or both must be text"
        )
    return Relate(left, op, right)


def _known(domains: Mapping[str, Domain], name: Any) -> Domain:
    if not isinstance(name, str) or name not in domains:
        raise SpaceError("name", name, f"a rule may name only {', '.join(map(repr, domains))}")
    return domains[name]


def _side(domain: Choice, name: str, op: str, bound: Scalar) -> tuple[Scalar, ...]:
    """The options on one side of another."""
    if not domain.ordered:
        raise SpaceError(name, domain, f"'{op}' needs a choice with ordered=True")
    rank = domain.index(bound)
    return tuple(option for option in domain.options if RELATIONS[op](domain.index(option), rank))


def _comparable_as(domain: Domain) -> str | None:
    """What all values of a domain are: numbers, text, or nothing in common."""
    if not isinstance(domain, Choice):
        return "number"
    types = {type(option) for option in domain.options}
    if types <= {int, float, bool}:
        return "number"
    return "text" if types == {str} else None
