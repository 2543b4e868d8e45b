"""Parameters as other libraries write them: recognised, so that the error can say how it is here.

Those are sweeps of W&B, and ranges as a tuple with a word: ``(1e-4, 1, "log")``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rungwise.errors import SpaceError
from rungwise.space.domains import Choice, Domain, Float, Int
from rungwise.space.scalars import is_number, plain

KEYS = frozenset({"distribution", "min", "max", "values", "value", "q", "mu", "sigma"})
"""What their parameters consist of; ours have none of these."""


def translate(written: Any) -> Domain | None:
    """The domain that a parameter of W&B means; None for anything else."""
    if not isinstance(written, Mapping) or not written or not KEYS.issuperset(written):
        return None
    try:
        if "values" in written:
            return Choice(written["values"])
        if "value" in written:
            return Choice([written["value"]])
        return _make_range(written)
    except (SpaceError, OverflowError):
        return None


def _make_range(written: Mapping[str, Any]) -> Domain | None:
    low, high = written.get("min"), written.get("max")
    if not (is_number(low) and is_number(high)):
        return None
    whole = type(low) is int and type(high) is int
    kind = written.get("distribution", "int_uniform" if whole else "uniform")
    step = written.get("q", 1) if str(kind).startswith("q_") else None
    name = str(kind).removeprefix("q_")
    if name == "log_uniform":  # theirs has exponents of e
        low, high = math.exp(low), math.exp(high)
    elif name not in ("uniform", "int_uniform", "log_uniform_values"):
        return None
    log = name.startswith("log")
    if name == "int_uniform" and whole:
        return Int(int(low), int(high))
    return Float(low, high, log=log, step=step)


SCALES = {
    **dict.fromkeys(("log", "loguniform", "log-uniform", "log_uniform", "log10"), True),
    **dict.fromkeys(("linear", "uniform", "float", "int", "range", "real", "integer"), False),
}
"""Words beside two numbers that make a range of them, and whether it is logarithmic."""

WHOLE = ("int", "integer", "range", "log", "linear")
"""Those among them that leave two whole numbers whole."""


def read_range(written: Any) -> Domain | None:
    """The range that two numbers and a word in a list or tuple mean; None for anything else."""
    if not isinstance(written, (list, tuple)) or len(written) != 3:
        return None
    words = [value for value in written if isinstance(value, str)]
    bounds = [plain(value) for value in written if not isinstance(value, str)]
    if len(words) != 1 or words[0].lower() not in SCALES or not all(map(is_number, bounds)):
        return None
    word = words[0].lower()
    whole = all(type(value) is int for value in bounds) and word in WHOLE
    log = SCALES[word]
    try:
        return (Int if whole else Float)(min(bounds), max(bounds), log=log)
    except (SpaceError, OverflowError):
        return None
