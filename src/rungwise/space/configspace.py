"""The border to ConfigSpace: reads a ``ConfigurationSpace`` into parameters and rules.

Only the definitions cross the border. Conditions and forbidden clauses are evaluated by
:mod:`rungwise.space.rules`, because ConfigSpace 1.2 samples illegal configurations in corners
(``ForbiddenLessThanEqualsClause``, an "and" and an "or" over the same conditions, a condition on
parents of different depth). Objects are recognised by the names of their classes, so that this
file need not import ConfigSpace, which takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rungwise.errors import SpaceError
from rungwise.space.domains import Choice, Domain, Float, Int
from rungwise.space.parameters import Parameter
from rungwise.space.priors import Beta, Normal, Prior, Weights
from rungwise.space.rules import AllOf, AnyOf, Rule, compare, relate
from rungwise.space.scalars import plain

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

_OPERATORS = {
    "EqualsCondition": "==",
    "NotEqualsCondition": "!=",
    "LessThanCondition": "<",
    "GreaterThanCondition": ">",
    "InCondition": "in",
    "ForbiddenEqualsClause": "==",
    "ForbiddenInClause": "in",
    "ForbiddenLessThanClause": "<",
    "ForbiddenLessThanEqualsClause": "<=",
    "ForbiddenGreaterThanClause": ">",
    "ForbiddenGreaterThanEqualsClause": ">=",
    "ForbiddenEqualsRelation": "==",
    "ForbiddenLessThanRelation": "<",
    "ForbiddenLessThanEqualsRelation": "<=",
    "ForbiddenGreaterThanRelation": ">",
    "ForbiddenGreaterThanEqualsRelation": ">=",
}

_CONJUNCTIONS: Mapping[str, type[AllOf | AnyOf]] = {
    "AndConjunction": AllOf,
    "OrConjunction": AnyOf,
    "ForbiddenAndConjunction": AllOf,
    "ForbiddenOrConjunction": AnyOf,
}


def is_configuration_space(obj: object) -> bool:
    """Whether an object is a ``ConfigSpace.ConfigurationSpace``, without importing it."""
    return any(
        kind.__name__ == "ConfigurationSpace" and kind.__module__.split(".")[0] == "ConfigSpace"
        for kind in type(obj).__mro__
    )


def read(space: ConfigurationSpace) -> tuple[list[Parameter], list[Rule]]:
    """The parameters and forbidden rules of a ``ConfigurationSpace``, which stays as it is."""
    read_hyperparameters = {name: _read_domain(hp) for name, hp in space.items()}
    domains = {name: domain for name, (domain, _) in read_hyperparameters.items()}
    conditions = {
        condition.child.name: _read_rule(condition, domains) for condition in space.conditions
    }
    parameters = [
        Parameter(name, domain, prior, conditions.get(name))
        for name, (domain, prior) in read_hyperparameters.items()
    ]
    return parameters, [_read_rule(clause, domains) for clause in space.forbidden_clauses]


def _read_domain(hp: Any) -> tuple[Domain, Prior | None]:
    """A hyperparameter as domain and prior."""
    kind = type(hp).__name__.removesuffix("Hyperparameter")
    try:
        if kind in ("UniformFloat", "NormalFloat", "BetaFloat"):
            return Float(hp.lower, hp.upper, log=bool(hp.log)), _read_prior(hp, kind)
        if kind in ("UniformInteger", "NormalInteger", "BetaInteger"):
            return Int(hp.lower, hp.upper, log=bool(hp.log)), _read_prior(hp, kind)
        if kind == "Categorical":
            weights = None if hp.weights is None else Weights(tuple(map(float, hp.weights)))
            return Choice(hp.choices), weights
        if kind == "Ordinal":
            return Choice(hp.sequence, ordered=True), None
        if kind == "Constant":
            return Choice([hp.value]), None
    except SpaceError as error:
        raise SpaceError(f"{error.argument} of {hp.name}", error.value, error.rule) from None
    raise SpaceError(hp.name, hp, "this kind of hyperparameter is not known to rungwise")


def _read_prior(hp: Any, kind: str) -> Prior | None:
    if kind.startswith("Normal"):
        return Normal(float(hp.mu), float(hp.sigma))
    if kind.startswith("Beta"):
        return Beta(float(hp.alpha), float(hp.beta))
    return None


def _read_rule(rule: Any, domains: Mapping[str, Domain]) -> Rule:
    """A condition or forbidden clause as our own expression."""
    kind = type(rule).__name__
    if kind in _CONJUNCTIONS:
        return _CONJUNCTIONS[kind](tuple(_read_rule(part, domains) for part in rule.components))
    if kind not in _OPERATORS:
        raise SpaceError("rule", rule, "this kind of rule is not known to rungwise")
    op = _OPERATORS[kind]
    if kind.endswith("Relation"):
        return relate(domains, rule.left.name, op, rule.right.name)
    subject = rule.parent if kind.endswith("Condition") else rule.hyperparameter
    value = [plain(one) for one in rule.values] if op == "in" else plain(rule.value)
    return compare(domains, subject.name, op, value)
