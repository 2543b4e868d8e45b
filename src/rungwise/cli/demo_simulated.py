"""``rungwise demo --simulated``: what PASHA saves, on generated curves, in seconds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as Grid

from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table
from rungwise.cli.console import grid, out, progress
from rungwise.core.scheduler import Recipe
from rungwise.schedulers import ASHA, PASHA, FixedResource
from rungwise.simulation import SimulationResult, simulate


@dataclass(frozen=True)
class Line:
    """One scheduler, averaged over seeds."""

    scheduler: str
    error: float
    error_spread: float
    epochs: float
    hours: float
    furthest: float


def compare(
    *,
    trials: int = 256,
    epochs: int = 200,
    workers: int = 4,
    noise: float = 0.01,
    runs: int = 5,
    seed: int = 0,
    as_json: bool = False,
) -> None:
    """PASHA, ASHA and the one-epoch baseline side by side on generated noisy curves.

    Nothing is trained: the curves are power laws with noise, played in virtual time.

    Args:
        trials: how many configurations.
        epochs: the most epochs for one.
        workers: number of configurations trained at the same time.
        noise: the noise of a measurement.
        runs: how many repetitions are averaged.
        seed: of the first; the others count on from it.
        as_json: whether the figures are printed as JSON.
    """
    recipes: dict[str, Recipe] = {
        "PASHA": PASHA(max_resource=epochs),
        "ASHA": ASHA(max_resource=epochs),
        "one epoch": FixedResource(1),
    }
    seeds = range(seed, seed + runs)
    tables = [power_laws(trials, epochs, seed=s, noise=noise) for s in seeds]
    results: dict[str, list[SimulationResult]] = {name: [] for name in recipes}
    with progress("simulating") as advance:
        for table, own in zip(tables, seeds, strict=True):
            for name, recipe in recipes.items():
                result = simulate(table, recipe, trials=trials, workers=workers, seed=own)
                results[name].append(result)
                advance(sum(map(len, results.values())), runs * len(recipes))
    lines = [_line(name, tables, found) for name, found in results.items()]
    if as_json:
        typer.echo(json.dumps([asdict(line) for line in lines]))
        return
    console = out()
    title = f"{trials} configurations, up to {epochs} epochs, mean of {runs} runs"
    console.print(_table(lines, console, title))
    console.print(_saved(lines))
    console.print(f"\nIn the first repetition: {results['PASHA'][0].why}")


def _line(name: str, tables: list[Table], results: list[SimulationResult]) -> Line:
    errors = [
        float(table.values[result.best.row, -1])
        for table, result in zip(tables, results, strict=True)
        if result.best is not None
    ]
    return Line(
        scheduler=name,
        error=float(np.mean(errors)),
        error_spread=float(np.std(errors)),
        epochs=float(np.mean([result.resource_spent for result in results])),
        hours=float(np.mean([result.seconds for result in results])) / 3600,
        furthest=float(np.mean([result.max_resource for result in results])),
    )


def _table(lines: list[Line], console: Console, title: str) -> Grid:
    shown = grid(console, title)
    shown.add_column("scheduler")
    for column in ("winner's error, fully trained", "epochs trained", "virtual time", "furthest"):
        shown.add_column(column, justify="right")
    for line in lines:
        shown.add_row(
            line.scheduler,
            f"{line.error:.4f} ± {line.error_spread:.4f}",
            f"{line.epochs:.0f}",
            f"{line.hours:.2f} h",
            f"{line.furthest:.0f}",
        )
    return shown


def _saved(lines: list[Line]) -> str:
    pasha, asha, one = lines
    return (
        f"PASHA trained {asha.epochs / pasha.epochs:.1f}× fewer epochs than ASHA and finished "
        f"{asha.hours / pasha.hours:.1f}× faster, with a winner whose error is "
        f"{pasha.error:.4f} against {asha.error:.4f} (one epoch each: {one.error:.4f})."
    )
