"""How few trials are enough: searchers × schedulers × numbers of trials, on recorded curves.

    python perf/few_trials.py --out runs.jsonl [--data FOLDER] [--seeds 20] [--searchers tpe,gp]

Every study is simulated with 4 workers. Its winner is the best at the highest rung that it reached.
Its regret is (winner − best) / (median − best) of the whole table after full training, at most 3:
in test accuracy, as `rungwise reproduce` reports it, or with ``--of validation`` in the last value
of the metric that the study saw. A configuration that diverged counts as the worst. The line to
beat is ASHA with 256 random configurations: "×" is how many times less training a study took, and
the number after it by how much its regret is larger, paired over tables and seeds, ± the standard
error.

``--schedulers asha+stall32`` lets a study end by itself, as ``tune(stall=32)`` does.

The four recorded tables are always used. FOLDER may hold LCBench, as
``lcbench/lcbench_val_cross_entropy_curves.npz`` (``val_cross_entropy`` [35, 2000, 52], column e =
after epoch e; ``configs``, ``config_names``) and ``lcbench/lcbench_final.npz``
(``final_test_accuracy`` [35, 2000]). ``--curves`` names a folder of ``.npz`` files in the form that
`rungwise benchmark convert` reads; those whose hyperparameters are numbers are used, each in the
range that its rows span, on the scale on which they are spread most evenly. Runs are appended to
the file and not repeated, so that the command can be stopped and called again with more seeds.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import rungwise as rw
from rungwise import benchmarks
from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import History
from rungwise.lab.frontier.scores import find_groups
from rungwise.lab.frontier.studies import Judge, find_top
from rungwise.lab.reproduction.outcomes import Finals
from rungwise.lab.sources import curve_files
from rungwise.searchers import GP, KDE, TPE, OptunaSearcher, RandomSearcher, Searcher, Sobol
from rungwise.searchers.observations import standings
from rungwise.space import Space

RECORDED = ("fashion-nas", "fashion-hpo", "mlp-hpo", "text-hpo")
LCBENCH = "lcbench"
CURVES = "lcbench/lcbench_val_cross_entropy_curves.npz"
FINAL = "lcbench/lcbench_final.npz"
EPOCHS = 50
STALL = "+stall"
"""``asha+stall32``: ASHA that draws no more once 32 trials in a row have brought nothing."""
BASE = ("asha", "random", 256)
"""What all others are compared with."""


@dataclass(frozen=True, slots=True)
class SameStart(rw.searchers.Searcher):
    """Optuna's TPE after the random draws with which TPE() begins, so that luck is shared."""

    slow: ClassVar[bool] = True

    def propose(
        self, space: Space, history: History, rng: np.random.Generator
    ) -> dict[str, Any] | None:
        """Random until ten trials have reported."""
        began = len(standings(history)) >= TPE().startup
        searcher = OptunaSearcher("tpe") if began else RandomSearcher()
        return searcher.propose(space, history, rng)


SCHEDULERS: dict[str, Any] = {
    "asha": lambda resources: rw.ASHA(max_resource=resources),
    "asha4": lambda resources: rw.ASHA(max_resource=resources, eta=4),
    "pasha": lambda resources: rw.PASHA(max_resource=resources),
    "adaptive": lambda resources: rw.AdaptiveHalving(max_resource=resources),
    "sharp": lambda resources: rw.SharpHalving(max_resource=resources),
    "sharp9": lambda resources: rw.SharpHalving(max_resource=resources, first_cut=9),
}
SEARCHERS: dict[str, Any] = {
    "random": lambda _: None,
    "sobol": lambda seed: Sobol(seed=seed),
    "tpe": lambda _: TPE(),
    "gp": lambda _: GP(),
    "kde": lambda _: KDE(),
    "optuna-tpe": lambda _: OptunaSearcher("tpe"),
    "optuna-tpe-same-start": lambda _: SameStart(),
    "optuna-gp": lambda _: OptunaSearcher("gp"),
}


Key = tuple[str, int, str, str, int, int]
"""(group, data set, scheduler, searcher, trials, seed)"""
Run = tuple[float, int, float]
"""(regret of the test value, resource spent, regret of the last value that was seen)"""
Losses = NDArray[np.float64]
Folders = tuple[str, str]
"""(that of LCBench, that of curves), empty for none"""


