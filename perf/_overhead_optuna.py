"""Optuna's side of overhead.py: several processes on one storage, SQLite or journal.

Each is a process of its own, as Optuna's documentation has it; the clock runs from when all have
imported Optuna and opened the storage. Configurations are drawn at random (the default, TPE, takes
more time the more trials there are). fixed: an equal share of the trials for each process, and
no pruning. asha: SuccessiveHalvingPruner, asked after every report, and MaxTrialsCallback, so that
up to one trial per worker may come on top.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from _overhead_common import ETA, Task, peak_mb, print_outcome, run_processes, tally, wait_for_go


def open_storage(optuna: Any, task: Task) -> Any:
    """The storage that all processes share."""
    if task.system == "optuna-sqlite":
        # By default SQLite waits 5 s for the others, and then the study fails.
        patient = {"connect_args": {"timeout": 100}}
        url = f"sqlite:///{task.folder}/study.db"
        return optuna.storages.RDBStorage(url, engine_kwargs=patient)
    journal = importlib.import_module("optuna.storages.journal")
    path = str(Path(task.folder, "study.log"))
    return optuna.storages.JournalStorage(journal.JournalFileBackend(path))


def run_process(optuna: Any, task: Task, number: int) -> None:
    """One of the processes."""
    mine = tally(task)
    fixed = task.mode == "fixed"

    def objective(trial: Any) -> float:
        x, loss = trial.suggest_float("x", 0, 1), 0.0
        for epoch in range(1, task.longest + 1):
            loss = mine.train(x, epoch)
            trial.report(loss, epoch)
            mine.reported()
            if not fixed and trial.should_prune():
                raise optuna.TrialPruned
        return loss

    # min_resource: "auto", the default, would have to wait for trials that completed.
    halving = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=ETA)
    study = optuna.load_study(
        study_name="overhead",
        storage=open_storage(optuna, task),
        sampler=optuna.samplers.RandomSampler(seed=number),
        pruner=optuna.pruners.NopPruner() if fixed else halving,
    )
    enough = optuna.study.MaxTrialsCallback(task.trials, states=None)
    share = len(range(number, task.trials, task.workers))
    wait_for_go()
    if share:
        study.optimize(
            objective,
            n_trials=share if fixed else None,
            timeout=task.limit,
            callbacks=[] if fixed else [enough],
        )
    print(json.dumps({"peak_mb": peak_mb()}))


def main() -> None:
    """Measure one task, or be one of the processes that do."""
    task = Task.given()
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if sys.argv[1:]:
        run_process(optuna, task, int(sys.argv[2]))
        return
    storage = open_storage(optuna, task)
    study = optuna.create_study(study_name="overhead", storage=storage, direction="minimize")
    watch, said = run_processes(task, __file__)
    seen = sum(len(trial.intermediate_values) for trial in study.get_trials(deepcopy=False))
    print_outcome(task, watch, seen, peak=max(each["peak_mb"] for each in said))


if __name__ == "__main__":
    main()
