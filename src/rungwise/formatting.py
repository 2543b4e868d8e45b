"""Figures, times, sizes and configurations as text: the same on a terminal, in pages and in plots.

Law of this file: it formats values and does not depend on studies. It is a leaf: it imports no
other module of rungwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MINUTE, HOUR, DAY = 60, 3600, 86400

MISSING = "–"
"""Stands for a figure that is not available."""


# -- numbers -----------------------------------------------------------------------------------


def format_value(value: float | None, digits: int = 4, *, missing: str = MISSING) -> str:
    """A value of a metric.

    Args:
        value: the value, None if there is none.
        digits: how many significant digits: 4 to look at, 6 to compare.
        missing: the text for None.
    """
    return missing if value is None else f"{value:.{digits}g}"


def format_resource(resource: float) -> str:
    """An amount of resource: whole numbers in full, others to four digits."""
    return f"{resource:,.0f}" if resource == int(resource) else f"{resource:,.4g}"


def format_amount(resource: float, unit: str) -> str:
    """An amount of training: ``81 epochs``, ``1 epoch``, ``81 units of resource``.

    Args:
        resource: the amount.
        unit: what one unit is called, in the plural; ``"resource"`` where it has no name.
    """
    name = "units of resource" if unit == "resource" else unit
    if resource == 1:
        name = "unit of resource" if unit == "resource" else unit.removesuffix("s")
    return f"{format_resource(resource)} {name}"


def format_place(resource: float, unit: str) -> str:
    """Where in a training something was: ``at 81 epochs``, ``at resource 81``."""
    if unit == "resource":
        return f"at resource {format_resource(resource)}"
    return f"at {format_amount(resource, unit)}"


def format_count(number: int, noun: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def format_percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f} %"


def format_bytes(count: float) -> str:
    """An amount of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def format_short(value: float) -> str:
    """A number without unnecessary digits: 1,079 and 93.57 and 0.06388."""
    return f"{value:,.0f}" if abs(value) >= 1000 else format_value(value)


# -- times -------------------------------------------------------------------------------------


def format_clock(seconds: float) -> str:
    """Time that has passed: 0:42, 12:05, 1:02:33."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // HOUR, whole % HOUR // MINUTE, whole % MINUTE
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_duration(seconds: float) -> str:
    """Remaining time, rounded, since it is an estimate."""
    if seconds < MINUTE - 0.5:
        return f"{max(1, round(seconds))} s"
    if seconds < HOUR - 30:
        return f"{round(seconds / MINUTE)} min"
    if seconds < DAY:
        hours, tens = divmod(round(seconds / 600), 6)
        return f"{hours} h {tens}0 min" if tens else f"{hours} h"
    return f"{seconds / DAY:.1f} days"


def format_runtime(seconds: float) -> str:
    """Time that was measured, in the unit that gives one or two digits: 42.0 s, 1.5 min, 2.0 h."""
    if seconds >= 1.5 * HOUR:
        return f"{seconds / HOUR:.1f} h"
    return f"{seconds / MINUTE:.1f} min" if seconds >= 1.5 * MINUTE else f"{seconds:.1f} s"


# -- texts -------------------------------------------------------------------------------------


def format_config(config: Mapping[str, Any]) -> str:
    """A configuration in one short line.

    Example:
        >>> format_config({"lr": 0.00123456, "act": "relu", "layers": 3})
        'lr=0.001235 act=relu layers=3'
    """
    return " ".join(f"{_word(name)}={_word(value)}" for name, value in config.items())


def _word(value: Any) -> str:
    """A value without spaces, line breaks and unnecessary digits."""
    if isinstance(value, float):
        return format_value(value)
    text = str(value)
    plain = text.isprintable() and text and not any(char in " =\"'" for char in text)
    return text if plain else repr(text)


def join_words(items: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)", re.DOTALL)


def strip_controls(text: str) -> str:
    """Text without control characters: what trials print is not trusted."""
    text = _ESCAPES.sub("", text).expandtabs(4)
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)