def load_lcbench(folder: str) -> Iterator[tuple[rw.Table, Losses]]:
    """The data sets of LCBench, with their search space, and test losses."""
    space = {
        "batch_size": rw.Int(16, 512, log=True),
        "learning_rate": rw.Float(1e-4, 0.1, log=True),
        "max_dropout": rw.Float(0.0, 1.0),
        "max_units": rw.Int(64, 1024, log=True),
        "momentum": rw.Float(0.1, 0.99),
        "num_layers": rw.Int(1, 5),
        "weight_decay": rw.Float(1e-5, 0.1),
    }
    with np.load(Path(folder) / CURVES) as file:
        curves = file["val_cross_entropy"][:, :, 1 : EPOCHS + 1]
        names = [str(name) for name in file["config_names"]]
        rows = file["configs"]
    configs = [
        {
            name: int(value) if isinstance(space[name], rw.Int) else float(value)
            for name, value in zip(names, row, strict=True)
        }
        for row in rows
    ]
    with np.load(Path(folder) / FINAL) as file:
        accuracies = file["final_test_accuracy"].astype(np.float64)
    for values, accuracy in zip(curves, accuracies, strict=True):
        yield rw.Table(values, configs=configs, space=space), -accuracy


def find_curves(folder: str) -> dict[str, list[Path]]:
    """The files of a folder whose hyperparameters are numbers, by group."""
    paths = {path.stem: path for path in sorted(Path(folder).glob("*.npz"))} if folder else {}
    usable = [name for name, path in paths.items() if has_numbers(path)]
    return {group: [paths[one] for one in names] for group, names in find_groups(usable).items()}


def has_numbers(path: Path) -> bool:
    """Whether the hyperparameters in a file are numbers."""
    with np.load(path) as file:
        return "hp" in file and file["hp"].dtype.kind in "iuf"


def load_curves(path: Path) -> tuple[rw.Table, Losses]:
    """The table of a file in the space that its rows span, with test losses."""
    made = curve_files.read(path)
    rows = made.configs or ()
    columns: dict[str, list[float]] = {}
    space: dict[str, rw.Float] = {}
    for name in rows[0]:
        shown, domain, values = find_domain(name, [float(row[name]) for row in rows])
        columns[shown], space[shown] = values, domain
    configs = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    benchmark = benchmarks.Benchmark.from_arrays(
        made.card, values=made.values, seconds=made.seconds, final=made.final
    )
    final = Finals(benchmark, 0)
    table = rw.Table(benchmark.values(), goal=benchmark.goal, configs=configs, space=space)
    return table, final.sign * final.values


def find_domain(name: str, values: list[float]) -> tuple[str, rw.Float, list[float]]:
    """The name, range and values of a hyperparameter as its rows were drawn.

    They were drawn evenly on the scale on which they are spread most evenly: that of the value, of
    its logarithm, or of the logarithm of 1 - value, as is usual for the decay rates of Adam.
    """
    scales = [(name, False, values)]
    if min(values) > 0:
        scales.append((name, True, values))
    if min(values) > 0 and max(values) < 1:
        scales.append((f"1 - {name}", True, [1 - value for value in values]))
    shown, log, values = min(scales, key=lambda scale: find_unevenness(scale[2], log=scale[1]))
    return shown, rw.Float(min(values), max(values), log=log), values


def find_unevenness(values: list[float], *, log: bool) -> float:
    """The largest distance of the distribution of values from an even one (Kolmogorov-Smirnov)."""
    placed = np.sort(np.log(values) if log else np.array(values))
    even = np.linspace(0, 1, len(placed))
    return float(np.abs((placed - placed[0]) / (placed[-1] - placed[0]) - even).max())


@lru_cache(maxsize=1)
def load_group(group: str, folders: Folders) -> list[tuple[rw.Table, Losses]]:
    """The tables of a group, with test losses: trainings with other seeds, or data sets."""
    if group == LCBENCH:
        return list(load_lcbench(folders[0]))
    if group not in RECORDED:
        return [load_curves(path) for path in find_curves(folders[1])[group]]
    benchmark = benchmarks.load(group)
    finals = [Finals(benchmark, seed) for seed in range(benchmark.seeds)]
    return [(benchmark.table(seed), one.sign * one.values) for seed, one in enumerate(finals)]


def find_regret(losses: Losses, winner: int) -> float:
    """How much worse the winner is than the best, in units of the median; diverged is worst."""
    known = losses[np.isfinite(losses)]
    losses = np.where(np.isfinite(losses), losses, known.max())
    return Judge(losses, range(len(losses))).regret(winner)


def simulate(key: Key, folders: Folders) -> tuple[Key, Run]:
    """One study: the regret of its winner, and what it cost."""
    group, number, scheduler, searcher, trials, seed = key
    tables = load_group(group, folders)
    # A recorded table has several trainings of each configuration: another one for each seed.
    table, tested = tables[seed % len(tables) if group in RECORDED else number]
    kind, _, stall = scheduler.partition(STALL)
    recipe: Recipe = SCHEDULERS[kind](table.resources)
    proposer: Searcher | None = SEARCHERS[searcher](seed)
    result = rw.simulate(
        table, recipe, trials=trials, searcher=proposer, seed=seed,
        stall=int(stall) if stall else None,
    )  # fmt: skip
    losses = table.values if table.goal == "min" else -table.values
    losses = np.where(np.isfinite(losses), losses, np.inf)
    winner = find_top(result, table)
    seen = find_regret(losses[:, -1], winner)
    return key, (find_regret(tested, winner), result.resource_spent, seen)


