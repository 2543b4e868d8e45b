"""The reproduction on a terminal."""

from __future__ import annotations

from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rungwise.lab.reproduction import summary
from rungwise.lab.reproduction.experiments import EXPERIMENTS
from rungwise.lab.reproduction.results import Reproduction
from rungwise.lab.reproduction.tables import Grid, grids


def show(reproduction: Reproduction, console: Console) -> None:
    """Print every table with its findings; the summary comes last, where it is visible."""
    for name, group in groupby(grids(reproduction.sections), key=lambda pair: pair[0].experiment):
        experiment = EXPERIMENTS[name]
        where = f" ({experiment.whereabouts})" if experiment.whereabouts else ""
        console.print(Text(f"\n{experiment.title}{where}", style="bold"))
        for _, grid in group:
            console.print(_table(grid, ascii_only=not console.is_terminal))
            for sentence in (*grid.notes, *grid.losses):
                console.print(Text(f"- {sentence}"))
    remarks = [(name, text) for name, texts in reproduction.remarks.items() for text in texts]
    if remarks:
        console.print(Text("\nAbout the benchmarks", style="bold"))
        for remark in dict.fromkeys(text for _, text in remarks):
            names = [name for name, text in remarks if text == remark]
            several = f"{', '.join(names[:3])} and {len(names) - 3} more"
            console.print(Text(f"- {', '.join(names) if len(names) < 5 else several}: {remark}"))
    for sentence in reproduction.left_out:
        console.print(Text(f"- {sentence}"))
    if len(grids(reproduction.sections)) > 1:
        _in_short(reproduction, console)


def _in_short(reproduction: Reproduction, console: Console) -> None:
    head, lines = summary.table(reproduction)
    against = summary.against(reproduction)
    if lines:
        short = Grid("In short", head, tuple(lines))
        console.print()
        console.print(_table(short, ascii_only=not console.is_terminal))
    if against:
        console.print(Text(f"\n{summary.AGAINST}"))
        for sentence in against:
            console.print(Text(f"- {sentence}"))


def _table(grid: Grid, *, ascii_only: bool) -> Table:
    shown = Table(title=Text(grid.title), box=box.ASCII if ascii_only else box.HEAVY_HEAD)
    for number, heading in enumerate(grid.head):
        shown.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
    for line in grid.lines:
        shown.add_row(*(Text(cell) for cell in line))
    return shown
