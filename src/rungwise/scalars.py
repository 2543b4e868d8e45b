"""Unquoted words as plain values, by the rules of YAML 1.2: null, booleans, numbers, text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+")
_OTHER_INT = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
MOST_DIGITS = 1000
"""Python itself limits decimal numbers when it reads them, others only when it writes them."""

_NOT_FINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def scalar(text: str) -> Any:
    """An unquoted word of YAML: null, a boolean, a number or the text itself.

    Raises:
        ValueError: the number has too many digits.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _OTHER_INT.fullmatch(text):
        if len(text) > MOST_DIGITS:
            raise ValueError("the number has too many digits")
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if found := _NOT_FINITE.fullmatch(text):
        return float("nan") if found[3] else float(f"{found[1]}inf")
    return text