def read_runs(path: Path) -> dict[Key, Run]:
    """The runs of a file."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {tuple(key): tuple(run) for key, run in lines}


def plan(given: argparse.Namespace) -> Iterator[Key]:
    """Every study that was asked for, those of the first seeds first."""
    curves = find_curves(given.curves)
    parts = {group: range(1) for group in RECORDED}
    if given.data:
        parts[LCBENCH] = range(0, 35, given.stride)
    parts |= {group: range(len(paths)) for group, paths in curves.items()}
    counts = [int(count) for count in given.trials.split(",")]
    recipes = [(s, p, n) for s in given.schedulers.split(",") for p in given.searchers.split(",")
               for n in counts]  # fmt: skip
    for seed in range(given.seeds):
        for group, numbers in parts.items():
            # A group of many data sets needs fewer seeds of each.
            for number in numbers:
                if len(numbers) == 1 or seed < max(1, given.seeds // 5):
                    for recipe in dict.fromkeys([BASE, *recipes]):
                        yield (group, number, *recipe, seed)


def summarise(runs: dict[Key, Run], column: int) -> Iterator[str]:
    """A table in Markdown of the regrets in this column of a run."""
    groups = list(dict.fromkeys(key[0] for key in runs))
    found: dict[Any, dict[Any, Run]] = defaultdict(dict)
    for (group, number, *recipe, seed), run in runs.items():
        found[tuple(recipe), group][number, seed] = run
    yield "| × less training than ASHA-256, regret worse by | " + " | ".join(groups) + " | mean |"
    yield "|---|" + "---:|" * (len(groups) + 1)
    yield (
        f"| regret of {' '.join(map(str, BASE))} | "
        + " | ".join(
            f"{np.mean([run[column] for run in found[BASE, group].values()]):.3f}"
            for group in groups
        )
        + " | |"
    )
    recipes = dict.fromkeys(recipe for recipe, _ in found if recipe != BASE)
    for recipe in sorted(recipes, key=lambda one: (one[0], one[1], one[2])):
        pairs = [
            (found[recipe, group], found[BASE, group]) for group in groups if found[recipe, group]
        ]
        savings, gaps = zip(*(compare(*pair, column) for pair in pairs), strict=True)
        cells = [
            f"{saving:.1f}×, {gap.mean():+.2f} ± {find_error(gap):.2f}"
            for saving, gap in zip(savings, gaps, strict=True)
        ]
        mean = np.exp(np.mean(np.log(savings)))
        cells.append(f"{mean:.1f}×, {np.mean([gap.mean() for gap in gaps]):+.2f}")
        yield f"| {' '.join(map(str, recipe))} | " + " | ".join(cells).replace("-0.", "−0.") + " |"


def compare(mine: dict[Any, Run], base: dict[Any, Run], column: int) -> tuple[float, Losses]:
    """How many times less training studies took than those of the base, and the gaps in regret.

    Tables and seeds that both have are compared.
    """
    both = sorted(mine.keys() & base.keys())
    less = sum(base[one][1] for one in both) / sum(mine[one][1] for one in both)
    return less, np.array([mine[one][column] - base[one][column] for one in both])


def find_error(gaps: Losses) -> float:
    """The standard error of a mean."""
    return float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")


def main() -> None:
    """Simulate what is missing, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--data", default="", help="folder with LCBench")
    parser.add_argument("--curves", default="", help="folder with other curves")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--stride", type=int, default=4, help="every n-th data set of LCBench")
    parser.add_argument("--trials", default="32,48,64,96,128,256")
    parser.add_argument("--schedulers", default="asha")
    parser.add_argument("--searchers", default="random,sobol,tpe,gp")
    parser.add_argument("--of", choices=("test", "validation"), default="test")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    runs = read_runs(given.out)
    asked = list(dict.fromkeys(plan(given)))
    todo = [key for key in asked if key not in runs]
    with (
        ProcessPoolExecutor(given.processes) as pool,
        given.out.open("a", encoding="utf-8") as file,
    ):
        folders = [(given.data, given.curves)] * len(todo)
        # Key by key in order, so that a run that is stopped has whole seeds.
        for key, run in pool.map(simulate, todo, folders, chunksize=4):
            file.write(json.dumps([key, run]) + "\n")
            file.flush()
            runs[key] = run
    column = 0 if given.of == "test" else 2
    print("\n".join(summarise({key: runs[key] for key in asked}, column)))


if __name__ == "__main__":
    main()
