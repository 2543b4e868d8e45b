"""Ray Tune's side of overhead.py: function trainables, or class trainables with reuse_actors.

ray.init is not counted as work but as setup; starting actors is work, since Tune does it in fit().
Its loggers (JSON, CSV and, if installed, TensorBoard) are on, as they are by default.
fixed: FIFO, its default scheduler. asha: ASHAScheduler, which stops trials and never pauses them.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

from _overhead_common import ETA, MAX_RESOURCE, Task, print_outcome, start_ray, stopwatch, tally


def make_function(tune: Any, task: Task) -> Any:
    """The trainable as a function."""

    def train(config: dict[str, float]) -> None:
        mine = tally()
        for epoch in range(1, task.longest + 1):
            tune.report({"loss": mine.train(config["x"], epoch)})
            mine.reported()

    return train


def make_class(tune: Any) -> Any:
    """The trainable as a class, which must be stopped from outside."""

    def setup(self: Any, config: dict[str, float]) -> None:
        self.x = config["x"]

    def step(self: Any) -> dict[str, float]:
        mine = tally()
        loss = mine.train(self.x, self.iteration + 1)
        mine.reported()
        return {"loss": loss}

    def reset_config(self: Any, new_config: dict[str, float]) -> bool:
        self.x = new_config["x"]
        return True

    methods = {"setup": setup, "step": step, "reset_config": reset_config}
    return type("Tiny", (tune.Trainable,), methods)


def make_tuner(tune: Any, task: Task) -> Any:
    """The tuner, ready to go."""
    scheduler = None
    if task.mode == "asha":
        asha = importlib.import_module("ray.tune.schedulers").ASHAScheduler
        scheduler = asha(max_t=MAX_RESOURCE, grace_period=1, reduction_factor=ETA)
    by_class = task.system == "ray-class"
    return tune.Tuner(
        make_class(tune) if by_class else make_function(tune, task),
        param_space={"x": tune.uniform(0, 1)},
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            scheduler=scheduler,
            num_samples=task.trials,
            max_concurrent_trials=task.workers,
            time_budget_s=task.limit,
            reuse_actors=by_class,
        ),
        run_config=tune.RunConfig(
            name="overhead",
            storage_path=f"{task.folder}/results",
            stop={"training_iteration": task.longest} if by_class else None,
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            verbose=0,
        ),
    )


def main() -> None:
    """Measure one task."""
    task = Task.given()
    ray, tune = start_ray(task), importlib.import_module("ray.tune")
    logging.disable(logging.WARNING)
    tuner = make_tuner(tune, task)
    with stopwatch(task) as watch:
        results = tuner.fit()
    if results.num_errors:
        raise RuntimeError(f"{results.num_errors} trials failed: {results.errors[0]}")
    seen = sum((result.metrics or {}).get("training_iteration", 0) for result in results)
    ray.shutdown()
    print_outcome(task, watch, seen)


if __name__ == "__main__":
    main()
