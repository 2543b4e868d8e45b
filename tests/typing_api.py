"""The public API as a typed program uses it; checked by mypy, run by nobody."""

import numpy as np

import rungwise as rw

table: rw.Table = rw.Table(np.ones((3, 4)), seconds=[1.0, 2.0, 3.0], goal="max")
ragged: rw.Table = rw.Table([[0.1, 0.2], [0.3]])
recipe: rw.PASHA = rw.PASHA(max_resource=4, ranking=rw.rankings.Soft(0.1), check="report")
result: rw.SimulationResult = rw.simulate(table, recipe, trials=[0, 1, 2], workers=2)
again: rw.SimulationResult = rw.simulate(table, rw.FixedResource(1), trials=3, finish="paper")
jobs: list[tuple[int, int, int]] = result.jobs
if result.best is not None:
    row: int = result.best.row
    value: float = result.best.value
stable: bool = rw.rankings.RBO(p=0.5, t=0.5).stable([0.1, 0.2], [0.2, 0.1], goal="min")
space: rw.Space = rw.Space.parse({"lr": rw.Float(1e-5, 10, log=True), "layers": rw.Int(1, 5)})
