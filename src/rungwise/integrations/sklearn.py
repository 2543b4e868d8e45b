"""PASHA and ASHA as searches of scikit-learn (extra ``sklearn``).

``PASHASearchCV`` and ``ASHASearchCV`` have the signature and the attributes of scikit-learn's
``HalvingRandomSearchCV``. The search itself is in ``sklearn_rung_search.py``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rungwise.packages import check_package
from rungwise.rankings import Ranking

check_package(
    "rungwise.integrations.sklearn",
    "scikit-learn",
    extra="sklearn",
    at_least="1.4",
    module="sklearn",
)

from rungwise.integrations.sklearn_rung_search import (  # noqa: E402 - named if missing
    Amount,
    RungSearchCV,
)


class PASHASearchCV(RungSearchCV):
    """Randomised search with PASHA: the most resource is found while it searches.

    All candidates are trained with the smallest resource, the best one in ``factor`` with
    ``factor`` times as much, and so on; but further rungs are used only as long as the ranking of
    candidates still changes between the two top rungs. The winner is then trained with
    ``max_resources``.

    Args:
        estimator: the estimator, or a pipeline.
        param_distributions: parameters and their distributions or lists, or a list of such dicts.
        n_candidates: how many candidates are drawn; "exhaust": max_resources // min_resources.
        factor: η: one candidate in this many is promoted; a whole number.
        resource: "n_samples"; a parameter of the estimator that counts, such as "n_estimators" or
            "max_iter" ("step__max_iter" in a pipeline); or "partial_fit": passes over the data.
        max_resources: the most of it; "auto": the number of samples.
        min_resources: what every candidate gets; "smallest" and "exhaust" as in
            ``HalvingRandomSearchCV``.
        aggressive_elimination: only False: there is nothing like it here.
        cv: folds; they must be the same at every call.
        scoring: see ``HalvingRandomSearchCV``; several metrics are possible, if refit names one.
        refit: whether the winner is trained on all data; with several metrics the name of the one
            that decides; a function as in ``GridSearchCV``.
        error_score: the score of a candidate whose fit fails, or "raise".
        return_train_score: whether ``cv_results_`` has training scores.
        random_state: draws candidates and samples; the same number gives the same result, whatever
            n_jobs is.
        n_jobs: how many fits run at a time.
        verbose: see ``HalvingRandomSearchCV``.
        warm_start: whether a promoted candidate goes on where it was. "auto": where that gives the
            same model as training from scratch (gradient boosting, random forests); True: wherever
            the estimator has ``warm_start``; False: never. With "partial_fit" it always goes on.
        ranking: the criterion for a stable ranking, or its name; the paper's by default.

    Attributes:
        why_: why the search ended, and why the ceiling is where it is.
        ceiling_: how far candidates were trained.
        study_: everything that was decided, a :class:`rungwise.StudyView`.
        best_params_: with the resource at its maximum, if it is a parameter: the winner is trained
            in full. ``best_score_`` is the score with which it won, at ``ceiling_``.

    All others are those of ``HalvingRandomSearchCV``.

    Example:
        >>> from scipy.stats import loguniform
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import SGDClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> space = {"alpha": loguniform(1e-6, 1)}
        >>> search = PASHASearchCV(
        ...     SGDClassifier(random_state=0), space, resource="partial_fit", n_candidates=9,
        ...     max_resources=27, random_state=0)
        >>> search.fit(X, y).score(X, y) > 0.5
        True

    Reference:
        Bohdal et al., PASHA: Efficient HPO and NAS with Progressive Resource Allocation (2023).
    """

    _scheduler = "pasha"

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_candidates: int | Literal["exhaust"] = "exhaust",
        factor: int = 3,
        resource: str = "n_samples",
        max_resources: Amount = "auto",
        min_resources: Amount = "smallest",
        aggressive_elimination: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        warm_start: bool | Literal["auto"] = "auto",
        ranking: Ranking | str | None = None,
    ) -> None:
        super().__init__(
            estimator, param_distributions, n_candidates=n_candidates, factor=factor,
            resource=resource, max_resources=max_resources, min_resources=min_resources,
            aggressive_elimination=aggressive_elimination, cv=cv, scoring=scoring, refit=refit,
            error_score=error_score, return_train_score=return_train_score,
            random_state=random_state, n_jobs=n_jobs, verbose=verbose, warm_start=warm_start,
        )  # fmt: skip
        self.ranking = ranking


class ASHASearchCV(RungSearchCV):
    """Randomised search with ASHA: successive halving up to ``max_resources``.

    The arguments and attributes are those of :class:`PASHASearchCV`, without ``ranking``.

    Reference:
        Li et al., A System for Massively Parallel Hyperparameter Tuning (2020).
    """

    _scheduler = "asha"
