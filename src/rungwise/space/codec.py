"""A space as plain JSON and back, without loss.

::

    {"version": 1,
     "parameters": [{"name": "lr", "type": "float", "low": 1e-05, "high": 10.0, "log": true},
                    {"name": "momentum", "type": "float", "low": 0.0, "high": 1.0, "log": false,
                     "when": {"name": "optimizer", "op": "==", "value": "sgd"}},
                    {"name": "optimizer", "type": "choice", "options": ["adam", "sgd"],
                     "ordered": false}],
     "forbidden": [{"all": [{"name": "lr", "op": ">", "value": 1.0},
                            {"name": "optimizer", "op": "==", "value": "adam"}]}]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rungwise.errors import SpaceError
from rungwise.space.domains import Choice, Domain, Float, Int
from rungwise.space.parameters import Parameter, check_name
from rungwise.space.priors import Beta, Normal, Prior, Weights
from rungwise.space.rules import AllOf, AnyOf, Rule, compare, relate
from rungwise.space.scalars import is_number

VERSION = 1


def space_to_json(parameters: Iterable[Parameter], forbidden: Iterable[Rule]) -> dict[str, Any]:
    """The document of a space."""
    return {
        "version": VERSION,
        "parameters": [parameter_to_json(parameter) for parameter in parameters],
        "forbidden": [rule.to_json() for rule in forbidden],
    }


def space_from_json(document: Any) -> tuple[list[Parameter], list[Rule]]:
    """The parameters and forbidden rules of a document."""
    version = _entry(document, "version")
    if version != VERSION:
        raise SpaceError("version", version, f"this version of rungwise reads version {VERSION}")
    entries = _listed(document, "parameters")
    domains = {check_name(_entry(entry, "name")): _domain_from_json(entry) for entry in entries}
    parameters = [
        Parameter(
            entry["name"],
            domains[entry["name"]],
            _prior_from_json(entry["prior"]) if "prior" in entry else None,
            _rule_from_json(entry["when"], domains) if "when" in entry else None,
        )
        for entry in entries
    ]
    return parameters, [_rule_from_json(rule, domains) for rule in _listed(document, "forbidden")]


def parameter_to_json(parameter: Parameter) -> dict[str, Any]:
    """The entry of one parameter."""
    entry: dict[str, Any] = {"name": parameter.name, **_domain_to_json(parameter.domain)}
    if parameter.prior is not None:
        entry["prior"] = _prior_to_json(parameter.prior)
    if parameter.condition is not None:
        entry["when"] = parameter.condition.to_json()
    return entry


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, Choice):
        return {"type": "choice", "options": list(domain.options), "ordered": domain.ordered}
    kind = "float" if isinstance(domain, Float) else "int"
    entry = {"type": kind, "low": domain.low, "high": domain.high, "log": domain.log}
    return entry if domain.step is None else {**entry, "step": domain.step}


def _domain_from_json(entry: Mapping[str, Any]) -> Domain:
    kind = _entry(entry, "type")
    try:
        if kind == "choice":
            return Choice(_entry(entry, "options"), ordered=_entry(entry, "ordered"))
        if kind in ("float", "int"):
            return (Float if kind == "float" else Int)(
                _entry(entry, "low"),
                _entry(entry, "high"),
                log=_entry(entry, "log"),
                step=entry.get("step"),
            )
    except SpaceError as error:
        raise SpaceError(f"{error.argument} of {entry['name']}", error.value, error.rule) from None
    raise SpaceError(f"type of {entry['name']}", kind, "it must be 'choice', 'float' or 'int'")


def _prior_to_json(prior: Prior) -> dict[str, Any]:
    if isinstance(prior, Weights):
        return {"type": "weights", "weights": list(prior.weights)}
    return {"type": type(prior).__name__.lower(), **asdict(prior)}


def _prior_from_json(entry: Any) -> Prior:
    kind = _entry(entry, "type")
    if kind == "weights":
        return Weights(tuple(_listed(entry, "weights")))
    if kind == "normal":
        return Normal(_number(entry, "mu"), _number(entry, "sigma"))
    if kind == "beta":
        return Beta(_number(entry, "alpha"), _number(entry, "beta"))
    raise SpaceError("prior", entry, "its type must be 'weights', 'normal' or 'beta'")


def _rule_from_json(entry: Any, domains: Mapping[str, Domain]) -> Rule:
    for word, kind in (("all", AllOf), ("any", AnyOf)):
        if isinstance(entry, Mapping) and word in entry:
            rules = tuple(_rule_from_json(rule, domains) for rule in _listed(entry, word))
            if not rules:
                raise SpaceError("rule", entry, f"'{word}' needs at least one rule")
            return kind(rules)
    op = _entry(entry, "op")
    if "left" in entry:
        return relate(domains, entry["left"], op, _entry(entry, "right"))
    return compare(domains, _entry(entry, "name"), op, _entry(entry, "value"))


def _entry(document: Any, name: str) -> Any:
    if not isinstance(document, Mapping):
        raise SpaceError("document", document, "it must be a JSON object")
    if name not in document:
        raise SpaceError("document", document, f"it must have an entry {name!r}")
    return document[name]


def _listed(document: Any, name: str) -> list[Any]:
    entries = _entry(document, name)
    if not isinstance(entries, list):
        raise SpaceError(name, entries, "it must be a list")
    return entries


def _number(document: Any, name: str) -> float:
    value = _entry(document, name)
    if not is_number(value):
        raise SpaceError(name, value, "it must be a finite number")
    return float(value)
