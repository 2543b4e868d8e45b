"""Each library of peers.py, as its documentation shows it; one study per process.

python _peers_systems.py SYSTEM SEED SECONDS FOLDER prints the winner as a line of JSON. Libraries
are imported, and Ray is started, before the clock runs.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from _peers_task import BATCHES, ETA, MAX_EPOCHS, Network

WORKERS = 2
Config = dict[str, Any]
Outcome = tuple[Config, float, int]
"""(the winner, its validation accuracy, how many trials there were); {} if there is no winner"""


def train_rungwise(config: Config, run: Any) -> None:
    """The training function of rungwise."""
    network = Network(config, run.seed)
    if run.latest:
        network.restore(run.latest / "model.npz")
    for epoch in run.resources():
        network.train()
        with run.checkpoint(epoch) as folder:
            network.save(folder / "model.npz")
        run.report(epoch, accuracy=network.validate())


def use_rungwise(seed: int, seconds: float, folder: Path) -> Callable[[], Outcome]:
    """``rungwise.tune`` with its defaults."""
    rw = importlib.import_module("rungwise")
    space = {
        "learning_rate": rw.Float(1e-3, 1.0, log=True),
        "momentum": rw.Float(0.0, 0.99),
        "batch_size": list(BATCHES),
        "hidden_units": rw.Int(8, 128, log=True),
        "decay": rw.Float(1e-6, 1e-1, log=True),
    }

    def run() -> Outcome:
        found = rw.tune(
            train_rungwise,
            space,
            metric="accuracy",
            max_resource=MAX_EPOCHS,
            seconds=seconds,
            workers=WORKERS,
            seed=seed,
            study=folder / "study.db",
            show="quiet",
        )
        return dict(found.best.config), found.best.value, found.trials

    return run


def suggest(trial: Any) -> Config:
    """A configuration, the way Optuna asks for it."""
    return {
        "learning_rate": trial.suggest_float("learning_rate", 1e-3, 1.0, log=True),
        "momentum": trial.suggest_float("momentum", 0.0, 0.99),
        "batch_size": trial.suggest_categorical("batch_size", BATCHES),
        "hidden_units": trial.suggest_int("hidden_units", 8, 128, log=True),
        "decay": trial.suggest_float("decay", 1e-6, 1e-1, log=True),
    }


def run_optuna(seed: int, seconds: float, storage: str, number: int) -> None:
    """One of the processes of Optuna."""
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        network, accuracy = Network(suggest(trial), seed * 1000 + trial.number), 0.0
        for epoch in range(1, MAX_EPOCHS + 1):
            network.train()
            accuracy = network.validate()
            trial.report(accuracy, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return accuracy

    study = optuna.load_study(
        study_name="peers",
        storage=open_journal(storage),
        sampler=optuna.samplers.TPESampler(seed=seed * 100 + number),
        pruner=optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=MAX_EPOCHS, reduction_factor=ETA
        ),
    )
    study.optimize(objective, timeout=seconds)


def open_journal(path: str) -> Any:
    """The storage that Optuna's processes share."""
    journal = importlib.import_module("optuna.storages.journal")
    storages = importlib.import_module("optuna.storages")
    return storages.JournalStorage(journal.JournalFileBackend(path))


def use_optuna(seed: int, seconds: float, folder: Path) -> Callable[[], Outcome]:
    """TPE and HyperbandPruner, in processes on one journal."""
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = str(folder / "journal.log")
    study = optuna.create_study(
        study_name="peers", storage=open_journal(storage), direction="maximize"
    )

    def run() -> Outcome:
        context = get_context("fork")
        given = [(seed, seconds, storage, number) for number in range(WORKERS)]
        processes = [context.Process(target=run_optuna, args=each) for each in given]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        best = study.best_trial
        return dict(best.params), best.value, len(study.get_trials(deepcopy=False))

    return run


