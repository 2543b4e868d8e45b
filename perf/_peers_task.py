"""What peers.py tunes: a perceptron in NumPy on Fashion-MNIST, the same code for every library.

8,000 images of the training set are trained on, 2,000 others give the reported accuracy; winners
are tested on the 10,000 test images, which nothing was chosen by. Images are 14 × 14 points, means
of four. An epoch takes about 10 ms of one core.
"""

from __future__ import annotations

import gzip
import math
import os
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

MAX_EPOCHS = 81
ETA = 3
FOLDER = "RUNGWISE_PEERS_DATA"
"""The environment variable that says where the four files of Fashion-MNIST are."""

BATCHES = (32, 64, 128, 256)
TRAINING, VALIDATION = 8000, 2000


def read_idx(name: str) -> np.ndarray:
    """An array of one of the files."""
    with gzip.open(Path(os.environ[FOLDER], f"{name}-ubyte.gz")) as file:
        content = file.read()
    dimensions = content[3]
    shape = [int(size) for size in np.frombuffer(content, ">u4", dimensions, 4)]
    values: np.ndarray = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
    found: np.ndarray = np.reshape(values, shape)
    return found


def shrink(images: np.ndarray) -> np.ndarray:
    """Half as wide and high, in 0…1, one image a row."""
    means = images.reshape(len(images), 14, 2, 14, 2).mean(axis=(2, 4))
    found: np.ndarray = (means.reshape(len(images), -1) / 255).astype(np.float32)
    return found


@lru_cache(maxsize=1)
def load() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """(images, labels) for training and for validation."""
    order = np.random.default_rng(20260101).permutation(60_000)[: TRAINING + VALIDATION]
    images = shrink(read_idx("train-images-idx3")[order])
    labels = read_idx("train-labels-idx1")[order]
    return (images[:TRAINING], labels[:TRAINING]), (images[TRAINING:], labels[TRAINING:])


class Network:
    """One hidden layer, trained by gradient descent with momentum and a decay of weights.

    Args:
        config: learning_rate, momentum, batch_size, hidden_units, decay.
        seed: of the weights and of the order of images.
    """

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self.config = config
        self.seed = seed
        self.epoch = 0
        rng = np.random.default_rng(seed)
        sizes = (196, int(config["hidden_units"]), 10)
        self.weights = [
            (rng.standard_normal(pair) * math.sqrt(2 / pair[0])).astype(np.float32)
            for pair in pairwise(sizes)
        ]
        self.weights += [np.zeros(size, np.float32) for size in sizes[1:]]
        self.speeds = [np.zeros_like(each) for each in self.weights]

    def train(self) -> None:
        """One epoch."""
        (images, labels), _ = load()
        self.epoch += 1
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(images))
        size = int(self.config["batch_size"])
        with np.errstate(all="ignore"):  # one that diverges is worth nothing, and says so
            for begin in range(0, len(order), size):
                chosen = order[begin : begin + size]
                self._step(images[chosen], labels[chosen])

    def _step(self, images: np.ndarray, labels: np.ndarray) -> None:
        first, second, below, above = self.weights
        hidden = np.maximum(images @ first + below, 0)
        scores = hidden @ second + above
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        wrong = scores / scores.sum(axis=1, keepdims=True)
        wrong[np.arange(len(labels)), labels] -= 1
        wrong /= len(labels)
        back = (wrong @ second.T) * (hidden > 0)
        slopes = [images.T @ back, hidden.T @ wrong, back.sum(axis=0), wrong.sum(axis=0)]
        rate, momentum = self.config["learning_rate"], self.config["momentum"]
        for number, (weights, slope) in enumerate(zip(self.weights, slopes, strict=True)):
            pull = slope + self.config["decay"] * weights
            self.speeds[number] = momentum * self.speeds[number] - rate * pull
            self.weights[number] = weights + self.speeds[number]

    def score(self, images: np.ndarray, labels: np.ndarray) -> float:
        """The accuracy."""
        first, second, below, above = self.weights
        with np.errstate(all="ignore"):
            scores = np.maximum(images @ first + below, 0) @ second + above
        if not np.isfinite(scores).all():
            return 0.0
        return float((scores.argmax(axis=1) == labels).mean())

    def validate(self) -> float:
        """The accuracy that is reported."""
        return self.score(*load()[1])

    def save(self, path: Path) -> None:
        """Everything that the next epoch needs."""
        with path.open("wb") as file:
            np.savez(file, np.array(self.epoch), *self.weights, *self.speeds)

    def restore(self, path: Path) -> None:
        """What was saved."""
        with np.load(path) as file:
            epoch, *arrays = (file[name] for name in file.files)
        self.epoch, self.weights, self.speeds = int(epoch), arrays[:4], arrays[4:]


def test_winner(config: dict[str, Any], seed: int) -> float:
    """The test accuracy of a configuration, trained from scratch for all epochs."""
    network = Network(config, seed)
    for _ in range(MAX_EPOCHS):
        network.train()
    return network.score(shrink(read_idx("t10k-images-idx3")), read_idx("t10k-labels-idx1"))
