"""Figures as text: the same format on the terminal, in Markdown and in sentences."""

from __future__ import annotations

import math

from rungwise.formatting import HOUR, MINUTE, MISSING, format_value
from rungwise.lab.reproduction.results import Figure, Section, Settings


def choose_unit(section: Section) -> tuple[float, str]:
    """(seconds per unit, its symbol) for the runtimes of a section.

    The paper's are in hours. Otherwise the longest has at least ten units, so that shorter ones
    have one or two digits.
    """
    longest = max((row.seconds.mean for row in section.rows), default=0.0)
    if any(row.paper is not None for row in section.rows) or longest >= 10 * HOUR:
        return HOUR, "h"
    return (MINUTE, "min") if longest >= 10 * MINUTE else (1, "s")


def final(section: Section, figure: Figure) -> str:
    """A final value with its spread."""
    return f"{final_mean(section, figure.mean)} ± {final_mean(section, figure.std)}"


def final_mean(section: Section, value: float) -> str:
    """A final value: percent with two digits as in the paper, or four significant digits."""
    return f"{100 * value:.2f}" if section.percent else format_value(value)


def difference(section: Section, value: float) -> str:
    """A difference of final values, without its sign."""
    if section.percent:
        return f"{abs(100 * value):.2f} points"
    return format_value(abs(value))


def runtime(figure: Figure, unit: tuple[float, str]) -> str:
    """A runtime with its spread."""
    size, sign = unit
    return f"{figure.mean / size:.1f} {sign} ± {figure.std / size:.1f} {sign}"


def speedup(value: float | None) -> str:
    """A speed-up, as in the paper."""
    return "N/A" if value is None else f"{value:.1f}×"


def spread(figure: Figure | None, digits: int = 1) -> str:
    """Mean ± standard deviation."""
    if figure is None or math.isnan(figure.mean):
        return MISSING
    return f"{figure.mean:,.{digits}f} ± {figure.std:,.{digits}f}"


def describe_samples(settings: Settings) -> str:
    """Whether all methods use the same configurations."""
    if "bo" in settings.experiments:
        return "All methods use the same samples, but those with a searcher choose their own."
    return "All methods use the same samples."


def describe_certainty(runs: int) -> str:
    """How certain a reported difference of means is."""
    return "by more than a standard error" if runs > 1 else "in a single run, which says little"
