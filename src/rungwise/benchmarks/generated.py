"""Generated learning curves, for demonstrations, tests and measuring speed."""

from __future__ import annotations

import numpy as np

from rungwise.benchmarks.table import Table
from rungwise.core.seeding import generator
from rungwise.validation import real, whole


def power_laws(
    rows: int, resources: int = 200, *, seed: int = 0, noise: float = 0.01, crossings: bool = True
) -> Table:
    """A table of validation errors a + b·e^(−c), plus noise.

    Args:
        rows: how many configurations.
        resources: how many epochs each.
        seed: which curves.
        noise: the standard deviation of every measurement.
        crossings: whether curves differ in speed, so that early leaders may lose; without it they
            keep their order (but for the noise).
    """
    whole("rows", rows, at_least=1)
    whole("resources", resources, at_least=1)
    whole("seed", seed, at_least=0)
    real("noise", noise, at_least=0)
    rng = generator(seed, "power laws")
    final = 0.05 + 0.6 * rng.beta(2, 5, rows)
    start = 0.3 + 0.5 * final if not crossings else rng.uniform(0.2, 0.8, rows)
    speed = np.full(rows, 0.6) if not crossings else rng.uniform(0.3, 1.0, rows)
    epochs = np.arange(1, resources + 1)
    curves = final[:, None] + start[:, None] * epochs ** -speed[:, None]
    curves += noise * rng.standard_normal(curves.shape)
    return Table(curves, seconds=rng.uniform(5, 20, rows), goal="min")
