"""End to end: the winner's test accuracy after so many seconds, with rungwise and with others.

    python perf/peers.py --data FOLDER --out runs.jsonl [--seconds 30,90] [--seeds 5] [--svg FILE]

One real task (_peers_task.py): a perceptron in NumPy on Fashion-MNIST, the same code, space and
seeds for all, 2 workers, at most 81 epochs. Each library is used as its documentation shows it
(_peers_systems.py), with its defaults beyond that:

- rungwise: ``tune`` (random sampling, adaptive halving).
- optuna: TPE and HyperbandPruner, two processes on one journal. At the end of its time a trial goes
  on until it is done or pruned.
- ray-asha: Ray Tune with ASHA; ray-asha-optuna: the same with OptunaSearch.
- syne-tune: Syne Tune's ASHA with LocalBackend, which starts a process for every trial.

Imports, and the start of Ray itself, are not counted. Each winner is trained from scratch for 81
epochs, all with the same seed, and tested on images that nothing was chosen by. The libraries take
turns, so that what else the machine does hits all of them. FOLDER holds the four files of
Fashion-MNIST (Debian's package dataset-fashion-mnist). Runs are appended to the file and not
repeated. Not part of any check: with other work on the machine figures change.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
PATIENCE = 4.0
"""A study may take this many times its seconds, and a minute, before it is given up."""

GUESS = 0.1
"""The accuracy of a guess, where a study has found nothing in its time."""

LABELS = {
    "rungwise": "rungwise",
    "optuna": "Optuna: TPE, Hyperband",
    "ray-asha": "Ray Tune: ASHA",
    "ray-asha-optuna": "Ray Tune: ASHA, Optuna",
    "syne-tune": "Syne Tune: ASHA",
}

Key = tuple[str, int, int]
"""(library, seconds, seed)"""
Run = dict[str, Any]


def run_study(key: Key) -> Run:
    """One study in a process of its own, and the test of its winner."""
    from _peers_task import test_winner  # noqa: PLC0415 - it reads where the data is

    system, seconds, seed = key
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        done = subprocess.run(
            [
                sys.executable,
                str(HERE / "_peers_systems.py"),
                system,
                str(seed),
                str(seconds),
                folder,
            ],
            capture_output=True,
            text=True,
            timeout=60 + PATIENCE * seconds,
            check=False,
            cwd=folder,
        )
    if done.returncode:
        raise RuntimeError(f"{system} failed:\n{done.stderr[-2000:]}")
    run: Run = json.loads(done.stdout.strip().splitlines()[-1])
    run["test"] = test_winner(run["config"], 1000 + seed) if run["config"] else GUESS
    return run


def read_runs(path: Path) -> dict[Key, Run]:
    """The runs of a file."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(system, seconds, seed): run for (system, seconds, seed), run in lines}


def plan(budgets: Sequence[int], seeds: int, systems: Sequence[str]) -> Iterator[Key]:
    """Every study, the libraries in turns; another one begins each time."""
    for seed in range(seeds):
        for seconds in budgets:
            first = seed % len(systems)
            for system in (*systems[first:], *systems[:first]):
                yield system, seconds, seed


def summarise(runs: dict[Key, Run]) -> list[dict[str, Any]]:
    """A row for each library and budget: mean and standard error of the test accuracy."""
    groups: dict[tuple[int, str], list[Run]] = defaultdict(list)
    for (system, seconds, _), run in runs.items():
        groups[seconds, system].append(run)
    rows = []
    for (seconds, system), found in sorted(groups.items()):
        tests = np.array([run["test"] for run in found]) * 100
        error = float(tests.std(ddof=1)) / math.sqrt(len(tests)) if len(tests) > 1 else 0.0
        rows.append(
            {
                "system": system,
                "budget": seconds,
                "seeds": len(tests),
                "test": float(tests.mean()),
                "error": error,
                "seconds": float(np.mean([run["seconds"] for run in found])),
                "trials": float(np.mean([run["trials"] for run in found])),
            }
        )
    return rows


def write_table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The rows in Markdown."""
    yield "| seconds | library | took | trials | test accuracy (%) | runs |"
    yield "|---:|---|---:|---:|---:|---:|"
    for row in rows:
        yield (
            f"| {row['budget']} | {LABELS[row['system']]} | {row['seconds']:.0f} s | "
            f"{row['trials']:.0f} | {row['test']:.2f} ± {row['error']:.2f} | {row['seeds']} |"
        )


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Test accuracy against seconds, with standard errors."""
    from rungwise.plots import theme  # noqa: PLC0415 - only where a figure is asked for
    from rungwise.plots.figure import export, make_figure  # noqa: PLC0415
    from rungwise.plots.layers import DOT, layer, legend, log_axis  # noqa: PLC0415

    names = [label for system, label in LABELS.items() if any(r["system"] == system for r in rows)]
    points = [
        {
            "label": LABELS[row["system"]],
            "x": row["seconds"],
            "y": row["test"],
            "bottom": row["test"] - row["error"],
            "top": row["test"] + row["error"],
        }
        for row in rows
    ]
    colour = legend("color", names, [theme.colour(n) for n in range(len(names))])
    shape = legend("shape", names, [theme.symbol(n) for n in range(len(names))])
    costs = [point["x"] for point in points]
    figure = make_figure(
        [
            layer(points, {"type": "line"}, **colour),
            layer(points, {"type": "rule"}, y={"field": "bottom"}, y2={"field": "top"}, **colour),
            layer(points, DOT, **colour, **shape, size={"value": 80}),
        ],
        title="Test accuracy of the winner, trained in full",
        note="bars: ± 1 standard error over seeds",
        x={"title": "seconds that the study took", **log_axis(min(costs) / 1.1, max(costs) * 1.1)},
        y={"title": "test accuracy (%)", "scale": {"padding": 20, "zero": False}},
    )
    export(figure, path)


def main() -> None:
    """Run what is missing, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the files of Fashion-MNIST")
    parser.add_argument("--out", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--seconds", default="30,90", help="budgets")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--systems", default=",".join(LABELS))
    parser.add_argument("--svg", type=Path, help="write the figure there")
    given = parser.parse_args()
    os.environ["RUNGWISE_PEERS_DATA"] = str(given.data.resolve())
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    runs = read_runs(given.out)
    budgets = [int(each) for each in given.seconds.split(",")]
    for key in plan(budgets, given.seeds, given.systems.split(",")):
        if key in runs:
            continue
        runs[key] = run_study(key)
        with given.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, runs[key]]) + "\n")
        print(*key, f"{100 * runs[key]['test']:.2f} %", file=sys.stderr, flush=True)
    rows = summarise(runs)
    print("\n".join(write_table(rows)))
    if given.svg is not None and rows:
        draw(rows, given.svg)


if __name__ == "__main__":
    main()
