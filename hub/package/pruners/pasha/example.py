import optuna
import optunahub


module = optunahub.load_module(package="pruners/pasha")


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    value = 0.0
    for epoch in range(1, 82):
        value = (x - 0.3) ** 2 + 1 / epoch
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


if __name__ == "__main__":
    study = optuna.create_study(pruner=module.PASHAPruner(max_resource=81))
    study.optimize(objective, n_trials=50)
    module.finish(study, objective)
    print(study.best_trial.params)