def make_ray(search: str) -> Callable[[int, float, Path], Callable[[], Outcome]]:
    """Ray Tune with ASHA, and with a searcher."""

    def use(seed: int, seconds: float, folder: Path) -> Callable[[], Outcome]:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray = importlib.import_module("ray")
        ray.init(
            num_cpus=WORKERS, include_dashboard=False, log_to_driver=False,
            logging_level=logging.ERROR, _temp_dir=str(folder / "ray"),
            runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}},
        )  # fmt: skip
        tune = importlib.import_module("ray.tune")
        asha = importlib.import_module("ray.tune.schedulers").ASHAScheduler
        searcher = None
        if search:
            searcher = importlib.import_module("ray.tune.search.optuna").OptunaSearch(seed=seed)

        def train(config: Config) -> None:
            network = Network(config, seed)
            for _ in range(MAX_EPOCHS):
                network.train()
                tune.report({"accuracy": network.validate()})

        space = {
            "learning_rate": tune.loguniform(1e-3, 1.0),
            "momentum": tune.uniform(0.0, 0.99),
            "batch_size": tune.choice(list(BATCHES)),
            "hidden_units": tune.lograndint(8, 129),
            "decay": tune.loguniform(1e-6, 1e-1),
        }
        settings = tune.TuneConfig(
            metric="accuracy", mode="max", num_samples=-1, time_budget_s=seconds,
            max_concurrent_trials=WORKERS, search_alg=searcher,
            scheduler=asha(max_t=MAX_EPOCHS, grace_period=1, reduction_factor=ETA),
        )  # fmt: skip
        where = tune.RunConfig(storage_path=str(folder / "results"), verbose=0)
        tuner = tune.Tuner(train, param_space=space, tune_config=settings, run_config=where)

        def run() -> Outcome:
            results = tuner.fit()
            if not any("accuracy" in (each.metrics or {}) for each in results):
                return {}, 0.0, len(results)  # no trial got as far as a report
            best = results.get_best_result()
            return dict(best.config), best.metrics["accuracy"], len(results)

        return run

    return use


def use_syne_tune(seed: int, seconds: float, folder: Path) -> Callable[[], Outcome]:
    """Syne Tune's ASHA with LocalBackend."""
    os.environ["SYNETUNE_FOLDER"] = str(folder)
    syne_tune = importlib.import_module("syne_tune")
    space = importlib.import_module("syne_tune.config_space")
    asha = importlib.import_module("syne_tune.optimizer.baselines").ASHA
    backend = importlib.import_module("syne_tune.backend.local_backend").LocalBackend
    script = Path(__file__).with_name("_peers_syne_tune_script.py").resolve()
    scheduler = asha(
        {
            "learning_rate": space.loguniform(1e-3, 1.0),
            "momentum": space.uniform(0.0, 0.99),
            "batch_size": space.choice(list(BATCHES)),
            "hidden_units": space.lograndint(8, 128),
            "decay": space.loguniform(1e-6, 1e-1),
            "seed": seed,
        },
        metric="accuracy", time_attr="epoch", max_t=MAX_EPOCHS, do_minimize=False,
        grace_period=1, reduction_factor=ETA, random_seed=seed,
    )  # fmt: skip
    tuner = syne_tune.Tuner(
        trial_backend=backend(entry_point=str(script)),
        scheduler=scheduler,
        stop_criterion=syne_tune.StoppingCriterion(max_wallclock_time=seconds),
        n_workers=WORKERS,
        sleep_time=0.5,
        print_update_interval=10_000,
    )

    def run() -> Outcome:
        tuner.run()
        _, best = tuner.best_config()
        status = tuner.tuning_status.overall_metric_statistics
        trials = tuner.tuning_status.num_trials_started
        names = ("learning_rate", "momentum", "batch_size", "hidden_units", "decay")
        return {name: best[name] for name in names}, status.max_metrics["accuracy"], trials

    return run


SYSTEMS: dict[str, Callable[[int, float, Path], Callable[[], Outcome]]] = {
    "rungwise": use_rungwise,
    "optuna": use_optuna,
    "ray-asha": make_ray(""),
    "ray-asha-optuna": make_ray("optuna"),
    "syne-tune": use_syne_tune,
}


def main() -> None:
    """One study."""
    system, seed, seconds, folder = sys.argv[1:]
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    run = SYSTEMS[system](int(seed), float(seconds), Path(folder))
    begin = time.perf_counter()
    config, accuracy, trials = run()
    took = time.perf_counter() - begin
    plain = {name: float(value) for name, value in config.items()}
    found = {"config": plain, "validation": accuracy, "trials": trials, "seconds": took}
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()
    print("\n" + json.dumps(found), flush=True)
    os._exit(0)  # what a library leaves running is not waited for


if __name__ == "__main__":
    main()
