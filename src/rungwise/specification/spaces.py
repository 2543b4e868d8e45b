"""Spaces as they are written in a file.

::

    lr: {type: float, low: 1e-4, high: 1, log: true}
    units: {type: int, low: 8, high: 256, log: true}
    dropout: {type: float, low: 0, high: 0.5, step: 0.1}
    act: [relu, tanh]
    size: {type: choice, options: [small, large], ordered: true}
    momentum: {type: float, low: 0, high: 1, when: {name: act, op: "==", value: relu}}
    epochs_between_drops: 10
    forbidden:
      - all: [{name: lr, op: ">", value: 0.5}, {name: act, op: "==", value: tanh}]

``forbidden`` is no parameter, and neither is ``parameters``, which may hold the parameters:
as above, or as the list of :mod:`rungwise.space.codec`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rungwise.errors import MISSING, InvalidArgumentError, SpaceError
from rungwise.options.foreign_names import translate_name
from rungwise.scalars import scalar
from rungwise.space import Choice, Float, Int, Space
from rungwise.space.codec import VERSION, parameter_to_json
from rungwise.space.domains import Domain, looks_like_a_range, spell_range
from rungwise.space.foreign import read_range, translate
from rungwise.space.parameters import Parameter
from rungwise.space.scalars import is_scalar
from rungwise.specification.document import Document
from rungwise.specification.files import read

_KINDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, bool | None]]] = {
    "float": (("low", "high"), {"log": False, "step": None}),
    "int": (("low", "high"), {"log": False, "step": None}),
    "choice": (("options",), {"ordered": False}),
}
"""What an entry of each type must have, and what it may have, with the default."""

_CALL = re.compile(r"\s*[\w.]*\(.*\)\s*")
"""A tuple or a call as Python writes it."""

_TERMS: Mapping[str, str] = {
    **dict.fromkeys(("min", "lower", "lb", "from", "start"), "low"),
    **dict.fromkeys(("max", "upper", "ub", "to", "end", "stop"), "high"),
    **dict.fromkeys(("values", "choices", "categories", "items"), "options"),
    **dict.fromkeys(("q", "quantization_factor"), "step"),
}
"""What others call the keys of a parameter."""

_OTHER_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("uniform", "real", "double", "continuous", "number"), "{type: float, …}"),
    **dict.fromkeys(("integer", "randint", "int_uniform", "discrete"), "{type: int, …}"),
    **dict.fromkeys(
        ("loguniform", "log_uniform", "log-uniform", "log_uniform_values"),
        "{type: float, …, log: true}",
    ),
    **dict.fromkeys(("categorical", "category", "grid_search", "ordinal"), "{type: choice, …}"),
    **dict.fromkeys(("bool", "boolean"), "{type: choice, options: [true, false]}"),
}
"""What others call the types, and ours."""

_FORMS = "a parameter must be a list of options, a constant, or a mapping with a type"


def read_space(source: str | os.PathLike[str] | Mapping[str, Any] | Document) -> Space:
    """The space in a YAML or JSON file, or in a mapping read from one.

    Numbers may be text in ``low`` and ``high``, because YAML 1.1 reads ``1e-4`` as text. Among
    options and constants text stays text; in a file, ``1e-4`` without quotes is a number.

    Args:
        source: the file, or the mapping.
    """
    if isinstance(source, Document):
        document = source
    elif isinstance(source, (str, os.PathLike)):
        document = read(Path(source))
    else:
        document = Document(source)
    document.mapping("a space must be a mapping of parameters")
    try:
        return _space(document)
    except RecursionError:
        raise document.wrong("its rules and conditions are nested too deeply") from None


def known_key(document: Document, key: str, known: Iterable[str]) -> InvalidArgumentError:
    """The error for an unknown key, with the one that may have been meant."""
    names = tuple(known)
    here = (translate_name(key) or _TERMS.get(key, "")).partition("=")[0]
    near = [here] if here in names else difflib.get_close_matches(key, names, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    rule = f"{meant}the keys here are {', '.join(names)}"
    return InvalidArgumentError(document[key].label("a key"), key, rule)


def _space(document: Document) -> Space:
    whole = "parameters" in document.data
    if whole:
        _check_keys(document, ("version", "parameters", "forbidden"))
    forbidden = _rules(document["forbidden"]) if "forbidden" in document.data else []
    written = document["parameters"] if whole else document
    if isinstance(written.data, list):
        entries = [_listed(written[place]) for place in range(len(written.data))]
    else:
        written.mapping("it must be a mapping or a list of parameters")
        entries = [
            _entry(name, parameter)
            for name, parameter in written.items()
            if whole or name != "forbidden"
        ]
    version = document.data.get("version", VERSION) if whole else VERSION
    try:
        return Space.from_json({"version": version, "parameters": entries, "forbidden": forbidden})
    except SpaceError as error:
        raise document.relabelled(error) from None


def _listed(document: Document) -> dict[str, Any]:
    """A parameter of the list form, which has its name within."""
    document.mapping("it must be a mapping with a name and a type")
    name = document.data.get("name")
    if not isinstance(name, str) or not name:
        raise SpaceError(document.label("name"), name, "a parameter must have a name")
    return _typed(name, document, ("name", "prior"))


def _entry(name: str, document: Document) -> dict[str, Any]:
    """A parameter of the mapping form."""
    written = document.data
    if isinstance(written, Mapping):
        return _typed(name, document.mapping(_FORMS), ())
    if written is None:
        raise SpaceError(document.label(), written, f"{_FORMS} (a constant null is [null])")
    if not isinstance(written, list) and not is_scalar(written):
        raise SpaceError(document.label(), written, _FORMS)
    if isinstance(written, str) and _CALL.match(written):
        rule = (
            "YAML has no tuples and no calls, so this would be one option, a text: write {type: "
            "float, low: …, high: …} for a range, or [a, b, c] for options"
        )
        raise SpaceError(document.label(), written, rule)
    range_meant = read_range(written)
    if range_meant is not None:
        rule = f"what is meant is probably {_spell(range_meant)}: a list has options only"
        raise SpaceError(document.label(), written, rule)
    if looks_like_a_range(written):
        low, high = written
        kind, bounds, log = spell_range(low, high)
        least, most = bounds.split(", ")
        rule = (
            f"two numbers may mean a range or two options: write {{type: {kind.lower()}, low: "
            f"{least}, high: {most}{', log: true' * log}}} for all values between them, or {{type: "
            f"choice, options: [{low!r}, {high!r}]}} for these two"
        )
        raise SpaceError(document.label(), written, rule)
    options = written if isinstance(written, list) else [written]
    return _checked(name, document, {"type": "choice", "options": options, "ordered": False})


def _typed(name: str, document: Document, more: tuple[str, ...]) -> dict[str, Any]:
    """A parameter with a type, and everything that belongs to the type."""
    meant = translate(document.data)
    if meant is not None:
        rule = f"what W&B writes so is {_spell(meant)} here"
        raise SpaceError(document.label(), document.data, rule)
    kind = document.data.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        meant_kind = _OTHER_KINDS.get(str(kind).lower())
        hint = f"did you mean {meant_kind}? " if meant_kind else ""
        rule = f"{hint}it must be one of {', '.join(_KINDS)}"
        given = MISSING if "type" not in document.data else kind
        raise SpaceError(document.label("type"), given, rule)
    needed, optional = _KINDS[kind]
    _check_keys(document, ("type", *needed, *optional, "when", *more))
    for key in needed:
        if key not in document.data:
            rule = f"a parameter of type {kind} must have {key!r}"
            raise SpaceError(document.label(), document.data, rule)
    entry: dict[str, Any] = {"type": kind, **optional}
    for key, part in document.items():
        if key in {"low", "high", "step"} and isinstance(part.data, str):
            entry[key] = scalar(part.data) if len(part.data) < 40 else part.data
        elif key == "when":
            entry[key] = _rule(part)
        else:
            entry[key] = part.data
    return _checked(name, document, entry)


def _spell(domain: Domain) -> str:
    """A domain as it is written in a file."""
    entry = parameter_to_json(Parameter("x", domain))
    del entry["name"]
    if entry["type"] == "choice" and len(entry["options"]) != 2:
        return json.dumps(entry["options"])
    parts = [f"{key}: {json.dumps(value)}" for key, value in entry.items() if value is not False]
    return f"{{{', '.join(parts)}}}".replace('"', "")


def _checked(name: str, document: Document, entry: dict[str, Any]) -> dict[str, Any]:
    """The entry, once its domain has been built where its place is known."""
    try:
        if entry["type"] == "choice":
            Choice(entry["options"], ordered=entry["ordered"])
        else:
            kind = Float if entry["type"] == "float" else Int
            kind(entry["low"], entry["high"], log=entry["log"], step=entry["step"])
    except SpaceError as error:
        raise document.relabelled(error) from None
    return {**entry, "name": name}


def _rules(document: Document) -> list[dict[str, Any]]:
    if not isinstance(document.data, list):
        raise document.wrong("it must be a list of rules")
    return [_rule(document[place]) for place in range(len(document.data))]


def _rule(document: Document) -> dict[str, Any]:
    """A rule with its keys and types checked; what it says about the space is checked there."""
    document.mapping("a rule must be a mapping such as {name: lr, op: '<', value: 1}")
    keys = document.data
    for word in ("all", "any"):
        if word in keys:
            _check_keys(document, (word,))
            return {word: _rules(document[word])}
    needed = ("left", "op", "right") if "left" in keys else ("name", "op", "value")
    _check_keys(document, needed)
    for key in needed:
        if key not in keys:
            raise document.wrong(f"a rule must have {', '.join(needed)}; or all, or any")
        if key != "value" and not isinstance(keys[key], str):
            raise document[key].wrong("it must be text")
    return dict(keys)


def _check_keys(document: Document, known: Iterable[str]) -> None:
    names = tuple(known)
    for key in document.data:
        if key not in names:
            raise known_key(document, key, names)
