"""The result of a reproduction: runs, rows of tables, sections.

Everything here is plain frozen data: the terminal, Markdown, CSV and HTML are made from it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rungwise.benchmarks.card import Card
from rungwise.validation import Goal


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean and a population standard deviation (ddof = 0), as the paper's tables have them.

    Why ddof = 0: with five seeds PASHA's maximum resource on PD1-WMT can only be four times 27 and
    once 81, and the paper gives 37.8 ± 21.6; the sample standard deviation would be 24.1.
    """

    mean: float
    std: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one simulated study.

    Attributes:
        benchmark: the name of the benchmark.
        method: the name of the method.
        protocol: ``"paper"`` or ``"ours"``.
        table_seed: which training seed of the table.
        seed: which scheduler seed, that is, which sample of configurations.
        row: the row chosen; -1 if no value in the study was finite.
        final: the final value of the chosen row after full training, in the benchmark's units.
        trained: False if the full training of the chosen row has no finite value, so that
            ``final`` is the worst value of the table instead.
        seconds: how long the study took.
        max_resource: how far the furthest configuration was trained.
        spent: the resource trained in total.
        better_share: the share of the sampled configurations that end better than the chosen one;
            the sample is the one drawn at random, even if a searcher drew others.
        regret: (best − chosen) / (best − median) of the sample's final values: 0 is the best of
            the sample, 1 the median, below 0 is better than the whole sample; NaN if best and
            median are equal and chosen is not.
        leads: [(the resource spent by then, the final value of the row), …] whenever another row
            became the choice; empty if that was not recorded.
    """

    benchmark: str
    method: str
    protocol: str
    table_seed: int
    seed: int
    row: int
    final: float
    trained: bool
    seconds: float
    max_resource: int
    spent: int
    better_share: float
    regret: float
    leads: tuple[tuple[int, float], ...] = ()

    def within(self, spent: int) -> Outcome:
        """The outcome if the study had ended at this resource spent; only the choice differs."""
        known = [final for by, final in self.leads if by <= spent]
        return replace(self, final=known[-1]) if known else self


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A line of a table of the paper.

    Attributes:
        table: the label of the table in the paper's source.
        number: the number of the table in the paper.
        dataset: the data set as the paper writes it.
        method: the name of the method here.
        label: the approach as the paper writes it.
        accuracy: in percent.
        hours: the runtime; None if the table has none (LCBench).
        speedup: against ASHA; None if the paper has N/A.
        max_resource: None if the table has none (LCBench).
    """

    table: str
    number: int
    dataset: str
    method: str
    label: str
    accuracy: Figure
    hours: Figure | None = None
    speedup: float | None = None
    max_resource: Figure | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one benchmark under one protocol, over all its runs.

    Attributes:
        method: the name of the method.
        label: the method as the paper writes it.
        n: how many runs.
        final: the final value of the configuration found, in the benchmark's own units
            (accuracies are fractions).
        seconds: the runtime.
        speedup: mean runtime of the ASHA it is compared with / mean runtime; None if this took no
            time.
        max_resource: how far the furthest configuration was trained.
        spent: the resource trained in total.
        better_share: the share of sampled configurations that would have been better in the end.
        regret: see :class:`Outcome`; over the runs that have one, NaN if none has.
        untrained: how many of the runs chose a configuration without a finite final value.
        paper: the paper's figures for the same; None if there are none.
    """

    method: str
    label: str
    n: int
    final: Figure
    seconds: Figure
    speedup: float | None
    max_resource: Figure
    spent: Figure
    better_share: Figure
    regret: Figure
    untrained: int = 0
    paper: PaperRow | None = None


@dataclass(frozen=True, slots=True)
class Rival:
    """A method compared with PASHA: one that is as good in less time, or an ASHA that ends better.

    Attributes:
        method: the name of the method.
        label: the method as the paper writes it.
        gain: how much better its final value is on average over the same seeds; may be below 0.
        error: the standard error of the gain; NaN with a single run.
        time_share: its mean runtime / PASHA's; infinite if PASHA took no time.
    """

    method: str
    label: str
    gain: float
    error: float
    time_share: float


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment on one benchmark under one protocol: a table and its findings.

    Attributes:
        experiment: the name of the experiment.
        title: what it is about.
        benchmark: the name of the benchmark.
        protocol: ``"paper"`` or ``"ours"``.
        final_metric: what the column of final values shows.
        final_goal: whether final values are better when larger or smaller.
        percent: whether final values are shown in percent.
        rows: the methods, in the paper's order.
        notes: what the figures show, one sentence each.
        rivals: the methods that are as good as PASHA in less time, in the order of the rows.
        ahead: every ASHA that ends better than its PASHA by more than a standard error.
        losses: where PASHA is not the best choice, one sentence each; they are computed from the
            same figures, so that the reader need not search for them.
        part: why the paper's figures cannot be compared with these; empty if they can.
    """

    experiment: str
    title: str
    benchmark: str
    protocol: str
    final_metric: str
    final_goal: Goal
    percent: bool
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    ahead: tuple[Rival, ...] = ()
    losses: tuple[str, ...] = ()
    part: str = ""

    def row(self, method: str) -> Row | None:
        """The row of a method, if it is in the table."""
        return next((row for row in self.rows if row.method == method), None)


@dataclass(frozen=True, slots=True)
class Settings:
    """How it was run. The number of processes is not part of it: it does not change the result.

    Attributes:
        experiments: their names.
        protocols: the names of the protocols.
        seeds: how many scheduler seeds.
        configs: how many configurations a study draws.
        workers: how many of them are trained at the same time.
        nearest: whether every benchmark is evaluated by the nearest neighbour.
        everywhere: whether experiments that are run by name only use all these protocols too; by
            default they use only the paper's, if it is among them.
        benchmarks: the benchmarks that were named; empty if it was run on all installed ones.
    """

    experiments: tuple[str, ...]
    protocols: tuple[str, ...] = ("paper", "ours")
    seeds: int = 5
    configs: int = 256
    workers: int = 4
    nearest: bool = False
    everywhere: bool = False
    benchmarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of a run of ``rungwise reproduce``.

    Attributes:
        sections: experiment by experiment, benchmark by benchmark, protocol by protocol.
        outcomes: every run once, in a fixed order.
        benchmarks: the cards of the benchmarks it was run on, by name.
        settings: how it was run.
        remarks: what a reader needs to know about each benchmark, sentences by name.
        left_out: what was requested and could not be run, one sentence each.
    """

    sections: tuple[Section, ...]
    outcomes: tuple[Outcome, ...]
    benchmarks: Mapping[str, Card]
    settings: Settings
    remarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
