"""PASHA against ASHA on the real learning curves of LCBench.

LCBench (Zimmer, Lindauer, Hutter 2021): 2,000 configurations of a neural network on 35 data sets,
50 epochs each. The curves read here are of validation cross-entropy, so studies are tuned on
that, and epochs are counted instead of hours; the paper (appendix D) tuned on validation accuracy.
What is reported of a winner is its final test accuracy after the full 50 epochs.

    python perf/lcbench.py FOLDER

FOLDER holds ``lcbench_val_cross_entropy_curves.npz`` (``val_cross_entropy`` [35, 2000, 52],
column e = after epoch e) and ``lcbench_final.npz`` (``final_test_accuracy`` [35, 2000]).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import rungwise as rw
from rungwise.core.scheduler import Recipe

EPOCHS = 50
RECIPES: dict[str, Recipe] = {
    "ASHA": rw.ASHA(max_resource=EPOCHS),
    "PASHA": rw.PASHA(max_resource=EPOCHS),
    "PASHA, leader": rw.PASHA(max_resource=EPOCHS, ranking=rw.rankings.Leader()),
    "PASHA, direct ranking": rw.PASHA(max_resource=EPOCHS, ranking=rw.rankings.Exact()),
    "one epoch": rw.FixedResource(1),
    "three epochs": rw.FixedResource(3),
}


@dataclass(frozen=True)
class Line:
    """One scheduler over all data sets and seeds."""

    scheduler: str
    test_accuracy: float
    regret: float
    epochs: float
    fewer_epochs_than_asha: float
    sooner_than_asha: float
    furthest: float


def measure(folder: Path, trials: int, seeds: int, finish: str) -> list[Line]:
    """Every scheduler on every data set."""
    with np.load(folder / "lcbench_val_cross_entropy_curves.npz") as file:
        curves = file["val_cross_entropy"][:, :, 1 : EPOCHS + 1]
    with np.load(folder / "lcbench_final.npz") as file:
        accuracy = file["final_test_accuracy"]
    found: dict[str, list[tuple[float, float, int, float, int]]] = {name: [] for name in RECIPES}
    for number, values in enumerate(curves):
        table = rw.Table(values)
        for seed in range(seeds):
            for name, recipe in RECIPES.items():
                result = rw.simulate(
                    table,
                    recipe,
                    trials=trials,
                    seed=seed,
                    finish=finish,  # type: ignore[arg-type]
                )
                if result.best is None:
                    raise SystemExit(f"{name} found nothing on data set {number}")
                final = values[result.rows, -1]
                best, median = np.nanmin(final), np.nanmedian(final)
                regret = (values[result.best.row, -1] - best) / (median - best)
                found[name].append(
                    (
                        float(accuracy[number, result.best.row]),
                        float(regret),
                        result.resource_spent,
                        result.seconds,
                        result.max_resource,
                    )
                )
    asha = np.array(found["ASHA"])
    lines = []
    for name, rows in found.items():
        mine = np.array(rows)
        lines.append(
            Line(
                scheduler=name,
                test_accuracy=float(mine[:, 0].mean()),
                regret=float(np.mean(mine[:, 1])),
                epochs=float(mine[:, 2].mean()),
                fewer_epochs_than_asha=float(asha[:, 2].sum() / mine[:, 2].sum()),
                sooner_than_asha=float(asha[:, 3].sum() / mine[:, 3].sum()),
                furthest=float(mine[:, 4].mean()),
            )
        )
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--finish", choices=["drain", "paper"], default="drain")
    parser.add_argument("--json", action="store_true", help="print the lines as JSON")
    options = parser.parse_args()
    lines = measure(options.folder, options.trials, options.seeds, options.finish)
    if options.json:
        print(json.dumps([asdict(line) for line in lines], indent=1))
        return
    print(
        f"{'':22} {'test accuracy':>14} {'regret':>8} {'epochs':>8} "
        f"{'fewer':>7} {'sooner':>7} {'furthest':>9}"
    )
    for line in lines:
        print(
            f"{line.scheduler:22} {line.test_accuracy:14.2f} {line.regret:8.3f} "
            f"{line.epochs:8.0f} {line.fewer_epochs_than_asha:6.2f}× "
            f"{line.sooner_than_asha:6.2f}× {line.furthest:9.1f}"
        )
    print("regret: (winner − best) / (median − best) of the final cross-entropies of the sample")


if __name__ == "__main__":
    main()
