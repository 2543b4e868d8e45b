"""Syne Tune's side of overhead.py: its Tuner with LocalBackend, a process for every job.

It looks for reports every POLL seconds (5 by default, which would be most of the time measured
here); all else is as by default. The script is _overhead_syne_tune_script.py.
fixed: RandomSearch. asha: ASHA that promotes, with max_resource_attr and checkpoints, so that a job
ends by itself and nothing is trained twice. Up to one more trial per worker may be started.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import warnings
from pathlib import Path
from typing import Any

from _overhead_common import ETA, Task, print_outcome, stopwatch

POLL = 0.05


def make_scheduler(task: Task) -> Any:
    """Random search with a fixed number of epochs, or ASHA."""
    baselines = importlib.import_module("syne_tune.optimizer.baselines")
    uniform = importlib.import_module("syne_tune.config_space").uniform
    space = {"x": uniform(0, 1), "epochs": task.longest}
    common = {"metric": "loss", "mode": "min", "random_seed": 0}
    common["search_options"] = {"debug_log": False}
    if task.mode == "fixed":
        return baselines.RandomSearch(space, **common)
    return baselines.ASHA(
        space,
        type="promotion",
        resource_attr="epoch",
        max_resource_attr="epochs",
        grace_period=1,
        reduction_factor=ETA,
        **common,
    )


def main() -> None:
    """Measure one task."""
    task = Task.given()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.environ["SYNETUNE_FOLDER"] = task.folder
    with contextlib.redirect_stdout(io.StringIO()):
        syne_tune = importlib.import_module("syne_tune")
        backend = importlib.import_module("syne_tune.backend.local_backend").LocalBackend
        script = Path(__file__).resolve().with_name("_overhead_syne_tune_script.py")
        os.chdir(task.folder)  # where it looks for GPUs it leaves a file
        tuner = syne_tune.Tuner(
            trial_backend=backend(entry_point=str(script)),
            scheduler=make_scheduler(task),
            # More than max_num_trials_started must have started for the criterion to hold.
            stop_criterion=syne_tune.StoppingCriterion(
                max_num_trials_started=task.trials - 1, max_wallclock_time=task.limit
            ),
            n_workers=task.workers,
            sleep_time=POLL,
            wait_trial_completion_when_stopping=True,
            tuner_name="overhead",
        )
        with stopwatch(task) as watch:
            tuner.run()
    print_outcome(task, watch, seen=tuner.tuning_status.overall_metric_statistics.count)


if __name__ == "__main__":
    main()
