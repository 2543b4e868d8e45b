"""From one simulated study to an outcome, and from outcomes to a row of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.errors import TableError
from rungwise.lab.reproduction.results import Figure, Outcome
from rungwise.options.checks import guess_goal
from rungwise.simulation import SimulationResult
from rungwise.validation import Goal, find_sign, parse_goal

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FinalMetric:
    """How the final values of a benchmark are reported.

    Attributes:
        metric: what they are.
        goal: whether larger or smaller ones are better; it need not be the goal of the study (a
            study may minimise cross-entropy and report accuracy).
        percent: whether they are shares, reported in percent.
        turned: whether they are recorded as errors and reported as accuracies, as in the paper.
    """

    metric: str
    goal: Goal
    percent: bool
    turned: bool


def choose_final_metric(card: Card) -> FinalMetric:
    """How the final values of a benchmark are reported, from its card.

    ``details["final_goal"]`` says which direction is better; without it the name of the metric
    decides, and if the name is not known, the goal of the study.
    """
    metric = card.final_metric or card.metric or "final value"
    words = re.findall(r"[a-z]+", metric.lower())
    given = card.details.get("final_goal") or guess_goal("_".join(words)) or card.goal
    goal = parse_goal(given)
    if goal == "min" and "error" in words:
        accuracy = re.sub(r"error(?:[ _]rate)?", "accuracy", metric, flags=re.IGNORECASE)
        return FinalMetric(accuracy, "max", percent=True, turned=True)
    return FinalMetric(metric, goal, percent=goal == "max" and "accuracy" in words, turned=False)


class Finals:
    """The final value of each row of a benchmark after full training, for one training seed.

    A row whose full training diverged or is unknown counts as the worst final value that any row
    of the table has: never better than one that did train, and never left out.

    Args:
        benchmark: whose rows.
        table_seed: which training seed, from 0 on.
    """

    def __init__(self, benchmark: Benchmark, table_seed: int) -> None:
        self.report = choose_final_metric(benchmark.card)
        values = np.array(benchmark.final(table_seed), dtype=np.float64)
        self.trained = np.isfinite(values)
        if not self.trained.any():
            rule = f"at least one must be finite (seed {table_seed})"
            raise TableError(f"final values of {benchmark.name}", values[0], rule)
        if self.report.turned:
            values = 1.0 - values
        self.sign = find_sign(self.report.goal)
        known = values[self.trained]
        self.worst = float(known.max() if self.report.goal == "min" else known.min())
        self.values: Floats = np.where(self.trained, values, self.worst)

    def evaluate(self, row: int, sample: Sequence[int]) -> tuple[float, float, float]:
        """(final value, share of the sample that ends better, normalised regret) of a row.

        A row of -1 (no configuration was found) counts as the worst of the table.
        """
        losses = self.sign * self.values[np.asarray(sample)]
        final = self.worst if row < 0 else float(self.values[row])
        loss = self.sign * final
        share = float(np.mean(losses < loss))
        best, median = float(losses.min()), float(np.median(losses))
        if loss == best:
            return final, share, 0.0
        return final, share, (loss - best) / (median - best) if median > best else math.nan


def everything(benchmark: Benchmark) -> Figure:
    """The final value of a configuration drawn at random, over all rows and training seeds."""
    values = np.concatenate([Finals(benchmark, s).values for s in range(benchmark.seeds)])
    return Figure(float(values.mean()), float(values.std()))


def make_outcome(
    result: SimulationResult,
    finals: Finals,
    *,
    sample: Sequence[int],
    labels: tuple[str, str, str, int, int],
) -> Outcome:
    """The outcome of a simulated study.

    Args:
        result: the study.
        finals: the final values of its rows.
        sample: the rows drawn at random with its seed.
        labels: benchmark, method, protocol, table seed and scheduler seed.
    """
    row = -1 if result.best is None else result.best.row
    final, share, regret = finals.evaluate(row, sample)
    benchmark, method, protocol, table_seed, seed = labels
    return Outcome(
        benchmark=benchmark,
        method=method,
        protocol=protocol,
        table_seed=table_seed,
        seed=seed,
        row=row,
        final=final,
        trained=row >= 0 and bool(finals.trained[row]),
        seconds=result.seconds,
        max_resource=result.max_resource,
        spent=result.resource_spent,
        better_share=share,
        regret=regret,
        leads=tuple((spent, float(finals.values[led])) for spent, led in result.leads),
    )


def figure(values: Iterable[float]) -> Figure:
    """Mean and population standard deviation of the values that are not NaN; NaN if none is."""
    known = np.array([value for value in values if not math.isnan(value)])
    if not known.size:
        return Figure(math.nan, math.nan)
    return Figure(float(known.mean()), float(known.std()))
