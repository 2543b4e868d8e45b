"""A process that works on a study of Optuna with others; python optuna_worker.py STORAGE TRIALS."""

import sys
import time

import optuna

from rungwise.integrations.optuna import PASHAPruner


def open_storage(text):
    if text.endswith(".log"):
        backend = optuna.storages.journal.JournalFileBackend(text)
        return optuna.storages.JournalStorage(backend)
    return text


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    bend = trial.suggest_float("bend", 0.2, 2)
    value = 1.0
    for epoch in range(1, 28):
        time.sleep(0.0005)
        value = (x - 0.3) ** 2 + bend / epoch
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name="shared",
        storage=open_storage(sys.argv[1]),
        pruner=PASHAPruner(max_resource=27),
        sampler=optuna.samplers.RandomSampler(),
    )
    study.optimize(objective, n_trials=int(sys.argv[2]))
    sys.stdout.write(str(study.pruner.ceiling(study)))
