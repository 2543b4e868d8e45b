"""Measure what a unit of resource costs when a model is trained alone, on one core of a CPU.

    python recording/timing.py --out PARTS

The tables are recorded by training hundreds of models as one program, so the time of a single one
is not seen there. A user trains one at a time; so some models of each table are trained alone for
a few steps, in plain PyTorch with one thread, and their CPU time is measured. Where models differ
in cost a linear model of what they are made of, fitted to the measured ones, gives the rest.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

import convolutional
import data
import language
import perceptrons
import record
import spaces
from cells import Plan


def cpu_seconds(step: Callable[[], object], repeats: int) -> float:
    """The CPU time of one call: the least of some, since all else only adds to it."""
    step()
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        step()
        taken.append(time.process_time() - start)
    return min(taken)


def fitted(features: np.ndarray, measured: np.ndarray) -> tuple[np.ndarray, float]:
    """Least squares of relative errors; the coefficients and the share of variance explained."""
    weights = 1 / measured
    found, *_ = np.linalg.lstsq(features * weights[:, None], np.ones_like(measured), rcond=None)
    left = measured - features @ found
    return found, 1 - float(left.var() / measured.var())


def _convolutional(network: convolutional.Network, train: int) -> float:
    """Seconds an epoch, with the validation after it."""
    images = data.made_up_images(train=256, valid=500, device="cpu")
    settings = convolutional.Settings(1, 128, 1, torch.float32, "cpu", record.MOVED)
    trainer = convolutional.Trainer(network, images, settings)
    step = cpu_seconds(trainer._step, 5)  # noqa: SLF001 - the trainer's step is what is timed
    return step * (train // 128) + cpu_seconds(trainer.valid, 3) * (record.NAS.valid / 500)


def _made_of(architectures: np.ndarray) -> np.ndarray:
    counts = [(architectures == operation).sum(1) for operation in (1, 2, 3, 4)]
    return np.stack([np.ones(len(architectures)), *counts], axis=1).astype(float)


def fashion_nas(some: int) -> tuple[np.ndarray, dict[str, Any]]:
    """By the number of edges of each operation."""
    architectures = spaces.draw_architectures(record.NAS.models, record.NAS.chunk, seed=201)
    chosen = architectures[:: len(architectures) // some][:some]
    measured = np.array(
        [
            _convolutional(
                convolutional.Cells(Plan(one[None], "cpu"), (16, 32, 64), "cpu"),
                record.NAS.train,
            )
            for one in chosen
        ]
    )
    found, explained = fitted(_made_of(chosen), measured)
    fit = {"measured": len(chosen), "explained": round(explained, 3)}
    return np.maximum(_made_of(architectures) @ found, measured.min()), fit


def fashion_hpo(_: int) -> tuple[np.ndarray, dict[str, Any]]:
    """All models are alike."""
    taken = _convolutional(convolutional.Plain(1, (16, 32), "cpu"), record.HPO.train)
    return np.full(record.HPO.models, taken), {"measured": 1}


def text_hpo(_: int) -> tuple[np.ndarray, dict[str, Any]]:
    """All models are alike."""
    size = language.Size(points=1)
    trainer = language.Trainer(1, data.made_up_text(device="cpu"), size, "cpu", torch.float32)
    taken = cpu_seconds(lambda: trainer.run(0), 5)
    # A run of one point examines the test text as well: a part of it as large as the point's own.
    examined = cpu_seconds(trainer.test, 5)
    return np.full(record.TEXT.models, taken - examined), {"measured": 1}


def _work(configs: Sequence[dict[str, Any]], examples: int) -> np.ndarray:
    """Steps, weights moved by the steps, and weights times examples: of an epoch."""
    rows = []
    for config in configs:
        sizes = [196, *perceptrons.widths(config), data.CLASSES]
        weights = sum(a * b for a, b in pairwise(sizes))
        steps = examples // config["batch_size"]
        rows.append([1.0, steps, steps * config["num_layers"], steps * weights, examples * weights])
    return np.array(rows)


def mlp_hpo(some: int) -> tuple[np.ndarray, dict[str, Any]]:
    """By the number of steps, and of weights."""
    configs: list[dict[str, Any]] = spaces.draw(spaces.LCBENCH, record.MLP.models, seed=34)
    pace = perceptrons.Pace()
    examples = record.MLP.train
    chosen = configs[:: len(configs) // some][:some]
    images = data.made_up_images(train=1024, valid=pace.examined, device="cpu")
    measured = []
    for config in chosen:
        group = perceptrons.Group([config], images, pace, "cpu")
        steps = examples // config["batch_size"]
        step = cpu_seconds(group.step, 5)
        measured.append(step * steps + pace.points_an_epoch * cpu_seconds(group.valid, 3))
    found, explained = fitted(_work(chosen, examples), np.array(measured))
    every = np.maximum(_work(configs, examples) @ found, min(measured))
    fit = {"measured": len(chosen), "explained": round(explained, 3)}
    return every / pace.points_an_epoch, fit


def main() -> None:
    """Measure all tables."""
    parser = argparse.ArgumentParser(description="What a unit of resource costs on one CPU core.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the parts")
    parser.add_argument("--some", type=int, default=80, help="how many models are measured")
    given = parser.parse_args()
    record.demand_writable(parser, "--out", given.out)
    torch.set_num_threads(1)
    everything: dict[str, Any] = {}
    for measure in (fashion_nas, fashion_hpo, text_hpo, mlp_hpo):
        name = measure.__name__.replace("_", "-")
        seconds, fit = measure(given.some)
        everything[name] = seconds.astype(np.float32)
        everything |= {f"{name}/{key}": np.array(value) for key, value in fit.items()}
        print(f"{name}: {np.quantile(seconds, [0, 0.5, 1])} s per unit, {fit}", flush=True)
    np.savez_compressed(given.out / "seconds.npz", **everything)


if __name__ == "__main__":
    main()
