"""``rungwise simulate``: a study on a table of learning curves in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from rungwise.benchmarks.table import Table
from rungwise.cli import choices
from rungwise.cli.console import out, progress
from rungwise.core.limits import Finish
from rungwise.errors import InvalidArgumentError
from rungwise.simulation import SimulationResult
from rungwise.simulation import simulate as run


def simulate(
    file: Annotated[
        Path,
        typer.Argument(
            help="An .npz file: one row a configuration, one column a unit of training."
        ),
    ],
    scheduler: Annotated[
        str, typer.Option(help=f"One of {', '.join(choices.SCHEDULERS)}.", show_default=True)
    ] = "pasha",
    ranking: Annotated[
        str | None,
        typer.Option(
            help="PASHA's criterion, NAME or NAME:numbers: "
            f"{', '.join(choices.RANKINGS)}; for example noise:90, soft:0.02, rbo:0.5,0.5."
        ),
    ] = None,
    min_resource: Annotated[int | None, typer.Option(help="r, where the ladder begins.")] = None,
    max_resource: Annotated[
        int | None, typer.Option(help="R, where it ends; the table's end by default.")
    ] = None,
    eta: Annotated[int | None, typer.Option(help="η: one in η goes on.")] = None,
    promote: Annotated[str | None, typer.Option(help="floor or quantile.")] = None,
    check: Annotated[str | None, typer.Option(help="rung or report.")] = None,
    variant: Annotated[str | None, typer.Option(help="promotion or stopping.")] = None,
    trials: Annotated[int | None, typer.Option(help="How many rows are drawn; 256 or all.")] = None,
    workers: Annotated[int, typer.Option(help="How many train at a time.")] = 4,
    seed: Annotated[int, typer.Option(help="Which rows are drawn.")] = 0,
    finish: Annotated[str, typer.Option(help="drain or paper.")] = "drain",
    goal: Annotated[str | None, typer.Option(help="min or max; overrides the file.")] = None,
    key: Annotated[str, typer.Option(help="The name of the array in the file.")] = "values",
    index: Annotated[
        int | None, typer.Option(help="Which table, if the array holds several.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Which columns are resources 1, 2, …, as START:STOP.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a study on tabulated learning curves, in virtual time.

    The same arguments always give the same result. The file is written by
    [bold]rungwise.Table.save[/bold], or by NumPy: an array of the metric after 1, 2, … units of
    training, one row a configuration.
    """
    table = Table.load(
        file,
        key=key,
        index=index,
        columns=_slice(columns),
        goal=goal,  # type: ignore[arg-type]  # checked by the table
    )
    recipe = choices.scheduler(
        scheduler,
        min_resource=min_resource,
        max_resource=max_resource,
        eta=eta,
        ranking=None if ranking is None else choices.ranking(ranking),
        promote=promote,
        check=check,
        variant=variant,
    )
    number = min(256, table.rows) if trials is None else trials
    ending: Finish = finish  # type: ignore[assignment]  # checked by simulate
    with progress("simulating") as tell:
        result = run(
            table,
            recipe,
            trials=number,
            workers=workers,
            seed=seed,
            finish=ending,
            on_progress=tell,
        )
    if as_json:
        typer.echo(json.dumps(result.to_json(), ensure_ascii=False))
    else:
        _show(result, table, scheduler)


def _slice(text: str | None) -> slice | None:
    if text is None:
        return None
    start, _, stop = text.partition(":")
    try:
        return slice(int(start) if start else None, int(stop) if stop else None)
    except ValueError:
        raise InvalidArgumentError("--columns", text, "it must be START:STOP") from None


def _show(result: SimulationResult, table: Table, scheduler: str) -> None:
    console = out()
    grid = Grid(title=f"{scheduler} on {table.rows} curves of {table.resources}", show_header=False)
    if result.best is not None:
        best = f"row {result.best.row}: {result.best.value:.6g} at resource {result.best.resource}"
        grid.add_row("best", best)
    grid.add_row("configurations", str(len(result.rows)))
    grid.add_row("resource spent", str(result.resource_spent))
    grid.add_row("furthest", str(result.max_resource))
    grid.add_row("virtual seconds", f"{result.seconds:.6g}")
    steps = " → ".join(f"{level} (after {reports})" for reports, level in result.ceilings)
    grid.add_row("ceiling (reports)", steps)
    if result.epsilons:
        grid.add_row("last ε", f"{result.epsilons[-1][1]:.6g}")
    console.print(grid)
    console.print(result.why)
