"""The second part of ``rungwise demo``: PASHA against ASHA on recorded architectures."""

from __future__ import annotations

from typing import Any

from rungwise.benchmarks import catalog
from rungwise.cli.console import grid, out, progress
from rungwise.formatting import format_runtime
from rungwise.lab.reproduction import Settings, reproduce
from rungwise.lab.reproduction.outcomes import everything
from rungwise.lab.reproduction.results import Section

TABLE, EXPERIMENT, PROTOCOL = "fashion-nas", "table1", "ours"
CHANCE = "random"
"""The method that trains nothing."""


def compared(*, talk: bool) -> Section:
    """The methods of the paper's first table on the table that comes with the package."""
    settings = Settings((EXPERIMENT,), protocols=(PROTOCOL,))
    with progress("simulating") as advance:
        found = reproduce(
            (EXPERIMENT,), (TABLE,), settings=settings, progress=advance if talk else None
        )
    return found.sections[0]


def figures(section: Section) -> dict[str, Any]:
    """What is shown, as plain JSON values; "random" is the mean of all architectures, as there."""
    chance = everything(catalog.load(TABLE)).mean
    return {
        row.method: {
            "test_accuracy": chance if row.method == CHANCE else row.final.mean,
            "seconds": row.seconds.mean,
            "epochs": row.spent.mean,
            "furthest": row.max_resource.mean,
            "runs": row.n,
        }
        for row in section.rows
    }


def print_section(section: Section) -> None:
    """A small table, and what PASHA saved."""
    console = out()
    runs = section.rows[0].n
    shown = grid(console, f"Recorded architectures ({TABLE}): 256 drawn, mean of {runs} runs")
    shown.add_column("scheduler")
    for column in ("test accuracy, fully trained", "time on 4 cores", "epochs", "furthest"):
        shown.add_column(column, justify="right")
    for row in section.rows:
        if row.method == CHANCE:  # a few draws say little about chance; the row below has them all
            continue
        shown.add_row(
            row.label,
            f"{row.final.mean:.2%} ± {100 * row.final.std:.2f}",
            format_runtime(row.seconds.mean),
            f"{row.spent.mean:,.0f}",
            f"{row.max_resource.mean:.0f}",
        )
    chance = everything(catalog.load(TABLE))
    shown.add_row("one at random", f"{chance.mean:.2%} ± {100 * chance.std:.2f}", "0.0 s", "0", "0")
    console.print()
    console.print(shown)
    console.print(_saved(section), soft_wrap=True)


def _saved(section: Section) -> str:
    rows = {row.method: row for row in section.rows}
    asha, pasha = rows["asha"], rows["pasha"]
    saved = asha.seconds.mean - pasha.seconds.mean
    verb = (
        f"saved {format_runtime(saved)} of"
        if saved >= 0
        else f"took {format_runtime(-saved)} more than"
    )
    return (
        f"PASHA {verb} ASHA's {format_runtime(asha.seconds.mean)}, "
        f"{_points(section)}. `rungwise reproduce` runs the paper's whole evaluation."
    )


def _points(section: Section) -> str:
    rows = {row.method: row for row in section.rows}
    by = 100 * (rows["pasha"].final.mean - rows["asha"].final.mean)
    if abs(by) < 0.005:
        return "and its architectures are as good"
    if by > 0:
        return f"and its architectures are {by:.2f} points better on average"
    lost = any(rival.method == "asha" for rival in section.ahead)
    sure = "more than" if lost else "within"
    return f"and its architectures are {-by:.2f} points worse, {sure} a standard error"
