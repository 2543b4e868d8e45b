"""Searchers compared: who proposes the better configurations, on recorded training curves.

    python examples/searchers.py

Perceptrons with seven hyperparameters were trained once and recorded (`mlp-hpo`); studies on them
take seconds. The same searchers go into ``rw.tune(..., searcher=…)``. Optuna's needs
``pip install 'rungwise[optuna]'``.
"""

import numpy as np

import rungwise as rw
from rungwise import benchmarks

benchmark = benchmarks.load("mlp-hpo")
table, final = benchmark.table(), benchmark.final()
searchers = {
    "random": rw.searchers.RandomSearcher(),
    "TPE": rw.searchers.TPE(),
    "Optuna's TPE": rw.searchers.OptunaSearcher("tpe"),
    "Gaussian process": rw.searchers.GP(),
}

print("48 configurations, PASHA, 4 workers; perceptrons on Fashion-MNIST")
for name, searcher in searchers.items():
    try:
        result = rw.simulate(table, rw.PASHA(max_resource=400), searcher=searcher, trials=48)
    except rw.MissingExtraError as error:
        print(f"{name:17} {error}")
        continue
    drawn = np.nan_to_num(final[result.rows])
    print(
        f"{name:17} test accuracy {final[result.best.row]:.3f}, best drawn {drawn.max():.3f}, "
        f"half of the draws above {np.median(drawn):.3f}, {result.resource_spent / 8:.0f} epochs"
    )
