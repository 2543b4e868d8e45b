"""PASHASearchCV and ASHASearchCV against scikit-learn's own searches, on five data sets of it.

    python perf/sklearn_search.py                 # everything, several minutes
    python perf/sklearn_search.py --seeds 1       # quicker

Every search draws the same candidates; the winner of each is trained on the training half with the
maximum of the resource, and scored on the other half. HalvingRandomSearchCV would train its winner
with the resource of its last iteration only: here it is trained with the maximum as well. Time is
the CPU time of it all, on one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint
from sklearn import datasets
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - it makes the import work
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import HalvingRandomSearchCV, RandomizedSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from rungwise.integrations.sklearn import ASHASearchCV, PASHASearchCV

MAXIMUM = 81


def load(name: str) -> tuple[Any, Any]:
    """A data set that comes with scikit-learn."""
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return x, y


BOOSTING = {
    "learning_rate": loguniform(0.01, 1),
    "max_depth": randint(1, 6),
    "subsample": [0.5, 0.75, 1.0],
}
HIST = {
    "learning_rate": loguniform(0.01, 1),
    "max_leaf_nodes": randint(4, 32),
    "l2_regularization": loguniform(1e-3, 10),
}
LINEAR = {
    "sgdclassifier__alpha": loguniform(1e-6, 1),
    "sgdclassifier__eta0": loguniform(1e-3, 1),
    "sgdclassifier__learning_rate": ["constant", "adaptive"],
}


def make_boosting(seed: int) -> Any:
    """Gradient boosting of trees."""
    return GradientBoostingClassifier(random_state=seed)


def make_hist(seed: int) -> Any:
    """The same on histograms, for regression."""
    return HistGradientBoostingRegressor(random_state=seed, early_stopping=False)


def make_linear(seed: int) -> Any:
    """A linear classifier, by epochs; it is trained from scratch at each rung."""
    return make_pipeline(StandardScaler(), SGDClassifier(random_state=seed, tol=None))


TASKS: dict[str, tuple[str, Callable[[int], Any], Any, str]] = {
    "iris, boosting": ("iris", make_boosting, BOOSTING, "n_estimators"),
    "wine, boosting": ("wine", make_boosting, BOOSTING, "n_estimators"),
    "breast cancer, boosting": ("breast_cancer", make_boosting, BOOSTING, "n_estimators"),
    "diabetes, hist boosting": ("diabetes", make_hist, HIST, "max_iter"),
    "digits, linear": ("digits", make_linear, LINEAR, "sgdclassifier__max_iter"),
}


def make_searches(
    estimator: Any, space: Any, resource: str, seed: int, candidates: int
) -> dict[str, Any]:
    """The searches by name; each is to train its winner with the maximum."""
    rungs: dict[str, Any] = {
        "n_candidates": candidates,
        "resource": resource,
        "max_resources": MAXIMUM,
        "min_resources": 1,
    }
    common: dict[str, Any] = {"cv": 3, "random_state": seed, "return_train_score": False}
    full = estimator.set_params(**{resource: MAXIMUM})
    return {
        "PASHASearchCV": PASHASearchCV(estimator, space, **rungs, **common),
        "ASHASearchCV": ASHASearchCV(estimator, space, **rungs, **common),
        "HalvingRandomSearchCV": HalvingRandomSearchCV(
            estimator, space, refit=False, **rungs, **common
        ),
        "RandomizedSearchCV": RandomizedSearchCV(full, space, n_iter=candidates, **common),
    }


def measure(search: Any, resource: str, data: Any) -> tuple[float, float]:
    """(score on the test half, CPU seconds)."""
    train_x, test_x, train_y, test_y = data
    began = time.process_time()
    search.fit(train_x, train_y)
    if search.refit:
        winner = search.best_estimator_
    else:  # scikit-learn's halving would train it with less
        winner = clone(search.estimator)
        winner.set_params(**{**search.best_params_, resource: MAXIMUM}).fit(train_x, train_y)
    return float(winner.score(test_x, test_y)), time.process_time() - began


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=27)
    given = parser.parse_args()
    seeds, candidates = given.seeds, given.candidates
    print(f"{candidates} candidates, up to {MAXIMUM}, 3 folds, mean of {seeds} seeds")
    print(f"{'':26}{'test score (difference to the best)':>12}   CPU s (times PASHASearchCV)")
    warnings.simplefilter("ignore")
    ratios: dict[str, list[float]] = {}
    for task, (name, make, space, resource) in TASKS.items():
        x, y = load(name)
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(seeds):
            stratify = None if name == "diabetes" else y
            data = train_test_split(x, y, test_size=0.5, random_state=seed, stratify=stratify)
            searches = make_searches(make(seed), space, resource, seed, candidates)
            for kind, search in searches.items():
                found.setdefault(kind, []).append(measure(search, resource, data))
        print(task)
        means = {kind: np.mean(values, axis=0) for kind, values in found.items()}
        best = max(score for score, _ in means.values())
        for kind, (score, seconds) in means.items():
            ratio = seconds / means["PASHASearchCV"][1]
            ratios.setdefault(kind, []).append(ratio)
            print(
                f"  {kind:24}{score:8.4f} ({score - best:+.4f})   {seconds:7.2f} ({ratio:5.2f}×)",
                flush=True,
            )
    print("geometric mean of CPU time, times PASHASearchCV")
    for kind, values in ratios.items():
        print(f"  {kind:24}{np.exp(np.mean(np.log(values))):7.2f}×")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
