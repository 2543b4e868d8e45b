"""Command lines: placeholders, flags and variables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rungwise.errors import InvalidArgumentError

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|([{}])")


def variables(written: Any) -> dict[str, str]:
    """Extra variables, checked."""
    if not isinstance(written, Mapping):
        raise InvalidArgumentError("environment", written, "it must be a dict of str to str")
    for name, value in written.items():
        if not isinstance(name, str) or not name or set(name) & {"=", "\0"}:
            raise InvalidArgumentError("environment", name, "it is not the name of a variable")
        if name.startswith("RUNGWISE_"):
            rule = "names that begin with RUNGWISE_ are set by rungwise: choose another name"
            raise InvalidArgumentError("environment", name, rule)
        if not isinstance(value, str) or "\0" in value:
            raise InvalidArgumentError(f"environment[{name!r}]", value, "it must be text")
    return dict(written)


def find_placeholders(part: str) -> list[str]:
    """The parameters that a part of a command names."""
    names = []
    for found in _PART.finditer(part):
        if found[2] or found[1] == "":
            rule = "braces must enclose a name, as in {lr}; write a literal brace twice, as in {{"
            raise InvalidArgumentError("command", part, rule)
        if found[1]:
            names.append(found[1])
    return names


def filled(part: str, values: Mapping[str, str]) -> str:
    """A part of a command with values for its placeholders, and single braces for double ones."""
    return _PART.sub(lambda found: values[found[1]] if found[1] else found[0][0], part)


def flag(name: str, value: str) -> tuple[str, ...]:
    """A parameter as the one or two parts of a flag."""
    # After a space, many parsers would take a value such as -1e-05 for another flag.
    return (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


def value_to_text(value: Any) -> str:
    """A value as text: words as they are, true, false and null as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)
