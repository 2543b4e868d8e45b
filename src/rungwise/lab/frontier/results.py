"""What a comparison at equal resource comes to: runs, groups, scores; plain frozen data.

The regret of a run is (best − chosen) / (best − median) of the final values of all configurations
in its sample, at most 3: 0 is the best of the sample, 1 its median. The gap of a method is its
regret minus that of ASHA with as many trials as the same resource pays for, in the same run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORST = 3.0
"""The highest regret that counts: a single diverged choice must not decide a mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How it was run. The number of processes is no part of it: it does not change the result.

    Attributes:
        methods: their names; all by default.
        benchmarks: the benchmarks that were named; empty for all installed ones.
        curves: a folder of ``.npz`` files with learning curves, beside the installed benchmarks.
        seeds: how many samples of configurations for each training seed of a table.
        configs: how many configurations a study draws.
        workers: how many of them are trained at the same time.
    """

    methods: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    curves: str = ""
    seeds: int = 5
    configs: int = 256
    workers: int = 4


@dataclass(frozen=True, slots=True)
class Study:
    """One simulated study.

    Attributes:
        spent: all training together.
        regret: of its choice, by the rule that suits its scheduler.
        top: the regret if it chose the best of those that were trained furthest, at that level.
    """

    spent: float
    regret: float
    top: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """All studies on one sample of one table.

    Attributes:
        benchmark: the name of the benchmark.
        table_seed: which training seed of the table.
        seed: which sample.
        line: ASHA with more and more trials.
        studies: the methods, by name.
        guesses: methods whose maximum was guessed 4 times too low or too high, by name.
    """

    benchmark: str
    table_seed: int
    seed: int
    line: tuple[Study, ...]
    studies: Mapping[str, Study]
    guesses: Mapping[str, Study]


@dataclass(frozen=True, slots=True)
class Score:
    """A method on a group of tables, or on all groups.

    Attributes:
        method: the name of the method.
        saving: ASHA's resource with all trials / the method's; the geometric mean over tables.
        regret: the mean regret.
        gap: the mean gap; below 0 it is better than ASHA at equal resource.
        error: the standard error of the gap, paired over seeds; NaN with one seed.
        top: the mean regret if the winner is the best of those that were trained furthest.
        top_gap: the mean gap if that is so for ASHA as well.
    """

    method: str
    saving: float
    regret: float
    gap: float
    error: float
    top: float
    top_gap: float


@dataclass(frozen=True, slots=True)
class Group:
    """Tables that are counted as one: the data sets of one public benchmark.

    Attributes:
        name: what its tables have in common.
        benchmarks: the names of the tables.
        scores: the methods, in the order of the report.
        line: (share of the resource of ASHA with all trials, mean regret) for each number of
            trials.
    """

    name: str
    benchmarks: tuple[str, ...]
    scores: tuple[Score, ...]
    line: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Frontier:
    """The whole comparison.

    Attributes:
        settings: how it was run.
        sizes: with how many trials ASHA was run.
        groups: group by group.
        scores: over all groups, each counting the same.
        worst: the name of the group with the largest gap, by method.
        line: ASHA's line over all groups.
        guesses: the methods whose maximum was guessed 4 times too low or too high, over all groups.
        runs: every run, in a fixed order.
    """

    settings: Settings
    sizes: tuple[int, ...]
    groups: tuple[Group, ...]
    scores: tuple[Score, ...]
    worst: Mapping[str, str]
    line: tuple[tuple[float, float], ...]
    guesses: tuple[Score, ...]
    runs: Sequence[Run]
