"""What a report costs with our pruners of Optuna, as a study grows.

    python perf/optuna_pruner.py              # 10,000 trials in memory, in one process
    python perf/optuna_pruner.py --trials 1000

Each trial reports up to 27 times. Measured is ``trial.should_prune()`` alone, in CPU time: what
``trial.report`` and Optuna itself cost is not ours. Shown for each tenth of the study, so that
growth would be seen; beside it Optuna's own SuccessiveHalvingPruner and no pruner.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import optuna

from rungwise.integrations.optuna import ASHAPruner, PASHAPruner

EPOCHS = 27


def measure(pruner: Any, trials: int, first: int) -> list[tuple[float, float, int]]:
    """[(mean ms per report, largest ms, reports), …] for each tenth of the trials."""
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(pruner=pruner, sampler=sampler)
    found = []
    for _ in range(10):
        spent = largest = 0.0
        reports = 0
        for _ in range(trials // 10):
            trial = study.ask()
            x = trial.suggest_float("x", 0, 1)
            bend = trial.suggest_float("bend", 0.2, 2)
            stopped = False
            for epoch in range(EPOCHS):
                trial.report((x - 0.3) ** 2 + bend / (epoch + 1), epoch + first)
                began = time.process_time()
                stopped = trial.should_prune()
                took = time.process_time() - began
                spent, largest, reports = spent + took, max(largest, took), reports + 1
                if stopped:
                    break
            state = optuna.trial.TrialState.PRUNED if stopped else None
            study.tell(trial, None if stopped else 0.0, state=state)
        found.append((1000 * spent / reports, 1000 * largest, reports))
    if isinstance(pruner, PASHAPruner):
        began = time.process_time()
        PASHAPruner(max_resource=EPOCHS).why(study)
        took = 1000 * (time.process_time() - began)
        print(
            f"reading and folding all marks at once: {took / trials * 1000:.1f} ms for 1,000 trials"
        )
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruners = {
        "PASHAPruner": PASHAPruner(max_resource=EPOCHS),
        "ASHAPruner": ASHAPruner(max_resource=EPOCHS),
        "SuccessiveHalvingPruner": optuna.pruners.SuccessiveHalvingPruner(
            min_resource=1, reduction_factor=3
        ),
        "NopPruner": optuna.pruners.NopPruner(),
    }
    print(f"should_prune(), {given.trials} trials in memory: mean ms of a report, by tenths")
    for name, pruner in pruners.items():
        tenths = measure(pruner, given.trials, first=1)
        means = "  ".join(f"{mean:6.3f}" for mean, _, _ in tenths)
        reports = sum(count for _, _, count in tenths)
        largest = max(tenth[1] for tenth in tenths)
        print(f"{name:24} {means}   largest {largest:.1f} ms, {reports} reports")


if __name__ == "__main__":
    main()
