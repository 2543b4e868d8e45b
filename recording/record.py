"""Record a table of learning curves by training its models.

    python recording/record.py fashion-nas --data DATA --out PARTS

Work is done in chunks of models; each finished chunk is written at once, and a chunk that is in
PARTS already is not trained again. ``--seconds`` stops before a chunk that would not end in time.
``--smoke`` trains a few tiny models on made-up data for two epochs, on any machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

import convolutional
import data
import language
import perceptrons
import spaces
from cells import Plan

Part = dict[str, np.ndarray]
Chunk = tuple[str, Callable[[], Part]]


@dataclass(frozen=True)
class Scale:
    """How many models a table has, how many train at once, and on how many examples."""

    models: int
    chunk: int
    train: int = 0
    valid: int = 0
    seeds: tuple[int, ...] = (1,)


MOVED = 3
"""By how many pixels, at most, images are moved for convolutional networks; each time by others."""
NAS = Scale(1040, 520, 5120, 5000, (1, 2, 3))
HPO = Scale(2048, 512, 6144, 5000)
TEXT = Scale(1024, 512)
MLP = Scale(2048, 0, 8192, 5000)


class Machine:
    """Where it runs, on what data, and how small."""

    def __init__(self, device: str, folder: Path | None, *, smoke: bool) -> None:
        self.device, self.folder, self.smoke = device, folder, smoke
        self.dtype = torch.bfloat16 if device == "cuda" else torch.float32
        if device == "cuda":
            torch.backends.cuda.matmul.allow_tf32 = True

    def images(self, train: int, valid: int) -> data.Images:
        """Fashion-MNIST, or something smaller."""
        if self.smoke:
            return data.made_up_images(train=256, valid=100, device=self.device)
        assert self.folder is not None
        return data.fashion(self.folder, train=train, valid=valid, device=self.device)

    def text(self) -> data.Text:
        """The text, or something smaller."""
        if self.smoke:
            return data.made_up_text(device=self.device)
        assert self.folder is not None
        return data.text(self.folder / data.TEXT, device=self.device)

    def settings(self, epochs: int) -> convolutional.Settings:
        """How convolutional networks train."""
        if self.smoke:
            return convolutional.Settings(2, 64, 2, self.dtype, self.device, MOVED)
        return convolutional.Settings(epochs, 128, 10, self.dtype, self.device, MOVED)


def fashion_nas(machine: Machine) -> Iterator[Chunk]:
    """Cells of NAS-Bench-201 on Fashion-MNIST."""
    count, chunk, seeds = NAS.models, NAS.chunk, NAS.seeds
    if machine.smoke:
        count, chunk, seeds = 10, 5, (1,)
    architectures = spaces.draw_architectures(count, chunk, seed=201)
    made: list[convolutional.Trainer] = []

    def train(seed: int, first: int) -> Part:
        plan = Plan(architectures[first : first + chunk], machine.device)
        if not made:
            images = machine.images(NAS.train, NAS.valid)
            network = convolutional.Cells(plan, (16, 32, 64), machine.device)
            made.append(convolutional.Trainer(network, images, machine.settings(200)))
        made[0].network.plan.take(plan)
        valid, test = made[0].run(seed * 1_000_003 + first)
        return {"valid": valid, "test": test, "rows": np.arange(first, first + chunk)}

    for seed in seeds:
        for first in range(0, count, chunk):
            yield f"{seed}-{first}", partial(train, seed, first)


def _pd1(trainer: Any, configs: list[dict[str, Any]]) -> None:
    """Give the models of a trainer their hyperparameters."""
    device = trainer.hyper.rate.device

    def of(name: str) -> torch.Tensor:
        return torch.tensor([c[name] for c in configs], dtype=torch.float32, device=device)

    trainer.hyper.rate.copy_(of("learning_rate"))
    trainer.hyper.momentum.copy_(1 - of("one_minus_momentum"))
    trainer.power.copy_(of("decay_power"))
    trainer.fraction.copy_(of("decay_fraction"))


def fashion_hpo(machine: Machine) -> Iterator[Chunk]:
    """PD1's hyperparameters of a small convolutional network on Fashion-MNIST."""
    count, chunk = (16, 8) if machine.smoke else (HPO.models, HPO.chunk)
    configs = spaces.draw(spaces.PD1, count, seed=512)
    made: list[convolutional.Trainer] = []

    def train(first: int) -> Part:
        if not made:
            images = machine.images(HPO.train, HPO.valid)
            network = convolutional.Plain(chunk, (16, 32), machine.device)
            made.append(convolutional.Trainer(network, images, machine.settings(251)))
        _pd1(made[0], configs[first : first + chunk])
        made[0].hyper.decay.fill_(5e-4)
        valid, test = made[0].run(7_000_003 + first)
        return {"valid": valid, "test": test, "rows": np.arange(first, first + chunk)}

    for first in range(0, count, chunk):
        yield f"1-{first}", partial(train, first)


