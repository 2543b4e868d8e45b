"""The leaderboard as text, at any width: no number is broken, and nothing that ranks is cut.

Parameters have a column each where the table fits, else a line below each trial. Those that are the
same in all rows shown are listed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from rungwise.cli.tables import (
    Cells,
    measure_grid,
    measure_lines,
    print_columns,
    print_lines,
    print_words,
)
from rungwise.formatting import format_value, strip_controls
from rungwise.tuning.result import TuningResult
from rungwise.views import Row


def print_leaderboard(console: Console, result: TuningResult, top: int) -> None:
    """The best trials with their parameters."""
    rows = result.leaderboard(top)
    title = f"The best {min(top, result.trials)} of {result.trials}"
    varying, same = _split_parameters(rows)
    heads, lines = _make_columns(rows, clean(result.metric))
    configs = [[_show(row, name) for name in varying] for row in rows]
    names = [clean(name) for name in varying]
    table = [[*line, *config] for line, config in zip(lines, configs, strict=True)]
    if measure_grid([*heads, *names], table) <= console.width:
        print_columns(console, title, [*heads, *names], table, left=[len(heads) - 1])
    else:
        if measure_lines(heads, lines) > console.width:  # the name of the metric is too long
            title, heads = f"{title}, by {heads[2]}", [*heads[:2], "value", *heads[3:]]
        print_lines(console, title, heads, lines, [_pair(names, each) for each in configs])
    if same:
        pairs = [f"{clean(name)}={_show(rows[0], name)}" for name in same]
        print_words(console, ["the same in all:", *pairs])


def clean(text: str) -> str:
    """A user's text on one line."""
    return strip_controls(text).replace("\n", " ")


def _split_parameters(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """The parameters whose values differ between the rows, and those whose values do not."""
    names = list(dict.fromkeys(name for row in rows for name in row.config))
    if len(rows) < 2:
        return names, []
    kept = {name: {_identify(row.config, name) for row in rows} for name in names}
    return [n for n in names if len(kept[n]) > 1], [n for n in names if len(kept[n]) == 1]


def _identify(config: Any, name: str) -> tuple[bool, str, str]:
    value = config.get(name)
    return name in config, type(value).__name__, repr(value)


def _make_columns(rows: Sequence[Row], metric: str) -> tuple[Cells, list[Cells]]:
    """The columns that rank: their heads and their cells."""
    lines = [
        [
            str(row.rank),
            str(row.trial),
            format_value(row.value, 6, missing="-"),
            "-" if row.resource is None else f"{row.resource:g}",
            row.state,
        ]
        for row in rows
    ]
    return ["#", "trial", metric, "at", "state"], lines


def _show(row: Row, name: str) -> str:
    value = row.config.get(name)
    if value is None:
        return "None" if name in row.config else ""
    return clean(format_value(value) if isinstance(value, float) else str(value))


def _pair(names: Sequence[str], cells: Sequence[str]) -> Cells:
    """The parameters of a trial, ``name=value`` each; inactive ones are left out."""
    return [f"{name}={cell}" for name, cell in zip(names, cells, strict=True) if cell]
