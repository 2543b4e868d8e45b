"""JSON without surprises: no key twice, only finite numbers, not nested too deeply."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.specification.document import MAX_DEPTH, Document, make_line_error

_TOKENS = re.compile(
    r"""(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")(?P<colon>\s*:)?
    | (?P<number>-?[0-9][0-9.eE+-]*)
    | (?P<constant>NaN|-?Infinity)
    | (?P<brace>[{}])""",
    re.VERBOSE,
)
"""The parts of valid JSON that are looked at; what is between them is passed over."""


def load_json(text: str, name: str) -> Document:
    """The value in the text of a JSON file; None if it is empty."""
    if not text.strip():
        return Document(None, name)
    try:
        # For its syntax alone: the values are checked next, where their lines are known.
        json.loads(text, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as error:
        rule = f"it must be JSON ({error.msg})"
        raise make_line_error(text.split("\n"), name, error.lineno, rule) from None
    except RecursionError:
        raise _too_deep(name) from None
    _check_parts(text, name)
    data = json.loads(text)
    _check_depth(data, name)
    return Document(data, name)


def _check_parts(text: str, name: str) -> None:
    """Check keys and numbers, with the line of what is wrong."""
    objects: list[set[str]] = []  # the keys of those that are open
    for found in _TOKENS.finditer(text):
        rule = None
        if found["brace"]:
            objects.append(set()) if found["brace"] == "{" else objects.pop()
        elif found["colon"]:
            key = json.loads(found["text"])
            rule = f"the key {key!r} is given twice" if key in objects[-1] else None
            objects[-1].add(key)
        elif found["number"]:
            rule = _find_fault(found["number"])
        elif found["constant"]:
            rule = f"{found['constant']} is not allowed"
        if rule is not None:
            line = text.count("\n", 0, found.start()) + 1
            raise make_line_error(text.split("\n"), name, line, rule)


def _find_fault(number: str) -> str | None:
    """What is wrong with a number, if anything."""
    try:
        value = json.loads(number)
    except ValueError:
        return "the number has too many digits"
    if isinstance(value, float) and math.isinf(value):
        return f"{number} is too large for a number"
    return None


def _too_deep(name: str) -> InvalidArgumentError:
    rule = f"at most {MAX_DEPTH} levels may be nested"
    return InvalidArgumentError(name, Words("nested too deeply"), rule)


def _check_depth(data: Any, name: str) -> None:
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if level:
        raise _too_deep(name)
