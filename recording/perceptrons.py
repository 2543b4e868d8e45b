"""Recorder of `mlp-hpo`: many funnel-shaped multi-layer perceptrons at once, as in LCBench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from data import CLASSES, Images
from training import Captured, Clock, Examiner, Orders, Rates, Sgd, Weights

Tensor = torch.Tensor
BUCKETS = (256, 512, 1024)
"""Models are padded to the widest of their bucket; padding is zero and stays zero."""


def features(images: Tensor) -> Tensor:
    """Images shrunk to 14 × 14 pixels, about standardised: [n, 196]."""
    shrunk = F.avg_pool2d(images[:, None], 2)[:, 0].flatten(1)
    return (shrunk - 0.286) / 0.34


def widths(config: dict[str, Any]) -> list[int]:
    """The units of each hidden layer: from the maximum in equal steps towards the classes."""
    layers, most = config["num_layers"], config["max_units"]
    return [round(most - (most - CLASSES) * i / layers) for i in range(layers)]


@dataclass(frozen=True)
class Pace:
    """How long is trained, and how often examined."""

    epochs: int = 50
    points_an_epoch: int = 8
    examined: int = 2500


class Group:
    """Models of as many layers, the same batch size and about the same width."""

    def __init__(
        self, configs: Sequence[dict[str, Any]], images: Images, pace: Pace, device: str
    ) -> None:
        self.configs = list(configs)
        models = len(configs)
        layers, batch = configs[0]["num_layers"], configs[0]["batch_size"]
        inputs, labels = features(images.train[0]), images.train[1]
        self.orders = Orders(models, len(inputs), batch, device)
        self.clock = Clock(pace.epochs * self.orders.steps, device)
        self.weights = Weights(device)
        hidden = np.array([widths(config) for config in configs])
        wide = [-(-int(w) // 8) * 8 for w in hidden.max(0)]
        sizes = [inputs.shape[1], *wide, CLASSES]
        real = np.concatenate(
            [np.full((models, 1), sizes[0]), hidden, np.full((models, 1), CLASSES)], axis=1
        )
        self.layers = [
            (
                self.weights.add(_padded(models, sizes[i : i + 2], real[:, i : i + 2])),
                self.weights.full((models, 1, sizes[i + 1]), 0.0),
            )
            for i in range(layers + 1)
        ]

        def of(name: str) -> Tensor:
            return torch.tensor([float(c[name]) for c in configs], device=device)

        self.hyper = Rates(of("learning_rate"), of("momentum"), of("weight_decay"))
        most = of("max_dropout").view(-1, 1, 1)
        self.drop = [most * (1 - i / layers) for i in range(layers)]
        self.sgd = Sgd(self.weights)

        def step() -> None:
            chosen = self.orders.examples(self.clock)
            logits = self.answers(inputs[chosen], train=True)
            loss = F.cross_entropy(logits.flatten(0, 1), labels[chosen].flatten(), reduction="sum")
            (loss / batch).backward()
            self.sgd.step(self.hyper, self.clock.cosine())
            self.clock.tick()

        self.step = Captured(step, device)

        def examiner(x: Tensor, y: Tensor) -> Examiner:
            some = features(x[: pace.examined])
            return Examiner(self._alone, models, some, y[: pace.examined], 1)

        self.valid, self.test = examiner(*images.valid), examiner(*images.test)

    def answers(self, x: Tensor, *, train: bool) -> Tensor:
        """Logits [models, n, classes] of [models, n, features]."""
        for i, (weight, bias) in enumerate(self.layers):
            x = torch.baddbmm(bias, x, weight)
            if i < len(self.drop):
                x = F.relu(x)
                if train:
                    stay = torch.rand_like(x) >= self.drop[i]
                    x = x * stay / (1 - self.drop[i]).clamp(min=1e-3)
        return x

    def _alone(self, x: Tensor) -> Tensor:
        """Answers of all models to the same inputs [n, features], as they are examined."""
        return self.answers(x.expand(len(self.configs), -1, -1), train=False)

    def restart(self, seed: int) -> None:
        """New weights."""
        self.weights.restart(seed)
        self.sgd.restart()
        self.clock.now.zero_()


def _padded(models: int, shape: Sequence[int], real: np.ndarray) -> Any:
    def make(source: torch.Generator) -> Tensor:
        drawn = torch.randn((models, *shape), generator=source)
        rows = torch.arange(shape[0])[None, :] < torch.tensor(real[:, :1])
        columns = torch.arange(shape[1])[None, :] < torch.tensor(real[:, 1:])
        scale = torch.sqrt(2.0 / torch.tensor(real[:, 0], dtype=torch.float32))
        return drawn * scale[:, None, None] * rows[:, :, None] * columns[:, None, :]

    return make


def grouped(configs: Sequence[dict[str, Any]], rows: Sequence[int]) -> list[list[int]]:
    """Rows that train as one: alike in layers and bucket of width."""
    groups: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        config = configs[row]
        bucket = next(b for b in BUCKETS if config["max_units"] <= b)
        groups.setdefault((config["num_layers"], bucket), []).append(row)
    return [groups[key] for key in sorted(groups)]


def run(
    groups: Sequence[Group], pace: Pace, seed: int, device: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Train groups one after the other; each one's curves and test results.

    Not side by side on streams of their own: graphs captured on one stream share the workspace of
    the matrix products, so that replayed at the same time they write into each other's sums.
    """
    results = []
    for number, group in enumerate(groups):
        group.restart(seed + number)
        torch.manual_seed(seed + number)
        source = torch.Generator(device).manual_seed(seed + number)
        gap = group.orders.steps // pace.points_an_epoch
        curve = []
        for _ in range(pace.epochs):
            group.orders.shuffle(source)
            for step in range(group.orders.steps):
                group.step()
                if (step + 1) % gap == 0:
                    curve.append(group.valid())
        results.append((torch.stack(curve, 1).cpu().numpy(), group.test().cpu().numpy()))
    return results
