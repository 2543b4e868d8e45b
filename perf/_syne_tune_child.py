"""Syne Tune's side of against_syne_tune.py, which starts this file in Syne Tune's interpreter.

Takes what to measure as JSON, prints what came of it as JSON, and must not import rungwise.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import logging
import platform
import sys
import time
import types
import warnings
from dataclasses import dataclass
from datetime import datetime, timezone
from heapq import heappop, heappush
from typing import Any


@dataclass(frozen=True)
class Task:
    """What to measure; see --help of against_syne_tune.py."""

    table: str
    scheduler: str
    through: str
    workers: int
    seed: int
    limit: float


def make_scheduler(task: Task, rows: int, epochs: int) -> Any:
    """ASHA or PASHA that starts the configurations row = 0, 1, 2 and so on."""
    baselines = importlib.import_module("syne_tune.optimizer.baselines")
    space = {"row": importlib.import_module("syne_tune.config_space").randint(0, rows - 1)}
    options: dict[str, Any] = {"type": "promotion"} if task.scheduler == "ASHA" else {}
    if task.through == "tuner":  # so a trial gets the rung where it ends, as they recommend
        space |= {"table": 0, "epochs": epochs}  # constants
        options["max_resource_attr"] = "epochs"
    else:
        options["max_t"] = epochs
    # The rows are handed over as points to evaluate, as rungwise gets them: drawing them all at
    # random without replacement would cost Syne Tune retries that are not its schedulers' fault.
    return getattr(baselines, task.scheduler)(
        space,
        metric="loss",
        resource_attr="epoch",
        mode="min",
        grace_period=1,
        reduction_factor=3,
        random_seed=task.seed,
        search_options={"debug_log": False},
        points_to_evaluate=[{"row": row} for row in range(rows)],
        **options,
    )


def through_scheduler(task: Task, values: Any, times: Any) -> dict[str, Any]:
    """Drive a scheduler as the Tuner does, in virtual time.

    Ends as soon as every curve has been started, or after ``task.limit`` seconds of real time.
    """
    Trial = importlib.import_module("syne_tune.backend.trial_status").Trial
    curves, seconds = values.tolist(), times.tolist()
    scheduler = make_scheduler(task, *values.shape)
    created = datetime.now(timezone.utc)
    agenda: list[tuple[float, int, Any]] = []
    trials: list[Any] = []
    epochs = [0] * len(curves)
    free, now, scheduled, reports = task.workers, 0.0, 0, 0
    deadline = time.monotonic() + task.limit
    start = time.process_time()
    while True:
        while free and len(trials) < len(curves):
            suggestion = scheduler.suggest(trial_id=len(trials))
            if suggestion.spawn_new_trial_id:
                trial = Trial(len(trials), suggestion.config.copy(), created)
                scheduler.on_trial_add(trial=trial)
                trials.append(trial)
            else:
                trial = trials[suggestion.checkpoint_trial_id]
                if suggestion.config is not None:
                    trial.config = suggestion.config
            free -= 1
            scheduled += 1
            heappush(agenda, (now + seconds[trial.trial_id], scheduled, trial))
        if len(trials) == len(curves) or time.monotonic() > deadline:
            break
        now, _, trial = heappop(agenda)
        row = trial.trial_id
        result = {"loss": curves[row][epochs[row]], "epoch": epochs[row] + 1}
        epochs[row] += 1
        reports += 1
        if scheduler.on_trial_result(trial=trial, result=result) == "CONTINUE":
            scheduled += 1
            heappush(agenda, (now + seconds[row], scheduled, trial))
        else:  # paused at a rung, or stopped at the last epoch
            scheduler.on_trial_remove(trial=trial)
            free += 1
    return {
        "cpu": time.process_time() - start,
        "reports": reports,
        "started": len(trials),
        "furthest": max(epochs),
    }


def through_tuner(task: Task, values: Any, times: Any) -> dict[str, Any]:
    """Simulate as the users of Syne Tune do: Tuner, simulator backend, table as a blackbox.

    Ends as through_scheduler. Writes into SYNETUNE_FOLDER.
    """
    syne_tune = importlib.import_module("syne_tune")
    simulator = importlib.import_module("syne_tune.backend.simulator_backend.simulator_callback")
    callback = simulator.SimulatorCallback()
    rows = len(values)
    # More than max_num_trials_started must have started for the criterion to hold.
    all_started = syne_tune.StoppingCriterion(max_num_trials_started=rows - 1)
    deadline = time.monotonic() + task.limit
    tuner = syne_tune.Tuner(
        trial_backend=read_backend_key(values, times),
        scheduler=make_scheduler(task, *values.shape),
        # A function, since the limit of a StoppingCriterion would be one of virtual time here.
        stop_criterion=lambda status: all_started(status) or time.monotonic() > deadline,
        n_workers=task.workers,
        sleep_time=0,
        callbacks=[callback],
        tuner_name="rungwise",
        save_tuner=False,
    )
    start = time.process_time()
    tuner.run()
    return {
        "cpu": time.process_time() - start,
        "reports": len(callback.results),  # those that the scheduler has seen
        "started": tuner.tuning_status.num_trials_started,
        "furthest": max((int(result["epoch"]) for result in callback.results), default=0),
    }


def read_backend_key(values: Any, times: Any) -> Any:
    """The simulator backend for a table: losses of (row, epoch), and how long an epoch takes."""
    np, pandas = importlib.import_module("numpy"), importlib.import_module("pandas")
    randint = importlib.import_module("syne_tune.config_space").randint
    surrogates_without_scikit_learn()
    package = "syne_tune.blackbox_repository"
    rows, epochs = values.shape
    elapsed = times[:, None] * np.arange(1, epochs + 1)
    # BlackboxTabular cannot look up a single hyperparameter (with pandas 3), so there is another
    # one, a constant.
    blackbox = importlib.import_module(f"{package}.blackbox_tabular").BlackboxTabular(
        hyperparameters=pandas.DataFrame({"row": range(rows), "table": 0}),
        configuration_space={"row": randint(0, rows - 1), "table": 0},
        fidelity_space={"epoch": randint(1, epochs)},
        objectives_evaluations=np.stack([values, elapsed], axis=-1)[:, None],
        objectives_names=["loss", "elapsed_time"],
    )
    backend = importlib.import_module(f"{package}.simulated_tabular_backend").UserBlackboxBackend
    return backend(blackbox, elapsed_time_attr="elapsed_time", max_resource_attr="epochs", seed=0)


def surrogates_without_scikit_learn() -> None:
    """Make the package of blackboxes importable where there is no scikit-learn.

    It imports its surrogates, which are not needed here, and these import their base classes from
    scikit-learn: empty classes are enough.
    """
    try:
        importlib.import_module("sklearn")
    except ImportError:
        for part in ("", ".base", ".neighbors", ".pipeline", ".preprocessing"):
            module: Any = types.ModuleType(f"sklearn{part}")
            module.__getattr__ = lambda name: type(name, (), {})
            sys.modules[module.__name__] = module


def main() -> None:
    """Measure one scheduler on a table and print what came of it."""
    task = Task(**json.loads(sys.argv[1]))
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        with importlib.import_module("numpy").load(task.table) as file:
            values, times = file["values"], file["seconds"]
        play = through_tuner if task.through == "tuner" else through_scheduler
        play(task, values[:16], times[:16])  # warm up
        outcome = play(task, values, times)
    versions = {
        **{name: importlib.metadata.version(name) for name in ("syne_tune", "numpy", "pandas")},
        "python": platform.python_version(),
    }
    cut = outcome["started"] < len(values)
    print(json.dumps({**outcome, "cut": cut, "versions": versions}))


if __name__ == "__main__":
    main()
