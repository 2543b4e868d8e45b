"""Figures of a comparison: curves, the climb, and what was found for what was spent.

    python examples/plots.py FOLDER

writes them to a folder; without one they are drawn and deleted. The curves are generated; put
your own into ``rw.Table(values, seconds=…, goal=…)``, or draw a study of yours with
``plots.learning_curves(rw.load("study.db"))``.
"""

# needs vl_convert

import sys
import tempfile
from pathlib import Path

import numpy as np
import vl_convert  # noqa: F401 - what draws figures: pip install 'rungwise[plots]'

import rungwise as rw
from rungwise import plots

EPOCHS = 81
table = rw.power_laws(rows=500, resources=EPOCHS, seed=7)
schedulers = {
    "PASHA": rw.PASHA(max_resource=EPOCHS),
    "ASHA": rw.ASHA(max_resource=EPOCHS),
    "one epoch each": rw.FixedResource(1),
    "three epochs each": rw.FixedResource(3),
}

points = []
for name, scheduler in schedulers.items():
    runs = [rw.simulate(table, scheduler, trials=128, seed=seed) for seed in range(5)]
    found = np.array([table.values[run.best.row, -1] for run in runs])
    spent = np.array([run.resource_spent for run in runs])
    points.append(plots.Point(name, found.mean(), spent.mean(), found.std(), spent.std()))

curves = plots.learning_curves(table, sample=128)
# A figure is a Vega-Lite specification: add to it what you like.
median = enumerate(np.median(table.values, axis=0).tolist(), start=1)
line = {
    "data": {"values": [{"x": epoch, "y": value} for epoch, value in median]},
    "mark": {"type": "line", "strokeDash": [4, 3], "tooltip": "the median"},
}
curves.spec["layer"].append(line)

pasha = rw.simulate(table, schedulers["PASHA"], trials=128)
figures = {
    "curves": curves,
    "climb": plots.ladder(pasha),
    "noise": plots.epsilon(pasha),
    "pareto": plots.pareto(points, goal="min", value="error in the end", cost="epochs trained"),
}
with tempfile.TemporaryDirectory() as passing:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else passing)
    for name, figure in figures.items():
        for ending in ("html", "svg", "png"):
            written = plots.export(figure, folder / f"{name}.{ending}")
            print(f"{written.name:12} {written.stat().st_size / 1e6:5.2f} MB")

for point in points:
    print(f"{point.label:18} error {point.value:.4f} for {point.cost:6.0f} epochs")
