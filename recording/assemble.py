"""Make the tables that come with the package from recorded parts, with a data card and a plot each.

    python recording/assemble.py --parts PARTS

Writes ``NAME.npz`` and ``NAME.json`` into the package and ``NAME.md`` and ``NAME.svg`` into
``docs/benchmarks``. It checks the data on the way: how early ranks tell the final ones, how much
seeds differ, how many runs diverged, and where in the space the best configurations lie.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import language
import perceptrons
import record
import spaces
from cardpages import page, picture

from rungwise.benchmarks import Benchmark, Card, store
from rungwise.space import Space

ROOT = Path(__file__).resolve().parents[1]
LOST = 65535
"""What the recorder writes for a model whose outputs are no longer finite."""
CARD = {
    "goal": "max",
    "licence": "CC-BY-4.0",
    "source": "recorded for rungwise by recording/record.py",
    "citation": "The rungwise developers (2026)",
    "unit_seconds": "CPU seconds of a unit, validation included, when the recorder's own code "
    "trains the model alone on one core of a server CPU (recording/timing.py)",
}


@dataclass(frozen=True)
class Source:
    """What is known of a table before its parts are read."""

    name: str
    title: str
    description: str
    metric: str
    final_metric: str
    resource: str
    space: Space
    configs: list[dict[str, Any]]
    examined: int
    tested: int
    details: dict[str, Any]
    names: list[str] | None = None
    seeds: tuple[int, ...] = field(default=(1,))


def _architecture_name(config: dict[str, Any]) -> str:
    """As NAS-Bench-201 writes it: ``|op~0|+|op~0|op~1|+|op~0|op~1|op~2|``."""
    nodes = [
        "|".join(f"{config[f'edge_{source}_to_{target}']}~{source}" for source in range(target))
        for target in (1, 2, 3)
    ]
    return "+".join(f"|{node}|" for node in nodes)


IMAGES = "Fashion-MNIST (Xiao, Rasul, Vollgraf 2017, MIT)"
MOVED = (
    f"moved by up to {record.MOVED} pixels in each direction, in training by others each time, in "
    "validation and test once and for all"
)
DECAY = (
    "SGD with Nesterov's momentum; the rate falls by a power over a fraction of the steps to a "
    "thousandth, as in PD1"
)


def sources() -> list[Source]:
    """The four tables."""
    return [_describe_nas(), _describe_hpo(), _describe_text(), _describe_mlp()]


def _describe_nas() -> Source:
    """Cells of NAS-Bench-201."""
    cells: list[dict[str, Any]] = spaces.cell_configs(
        spaces.draw_architectures(record.NAS.models, record.NAS.chunk, seed=201)
    )
    return Source(
        "fashion-nas",
        "Cells of NAS-Bench-201 on Fashion-MNIST",
        "The counterpart of NAS-Bench-201: 1,040 of its 15,625 cells (4 nodes, 6 edges, 5 "
        "operations) in a small skeleton: patches of 4 × 4 pixels, then three stages of one "
        "cell with 16, 32 and 64 channels at 7 × 7, 4 × 4 and 2 × 2 positions.",
        "validation accuracy",
        "test accuracy after 200 epochs",
        "epoch",
        spaces.CELL,
        cells,
        record.NAS.valid,
        10_000,
        {
            "data": IMAGES,
            "training": "SGD with Nesterov's momentum 0.9, rate 0.1 falling by a cosine to 0, "
            "weight decay 5e-4, batches of 128, bfloat16 activations",
            "images": MOVED,
            "split": f"{record.NAS.train} training and {record.NAS.valid} validation images of "
            "the training set, by a fixed permutation; the test set's 10,000 once, at the end",
            "drawn": "at random, so that in each half of the rows every edge has every "
            "operation equally often",
        },
        [_architecture_name(config) for config in cells],
        record.NAS.seeds,
    )


def _describe_hpo() -> Source:
    """Hyperparameters of a convolutional network."""
    return Source(
        "fashion-hpo",
        "PD1's hyperparameters of a convolutional network on Fashion-MNIST",
        "The counterpart of PD1's ImageNet task: the optimiser of one small convolutional "
        "network (patches of 4 × 4 pixels, two stages of one 3 × 3 convolution with 16 and 32 "
        "channels, batch norm), trained for 251 epochs.",
        "validation accuracy",
        "test accuracy after 251 epochs",
        "epoch",
        spaces.PD1,
        spaces.draw(spaces.PD1, record.HPO.models, seed=512),
        record.HPO.valid,
        10_000,
        {
            "data": IMAGES,
            "training": f"{DECAY}; weight decay 5e-4, batches of 128, bfloat16 activations",
            "images": MOVED,
            "split": f"{record.HPO.train} training and {record.HPO.valid} validation images of "
            "the training set, by a fixed permutation; the test set's 10,000 once, at the end",
            "drawn": "at random from the space",
        },
    )


def _describe_text() -> Source:
    """Hyperparameters of a transformer."""
    size = language.Size()
    return Source(
        "text-hpo",
        "PD1's hyperparameters of a small transformer on a text",
        "The counterpart of PD1's WMT task: the optimiser of a transformer of two layers, "
        "width 64, that predicts the next symbol of the King James Bible. A unit of resource "
        f"is {size.steps_a_point} steps of {size.batch} windows of {size.context} symbols; "
        "1,414 of them see 4.3 million symbols of a training text of 3.3 million.",
        "validation accuracy of the next symbol",
        "test accuracy of the next symbol after 1414 points",
        "point",
        spaces.PD1,
        spaces.draw(spaces.PD1, record.TEXT.models, seed=64),
        size.examined * size.context,
        size.examined * size.context,
        {
            "data": "the King James Bible in lower case, 64 symbols (public domain outside the "
            "United Kingdom)",
            "training": f"{DECAY}; no weight decay, pre-norm layers, bfloat16 activations",
            "split": "of every ten blocks of 4,096 symbols eight train, one validates, one "
            f"tests; {size.examined} windows of each are examined, the test once, at the end",
            "drawn": "at random from the space",
        },
    )


def _describe_mlp() -> Source:
    """Hyperparameters of perceptrons."""
    pace = perceptrons.Pace()
    return Source(
        "mlp-hpo",
        "LCBench's hyperparameters of funnel-shaped perceptrons on Fashion-MNIST",
        "The counterpart of LCBench: seven hyperparameters of multi-layer perceptrons whose "
        "layers narrow in equal steps, on images of 14 × 14 pixels, for 50 epochs, examined "
        f"{pace.points_an_epoch} times an epoch.",
        "validation accuracy",
        "test accuracy after 50 epochs",
        "eighth of an epoch",
        spaces.LCBENCH,
        spaces.draw(spaces.LCBENCH, record.MLP.models, seed=34),
        pace.examined,
        pace.examined,
        {
            "data": IMAGES,
            "training": "SGD with Nesterov's momentum, the rate falling by a cosine to 0, TF32 "
            "products; dropout falls in equal steps from its maximum at the first layer",
            "split": f"{record.MLP.train} training and {pace.examined} validation images of "
            f"the training set, by a fixed permutation; {pace.examined} of the test set once, "
            "at the end",
            "drawn": "at random from the space; batch sizes are powers of two",
            "points_per_epoch": pace.points_an_epoch,
        },
    )


def read_parts(path: Path, source: Source) -> tuple[np.ndarray, np.ndarray, float]:
    """Accuracies [seeds, rows, resources], final ones [seeds, rows], and the seconds of it all."""
    parts = dict(np.load(path))
    keys = sorted({key.split("/")[0] for key in parts})
    curves, finals = [], []
    for seed in source.seeds:
        mine = [key for key in keys if key.startswith(f"{seed}-")]
        rows = np.concatenate([parts[f"{key}/rows"] for key in mine])
        if sorted(rows.tolist()) != list(range(len(source.configs))):
            raise SystemExit(f"{path}: seed {seed} is not complete, record it first")
        order = np.argsort(rows)
        curves.append(np.concatenate([parts[f"{key}/valid"] for key in mine])[order])
        finals.append(np.concatenate([parts[f"{key}/test"] for key in mine])[order])
    seconds = sum(float(parts[f"{key}/seconds"]) for key in keys)
    values, final = np.stack(curves), np.stack(finals)
    return (
        np.where(values == LOST, np.nan, values / source.examined),
        np.where(final == LOST, np.nan, final / source.tested),
        seconds,
    )


# -- checks ------------------------------------------------------------------------------------


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """The rank correlation."""
    return float(spearmanr(a, b).statistic)


def collapses(values: np.ndarray) -> list[tuple[int, int]]:
    """(point, rows) where many models of a seed fall to less than half at the same point.

    Training diverges one model at a time; many at once mean that the recorder erred.
    """
    found = []
    for filled in np.nan_to_num(values):
        before, after = filled[:, :-1], filled[:, 1:]
        counts = ((before > 0.3) & (after < 0.5 * before)).sum(0)
        # Early on many rise and fall; later a handful at the same point is no chance.
        usual = 5 + 6 * np.sqrt(counts.mean())
        found += [(int(p) + 2, int(counts[p])) for p in np.flatnonzero(counts > usual) if p >= 20]
    return found


def checks(source: Source, values: np.ndarray, final: np.ndarray) -> dict[str, Any]:
    """Figures that tell what kind of table it is. Diverged runs count as the worst."""
    filled = np.where(np.isnan(values), -1.0, values)
    last = filled[0, :, -1]
    top = last >= np.quantile(last, 0.75)
    levels = [e for e in (1, 3, 9, 27, 81, 243, 729) if e < values.shape[2]]
    best = np.argsort(-filled[:, :, -1].mean(0), kind="stable")[:10]
    facts: dict[str, Any] = {
        "rank correlation with the end": {
            f"after {e}": round(spearman(filled[0, :, e - 1], last), 3) for e in levels
        },
        "the same among the best quarter": {
            f"after {e}": round(spearman(filled[0, top, e - 1], last[top]), 3) for e in levels
        },
        "diverged": round(float(np.isnan(values[:, :, -1]).mean()), 4),
        "final validation accuracy, quantiles 0.25 0.5 0.75 0.9 1": [
            round(float(q), 4) for q in np.quantile(np.maximum(last, 0), [0.25, 0.5, 0.75, 0.9, 1])
        ],
        "best test accuracy": round(float(np.nanmax(final)), 4),
        "rank correlation of validation and test": round(
            spearman(last, np.where(np.isnan(final[0]), -1.0, final[0])), 3
        ),
        "best row": int(best[0]),
        "best configuration": source.configs[int(best[0])],
    }
    if not source.name.endswith("nas"):
        # Whether the best lies in a corner of the space: then the space should be larger.
        places = source.space.encode(source.configs[int(best[0])])
        facts["where the best lies between the bounds, 0 to 1"] = {
            name: round(float(place), 3)
            for name, place in zip(source.space.names, places, strict=True)
        }
    if len(values) > 1:
        spread = filled[:, :, -1].std(axis=0, ddof=1)
        facts["noise between seeds, median standard deviation"] = round(float(np.median(spread)), 4)
        facts["rank correlation between seeds"] = round(spearman(last, filled[1, :, -1]), 3)
    return facts


def main() -> None:
    """Assemble the tables."""
    parser = argparse.ArgumentParser(description="Recorded parts into tables and data cards.")
    parser.add_argument("--parts", type=Path, required=True, help="folder of the recorded parts")
    parser.add_argument("--commit", required=True, help="the commit whose recorder was used")
    parser.add_argument("--created", required=True, help="the day of the recording, YYYY-MM-DD")
    parser.add_argument("--hardware", default="one NVIDIA H200, PyTorch 2.11, CUDA 13.0")
    parser.add_argument(
        "--table",
        action="append",
        choices=sorted(record.TABLES),
        help="only this one; may be repeated",
    )
    given = parser.parse_args()
    files = {f"{name}.parts.npz" for name in given.table or record.TABLES}
    record.demand(parser, "--parts", given.parts, {"seconds.npz", *files})
    timed = dict(np.load(given.parts / "seconds.npz"))
    folder = ROOT / "src" / "rungwise" / "benchmarks" / "recorded"
    pages = ROOT / "docs" / "benchmarks"
    pages.mkdir(exist_ok=True)
    for source in sources():
        if given.table and source.name not in given.table:
            continue
        assemble(source, given, timed, folder, pages)


def assemble(
    source: Source,
    given: argparse.Namespace,
    timed: dict[str, np.ndarray],
    folder: Path,
    pages: Path,
) -> None:
    """Write a table with its card and its plot."""
    values, final, took = read_parts(given.parts / f"{source.name}.parts.npz", source)
    details = {
        **source.details,
        "hardware": given.hardware,
        "commit": given.commit,
        "recording took": f"{took:.0f} s for all models together",
        "seconds, measured": {
            key.split("/")[1]: value.item()
            for key, value in timed.items()
            if key.startswith(f"{source.name}/")
        },
    }
    for point, rows in collapses(values):
        problem = f"{rows} models collapse at point {point} at once, so the recorder erred"
        raise SystemExit(f"{source.name}: {problem}; record it again")
    card = Card(
        name=source.name, title=source.title, description=source.description,
        metric=source.metric, final_metric=source.final_metric, resource=source.resource,
        seeds=list(source.seeds), space=source.space, created=given.created,
        details=details, checks=checks(source, values, final), **CARD,
    )  # fmt: skip
    store.write(
        folder,
        card,
        values=values,
        seconds=timed[source.name],
        final=final,
        configs=source.configs,
        names=source.names,
        quantum=1 / source.examined,
        final_quantum=1 / source.tested,
    )
    made: Benchmark = store.read(folder, source.name)
    if not np.allclose(made.values(0), values[0], rtol=0, atol=1e-12, equal_nan=True):
        raise SystemExit(f"{source.name}: the file does not give back what was recorded")
    picture(made, pages / f"{source.name}.svg")
    (pages / f"{source.name}.md").write_text(page(made.card), encoding="utf-8")
    size = (folder / f"{source.name}.npz").stat().st_size
    print(f"{source.name}: {made.rows} × {made.resources} × {made.seeds}, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
