"""``rungwise simulate``: run a study on a table of learning curves in a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.benchmarks.table import Table
from rungwise.cli.console import grid, out, progress
from rungwise.cli.options import name_flag, with_options
from rungwise.errors import InvalidArgumentError
from rungwise.formatting import format_value
from rungwise.options import list_options
from rungwise.options.build import name_arguments
from rungwise.options.scheduler_options import choose_scheduler
from rungwise.options.study_options import LadderOptions, RunOptions, SearchOptions, StopOptions
from rungwise.simulation import SimulationResult
from rungwise.simulation import simulate as run

File = Annotated[Path, typer.Argument(help="An .npz file with one row per configuration.")]
Trials = Annotated[
    int | None,
    typer.Option(help="Number of rows that are drawn; 256 by default, or all if there are fewer."),
]
Workers = Annotated[int, typer.Option(help="Number of configurations trained at the same time.")]
Seed = Annotated[int, typer.Option(help="The same seed draws the same rows.")]
Goal = Annotated[str | None, typer.Option(help="min or max; overrides the goal in the file.")]
Key = Annotated[str, typer.Option(help="Name of the array in the file.")]
Index = Annotated[
    int | None, typer.Option(help="Index of the table, from 0, if the array holds several.")
]
Columns = Annotated[
    str | None,
    typer.Option(metavar="START:STOP", help="Columns with the resources 1, 2, …, as START:STOP."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

_GROUPS = (SearchOptions, LadderOptions, StopOptions, RunOptions)
_OPTIONS = {each.name: each for each in list_options(*_GROUPS)}
_MAXIMUM = replace(
    _OPTIONS["max_resource"], text="training of the last rung (R); the table's end by default."
)
_OF_SCHEDULER = (_OPTIONS["scheduler"], _MAXIMUM, *list_options(LadderOptions))


@with_options((*_OF_SCHEDULER, _OPTIONS["finish"], _OPTIONS["winner"]))
def simulate(
    file: File,
    given: dict[str, Any],
    trials: Trials = None,
    workers: Workers = 4,
    seed: Seed = 0,
    goal: Goal = None,
    key: Key = "values",
    index: Index = None,
    columns: Columns = None,
    as_json: AsJson = False,
) -> None:
    """Run a study on a table of learning curves, in virtual time.

    The same arguments always give the same result. The file comes from rungwise.Table.save or
    from NumPy: an array of the metric after 1, 2, … units of training.
    """
    # Words are checked where they are used; their types are those of the library.
    wanted: Any = goal
    finish, winner = given.pop("finish", "drain"), given.pop("winner", None)
    scheduler, maximum = given.pop("scheduler", None), given.pop("max_resource", None)
    with name_arguments(name_flag), progress("simulating") as advance:
        table = Table.load(file, key=key, index=index, columns=_slice(columns), goal=wanted)
        recipe, _ = choose_scheduler(scheduler, given, maximum)
        result = run(
            table,
            recipe,
            trials=min(256, table.rows) if trials is None else trials,
            workers=workers,
            seed=seed,
            finish=finish,
            winner=winner,
            on_progress=advance,
        )
    if as_json:
        typer.echo(json.dumps(result.to_json()))
    else:
        _show(result, table, scheduler or type(recipe).__name__)


def _slice(text: str | None) -> slice | None:
    if text is None:
        return None
    start, colon, stop = text.partition(":")
    try:
        if colon:
            return slice(int(start) if start else None, int(stop) if stop else None)
    except ValueError:
        pass
    raise InvalidArgumentError("--columns", text, "it must be START:STOP")


def _show(result: SimulationResult, table: Table, scheduler: str) -> None:
    console = out()
    shown = grid(console, f"{scheduler} on {table.rows} curves of {table.resources}")
    shown.show_header = False
    if result.best is not None:
        best = result.best
        value = format_value(best.value, 6)
        shown.add_row(
            "best", f"row {best.row}: {value} at resource {best.resource} (trial {best.trial})"
        )
    shown.add_row("configurations", str(len(result.rows)))
    shown.add_row("resource spent", str(result.resource_spent))
    shown.add_row("furthest", str(result.max_resource))
    shown.add_row("virtual seconds", format_value(result.seconds, 6))
    steps = ", ".join(f"{level} after {reports} reports" for reports, level in result.ceilings)
    shown.add_row("ceiling", steps)
    if result.epsilons:
        shown.add_row("last ε", format_value(result.epsilons[-1][1], 6))
    console.print(shown)
    console.print(f"{result.why} {result.numbers}")
    console.print(result.rule)
