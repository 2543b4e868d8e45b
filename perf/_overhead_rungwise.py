"""rungwise's side of overhead.py: rungwise.tune with a study file.

Every report is committed to the study file before it is acknowledged: rungwise with the default
durability (survives any kill of any process), rungwise-full with durability="full" (survives power
loss, too), rungwise-ray with workers on a Ray that is started as for Ray Tune. fixed:
FixedResource. asha: ASHA, which promotes, with a checkpoint (an empty file) at every epoch that a
job ends with, so that nothing is trained twice. rungwise+csv and so on: with a callback, for
callbacks.py.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from _overhead_common import ETA, MAX_RESOURCE, Task, print_outcome, start_ray, stopwatch, tally

import rungwise as rw

LEVELS = {ETA**power for power in range(10) if ETA**power < MAX_RESOURCE}


def train(config: dict[str, Any], run: Any) -> None:
    """The trainable."""
    mine, task = tally(), Task.given()
    for epoch in run.resources():
        loss = mine.train(config["x"], epoch)
        if task.mode == "asha" and epoch in LEVELS:
            with run.checkpoint(epoch) as folder:
                (folder / "marker").touch()
        run.report(epoch, loss=loss)
        mine.reported()


def choose_callbacks(task: Task) -> dict[str, Any]:
    """What the study is tracked with: rungwise+csv, rungwise+tensorboard, …; in the folder."""
    name = task.system.partition("+")[2]
    folder = Path(task.folder)
    if not name:
        return {}  # nor does a version know them that has none
    made: dict[str, list[Any]] = {
        "csv": [rw.callbacks.CSV(folder / "reports.csv")],
        "tensorboard": [rw.callbacks.TensorBoard(folder / "runs")],
        "mlflow": [rw.callbacks.MLflow(f"sqlite:///{folder}/mlflow.db")],
        "wandb": [rw.callbacks.WandB(mode="offline", folder=folder)],
    }
    if name == "mlflow":  # its tables are made before, which is setup
        tracking = importlib.import_module("mlflow.tracking")
        tracking.MlflowClient(f"sqlite:///{folder}/mlflow.db").search_experiments()
    return {"callbacks": made[name]}


def choose_backend(task: Task) -> dict[str, Any]:
    """Where it trains; Ray is started before, which is setup, as for Ray Tune."""
    if task.system != "rungwise-ray":
        return {"workers": task.workers}  # local ones; versions before Local know it, too
    start_ray(task)
    return {"backend": rw.Ray(workers=task.workers)}


def main() -> None:
    """Measure one task."""
    task = Task.given()
    backend, callbacks = choose_backend(task), choose_callbacks(task)
    scheduler: Any = rw.FixedResource(task.epochs)
    if task.mode == "asha":
        scheduler = rw.ASHA(max_resource=MAX_RESOURCE, eta=ETA)
    with stopwatch(task) as watch:
        result = rw.tune(
            train,
            {"x": rw.Float(0, 1)},
            metric="loss",
            goal="min",
            max_resource=task.longest,
            trials=task.trials,
            **backend,
            scheduler=scheduler,
            study=str(Path(task.folder, "study.db")),
            durability="full" if task.system == "rungwise-full" else "normal",
            seconds=task.limit,
            show="quiet",
            seed=0,
            **callbacks,
        )
    print_outcome(task, watch, seen=result.reports)


if __name__ == "__main__":
    main()
