"""JSON without surprises: no key twice, no NaN, not nested too deeply."""

from __future__ import annotations

import json
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.specification.document import MAX_DEPTH, Document, make_line_error


def load_json(text: str, name: str) -> Document:
    """The value in the text of a JSON file; None if it is empty."""
    if not text.strip():
        return Document(None, name)
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise make_line_error(text, name, error.lineno, f"it must be JSON ({error.msg})") from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        raise InvalidArgumentError(name, Words("unreadable JSON"), str(error)) from None
    _check_depth(data, name)
    return Document(data, name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is given twice")
        found[key] = value
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not allowed")


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
