"""Simulate the studies of one sample of one table: ASHA's line, every method, wrong guesses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.table import Table
from rungwise.lab.frontier.methods import GUESSES, METHODS, REFERENCE, SHARE, SIZES, Maker
from rungwise.lab.frontier.results import WORST, Run, Settings, Study
from rungwise.lab.reproduction.outcomes import Finals
from rungwise.schedulers import FixedResource
from rungwise.simulation import SimulationResult, simulate
from rungwise.validation import find_sign


@dataclass(frozen=True, slots=True)
class Task:
    """One sample of one table.

    Attributes:
        benchmark: the name of the benchmark.
        table_seed: which training seed.
        seed: which sample.
    """

    benchmark: str
    table_seed: int
    seed: int


class Judge:
    """The regret of a choice from a sample.

    Args:
        losses: what each row of the table comes to, the smaller the better, all finite.
        sample: the rows drawn.
    """

    def __init__(self, losses: NDArray[np.float64], sample: Sequence[int]) -> None:
        drawn = losses[np.asarray(sample)]
        self._losses = losses
        self._best = float(drawn.min())
        self._scale = float(np.median(drawn)) - self._best

    def regret(self, row: int) -> float:
        """The regret of a row; -1 (nothing was found) counts as the worst."""
        if row < 0:
            return WORST
        behind = float(self._losses[row]) - self._best
        if behind <= 0:
            return 0.0
        return min(WORST, behind / self._scale) if self._scale > 0 else WORST


class Tables:
    """A benchmark's table for one training seed, and the same with curves that go on level.

    Args:
        benchmark: whose curves.
        table_seed: which training seed.
    """

    def __init__(self, benchmark: Benchmark, table_seed: int) -> None:
        self.plain = benchmark.table(table_seed)
        finals = Finals(benchmark, table_seed)
        self.losses = finals.sign * finals.values
        self._longer: Table | None = None

    @property
    def longer(self) -> Table:
        """4 times as long: training beyond the end brings nothing, and costs as much."""
        if self._longer is None:
            table = self.plain
            more = (SHARE - 1) * table.resources
            times = table.seconds
            if times.ndim == 2:
                times = np.concatenate([times, np.repeat(times[:, -1:], more, axis=1)], axis=1)
            values = np.concatenate(
                [table.values, np.repeat(table.values[:, -1:], more, axis=1)], axis=1
            )
            self._longer = Table(values, times, table.goal)
        return self._longer


def choose_sizes(configs: int) -> tuple[int, ...]:
    """With how many trials ASHA is run."""
    return (*(size for size in SIZES if size < configs), configs)


def draw_sample(table: Table, configs: int, seed: int) -> list[int]:
    """The rows that a seed draws, as :func:`rungwise.simulate` does, each at most once."""
    number = min(configs, table.rows)
    return simulate(table, FixedResource(1), trials=number, seed=seed).rows


def find_top(result: SimulationResult, table: Table) -> int:
    """The best row of those that were trained furthest, by its value there; -1 if there is none."""
    furthest: dict[int, int] = {}
    for row, _, until in result.jobs:
        furthest[row] = max(furthest.get(row, 0), until)
    sign = find_sign(table.goal)
    found = []
    for row, level in furthest.items():
        value = float(table.values[row, level - 1])
        if math.isfinite(value):
            found.append((-level, sign * value, row))
    return min(found)[2] if found else -1


def simulate_task(task: Task, tables: Tables, settings: Settings) -> Run:
    """All studies of a task."""
    table = tables.plain
    most = table.resources
    sample = draw_sample(table, settings.configs, task.seed)
    judge = Judge(tables.losses, sample)

    def play(make: Maker, most: int, number: int) -> Study:
        curves = table if most <= table.resources else tables.longer
        result = simulate(curves, make(most), trials=sample[:number], workers=settings.workers)
        row = -1 if result.best is None else result.best.row
        top = judge.regret(find_top(result, curves))
        return Study(result.resource_spent, judge.regret(row), top)

    # A table with few rows has no more of them to draw.
    numbers = [min(size, len(sample)) for size in choose_sizes(settings.configs)]
    line = {number: play(REFERENCE.make, most, number) for number in dict.fromkeys(numbers)}
    studies = {
        name: line[len(sample)]
        if METHODS[name] is REFERENCE
        else play(METHODS[name].make, most, len(sample))
        for name in settings.methods
    }
    guesses = {
        guess.name: play(
            guess.make, max(1, most * guess.numerator // guess.denominator), len(sample)
        )
        for guess in GUESSES
    }
    return Run(
        task.benchmark,
        task.table_seed,
        task.seed,
        tuple(line[number] for number in numbers),
        studies,
        guesses,
    )
