"""The search spaces of the recorded tables, and the configurations that were drawn from them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

# The recorder runs from a checkout, on machines where the package need not be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from cells import EDGES, OPERATIONS

from rungwise.space import Choice, Float, Int, Space

PD1 = Space.parse(
    {
        "learning_rate": Float(1e-5, 10.0, log=True),
        "one_minus_momentum": Float(1e-3, 1.0, log=True),
        "decay_power": Float(0.1, 2.0),
        "decay_fraction": Float(0.01, 0.99),
    }
)
"""The four hyperparameters of PD1, with their ranges (section 5.3 of the PASHA paper)."""

LCBENCH = Space.parse(
    {
        "batch_size": Choice([16, 32, 64, 128, 256, 512]),
        "learning_rate": Float(1e-4, 1e-1, log=True),
        "max_dropout": Float(0.0, 1.0),
        "max_units": Int(64, 1024, log=True),
        "momentum": Float(0.1, 0.99),
        "num_layers": Int(1, 5),
        "weight_decay": Float(1e-5, 1e-1),
    }
)
"""LCBench's seven; batch sizes are powers of two only, since models of one size train as one."""

CELL = Space.parse({f"edge_{a}_to_{b}": Choice(list(OPERATIONS)) for a, b in EDGES})
"""NAS-Bench-201's cell: one of five operations on each of six edges."""


def draw(space: Space, count: int, seed: int) -> list[dict[str, Any]]:
    """Configurations drawn at random."""
    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(count)]


def draw_architectures(count: int, chunk: int, seed: int) -> np.ndarray:
    """Architectures as [count, 6] numbers of operations, all different.

    Within each chunk every edge has every operation equally often: drawn at random otherwise. So
    all chunks have weights of the same shapes, and are trained by one captured graph.
    """
    if count % chunk or chunk % len(OPERATIONS):
        raise ValueError(f"{count} must be chunks of {chunk}, a multiple of {len(OPERATIONS)}")
    rng = np.random.default_rng(seed)
    seen: set[bytes] = set()
    chunks: list[np.ndarray] = []
    balanced = np.repeat(np.arange(len(OPERATIONS), dtype=np.int8), chunk // len(OPERATIONS))
    while len(chunks) < count // chunk:
        drawn = np.stack([rng.permutation(balanced) for _ in EDGES], axis=1)
        for _ in range(10_000):
            keys = [row.tobytes() for row in drawn]
            again = [i for i, key in enumerate(keys) if key in seen or key in keys[:i]]
            if not again:
                break
            # An operation changes places with that of another architecture: the balance stays.
            i, edge = again[0], rng.integers(len(EDGES))
            j = rng.integers(chunk)
            drawn[[i, j], edge] = drawn[[j, i], edge]
        else:
            continue
        seen.update(keys)
        chunks.append(drawn)
    return np.concatenate(chunks)


def cell_configs(architectures: np.ndarray) -> list[dict[str, Any]]:
    """Architectures as configurations of the cell's space."""
    return [
        {f"edge_{a}_to_{b}": OPERATIONS[op] for (a, b), op in zip(EDGES, row, strict=True)}
        for row in architectures
    ]