def text_hpo(machine: Machine) -> Iterator[Chunk]:
    """PD1's hyperparameters of a small transformer on a text."""
    count, chunk = (8, 4) if machine.smoke else (TEXT.models, TEXT.chunk)
    configs = spaces.draw(spaces.PD1, count, seed=64)
    size = language.Size(1, 16, 2, 16, 2, 1, 6, 4) if machine.smoke else language.Size()
    made: list[language.Trainer] = []

    def train(first: int) -> Part:
        if not made:
            made.append(
                language.Trainer(chunk, machine.text(), size, machine.device, machine.dtype)
            )
        _pd1(made[0], configs[first : first + chunk])
        valid, test = made[0].run(11_000_003 + first)
        return {"valid": valid, "test": test, "rows": np.arange(first, first + chunk)}

    for first in range(0, count, chunk):
        yield f"1-{first}", partial(train, first)


def mlp_hpo(machine: Machine) -> Iterator[Chunk]:
    """LCBench's hyperparameters of multi-layer perceptrons on Fashion-MNIST."""
    count = 24 if machine.smoke else MLP.models
    configs: list[dict[str, Any]] = spaces.draw(spaces.LCBENCH, count, seed=34)
    pace = perceptrons.Pace(2, 1, 50) if machine.smoke else perceptrons.Pace()
    if machine.smoke:  # 256 examples make no batch of 512
        configs = [{**c, "batch_size": min(c["batch_size"], 64)} for c in configs]
    sizes = sorted({c["batch_size"] for c in configs}, reverse=True)

    def train(batch: int) -> Part:
        images = machine.images(MLP.train, MLP.valid)
        mine = [row for row, config in enumerate(configs) if config["batch_size"] == batch]
        rows = perceptrons.grouped(configs, mine)
        groups = [
            perceptrons.Group([configs[row] for row in some], images, pace, machine.device)
            for some in rows
        ]
        results = perceptrons.run(groups, pace, 13_000_003 + 1000 * batch, machine.device)
        return {
            "valid": np.concatenate([valid for valid, _ in results]),
            "test": np.concatenate([test for _, test in results]),
            "rows": np.concatenate([np.array(some) for some in rows]),
        }

    for batch in sizes:
        yield f"1-{batch}", partial(train, batch)


TABLES: dict[str, Callable[[Machine], Iterator[Chunk]]] = {
    "fashion-nas": fashion_nas,
    "fashion-hpo": fashion_hpo,
    "text-hpo": text_hpo,
    "mlp-hpo": mlp_hpo,
}


def record(name: str, machine: Machine, out: Path, *, until: float) -> bool:
    """Train the chunks of a table that are missing; whether all are there now."""
    path = out / f"{name}.parts.npz"
    parts = dict(np.load(path)) if path.exists() else {}
    longest = 0.0
    for key, train in TABLES[name](machine):
        if f"{key}/valid" in parts:
            continue
        start = time.monotonic()
        if start + 1.05 * longest > until:
            print(f"{name}: stops before {key}, for want of time", flush=True)
            return False
        part = train()
        took = time.monotonic() - start
        longest = max(longest, took)
        for field in ("valid", "test"):  # MISSING becomes 65535, which no count reaches
            part[field] = part[field].astype(np.uint16)
        part["rows"] = part["rows"].astype(np.int32)
        part["seconds"] = np.array(took)
        parts |= {f"{key}/{field}": value for field, value in part.items()}
        new = path.with_suffix(".new.npz")
        np.savez_compressed(new, **parts)
        new.replace(path)
        best = np.where(part["valid"][:, -1] == 65535, 0, part["valid"][:, -1])
        quantiles = np.quantile(best, [0, 0.25, 0.5, 0.75, 1]).astype(int).tolist()
        print(f"{name} {key}: {took:.1f} s, right answers {quantiles}", flush=True)
    return True


def needed(name: str) -> tuple[str, ...]:
    """The files of the data folder that a table is trained on."""
    return (data.TEXT,) if name == "text-hpo" else data.FASHION


def demand(parser: argparse.ArgumentParser, option: str, folder: Path, names: set[str]) -> None:
    """End the script unless a folder holds some files."""
    missing = sorted(name for name in names if not (folder / name).is_file())
    if missing:
        parser.error(f"{option} {folder} has no {', '.join(missing)}")


def demand_writable(parser: argparse.ArgumentParser, option: str, folder: Path) -> None:
    """Make a folder; end the script if it cannot be written to, before hours of work are lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        parser.error(f"{option} {folder} cannot be written to: {error.strerror or error}")


def main() -> None:
    """Record the tables named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tables", nargs="+", choices=sorted(TABLES), help="what to record")
    parser.add_argument(
        "--data", type=Path, help="folder with Fashion-MNIST's four .gz files and text.txt"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the finished parts")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="start no chunk that ends later"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--smoke", action="store_true", help="a few tiny models on made-up data")
    given = parser.parse_args()
    if given.data is None and not given.smoke:
        parser.error("--data is needed, or --smoke to try the recorder on made-up data")
    if not given.smoke:
        demand(parser, "--data", given.data, {file for t in given.tables for file in needed(t)})
    demand_writable(parser, "--out", given.out)
    until = time.monotonic() + given.seconds
    machine = Machine(given.device, given.data, smoke=given.smoke)
    whole = [record(name, machine, given.out, until=until) for name in given.tables]
    sys.exit(0 if all(whole) else 3)


if __name__ == "__main__":
    main()
