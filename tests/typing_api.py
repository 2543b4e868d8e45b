"""The public API as a typed program uses it; checked by mypy, never run."""

import os
from pathlib import Path

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


def train(config: dict[str, object], run: rw.Run) -> None:
    """A training function."""
    latest: Path | None = run.latest
    phase: str = run.phase
    for epoch in run.resources(step=2):
        with run.checkpoint(epoch) as folder:
            (folder / "model").write_text(f"{latest} {phase}")
        go_on: bool = run.report(epoch, accuracy=0.5, seconds=np.float32(3))
        if not go_on:
            return


def on_report(report: rw.ReportEvent) -> None:
    """A callback."""
    best: float | None = report.best
    print(report.trial, report.config["lr"], report.resource, report.value, best)  # noqa: T201


tuned: rw.TuningResult = rw.tune(
    train,
    {"lr": rw.Float(1e-5, 10, log=True), "act": ["relu", "tanh"]},
    metric="accuracy",
    goal="max",
    max_resource=200,
    trials=256,
    workers="auto",
    study=Path("digits.db"),
    scheduler=rw.PASHA(),
    searcher=rw.searchers.RandomSearcher(),
    initial=[{"lr": 0.1, "act": "relu"}],
    seconds=3600,
    checkpoint_quota="20GB",
    keep="all",
    on_report=on_report,
    on_end=lambda result: print(result.best),  # noqa: T201
    show="quiet",
)
named: rw.TuningResult = rw.tune(
    train,
    {"lr": [0.1, 0.2, 0.4]},
    metric="accuracy",
    goal="max",
    scheduler="asha",
    searcher="tpe",
    backend=rw.Local(workers=4, gpus_per_worker=0.5, preload=["json"]),
    checkpoints=Path("kept"),
    grace=2,
)
again = rw.simulate(table, "asha:eta=2", trials=3, searcher="sobol")
elsewhere: rw.TuningResult = rw.resume("digits.db", train, backend=rw.Threads(2))
resumed: rw.TuningResult = rw.resume("digits.db", train, workers=2, show="lines")
loaded: rw.TuningResult = rw.load("digits.db")
winner: rw.BestTrial = loaded.best
where: os.PathLike[str] | None = winner.checkpoint
first: float | None = loaded.leaderboard(3)[0].value
points: list[tuple[float, float]] = loaded.curve(winner.trial)
ratio: float = loaded.saved_versus("asha").ratio
full: rw.Retrained = loaded.retrain(train, resource=200, early_stop=20)
model: os.PathLike[str] | None = full.best_checkpoint
accuracy: float = full.metrics["test"]

either: list[rw.StudyResult] = [result, loaded]
view: rw.StudyView = loaded.view
found: rw.BestTrial | None = either[0].best
levels: list[int] = [rung.level for rung in either[1].rungs()]
curves: dict[int, list[tuple[float, float]]] = result.curves()
best_row: int = 0 if result.best is None else result.best.row
