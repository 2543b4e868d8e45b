"""The data that the recorded tables are trained on: Fashion-MNIST and a public-domain text."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

FASHION = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
"""The files of Fashion-MNIST: images and labels to train on, and of the test set."""
TEXT = "text.txt"
IMAGES = 28
CLASSES = 10
SYMBOLS = 64
"""The size of the alphabet of the text: a power of two, which the batched products like."""


@dataclass(frozen=True)
class Images:
    """Images as floats in [0, 1] of shape [n, 28, 28], labels in 0..9; three disjoint parts."""

    train: tuple[torch.Tensor, torch.Tensor]
    valid: tuple[torch.Tensor, torch.Tensor]
    test: tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Text:
    """A text as symbols in 0..63; three disjoint stretches of it."""

    train: torch.Tensor
    valid: torch.Tensor
    test: torch.Tensor


def fashion(folder: Path, *, train: int, valid: int, device: str) -> Images:
    """Fashion-MNIST, the training set split at random, by a fixed seed, into train and valid."""
    images, labels = _idx(folder / FASHION[0], folder / FASHION[1])
    held_out = _idx(folder / FASHION[2], folder / FASHION[3])
    order = np.random.default_rng(20260101).permutation(len(images))
    first, second = order[:train], order[train : train + valid]

    def part(x: np.ndarray, y: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        scaled = torch.tensor(x, dtype=torch.float32, device=device) / 255
        return scaled, torch.tensor(y.astype(np.int64), device=device)

    return Images(
        part(images[first], labels[first]),
        part(images[second], labels[second]),
        part(*held_out),
    )


def made_up_images(*, train: int, valid: int, device: str) -> Images:
    """Ten noisy patterns: something to train on where the real images are not available."""
    rng = np.random.default_rng(0)
    # Coarse, so that they are still known when they are moved by a few pixels.
    patterns = np.kron(rng.random((CLASSES, 4, 4)), np.ones((IMAGES // 4, IMAGES // 4)))

    def part(n: int) -> tuple[torch.Tensor, torch.Tensor]:
        y = rng.integers(0, CLASSES, n)
        x = 0.8 * patterns[y] + 0.2 * rng.random((n, IMAGES, IMAGES))
        return (
            torch.tensor(x, dtype=torch.float32, device=device),
            torch.tensor(y, device=device),
        )

    return Images(part(train), part(valid), part(valid))


def text(path: Path, *, device: str) -> Text:
    """In lower case; of ten blocks of 4,096 symbols eight train, one validates and one tests."""
    return _split(_symbols(path.read_text(encoding="utf-8", errors="replace")), device)


def made_up_text(*, device: str) -> Text:
    """Sentences of few words, for trying the recorder out."""
    rng = np.random.default_rng(0)
    words = ["the", "ladder", "has", "many", "rungs", "and", "one", "best"]
    return _split(_symbols(" ".join(words[i] for i in rng.integers(0, len(words), 40_000))), device)


def _symbols(written: str) -> np.ndarray:
    lowered = written.lower()
    counts = np.unique(np.array(list(lowered)), return_counts=True)
    common = [str(c) for c in counts[0][np.argsort(-counts[1], kind="stable")]][: SYMBOLS - 1]
    codes = {symbol: code for code, symbol in enumerate(sorted(common))}
    return np.array([codes.get(symbol, SYMBOLS - 1) for symbol in lowered], dtype=np.uint8)


def _split(symbols: np.ndarray, device: str, block: int = 4096) -> Text:
    blocks = symbols[: len(symbols) // block * block].reshape(-1, block)
    role = np.arange(len(blocks)) % 10
    parts = [blocks[role < 8], blocks[role == 8], blocks[role == 9]]
    train, valid, test = (torch.tensor(part.reshape(-1), device=device) for part in parts)
    return Text(train, valid, test)


def _idx(images: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    """The two files of a part, in the IDX format: a header of 16 or 8 bytes, then bytes."""
    with gzip.open(images) as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, IMAGES, IMAGES)
    with gzip.open(labels) as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    return x, y
