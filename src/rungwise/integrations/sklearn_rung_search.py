"""The search that those of PASHA and ASHA for scikit-learn share.

Candidates are evaluated in waves: all that the scheduler has to give now, in one call, and their
scores are reported in the order of the candidates. So the result does not depend on ``n_jobs``.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterSampler, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples

from rungwise.core.ladder import Ladder
from rungwise.errors import InvalidArgumentError
from rungwise.integrations.sklearn_continuing import (
    PASSES,
    is_exact,
    make_continuing,
    restore_kind,
)
from rungwise.integrations.sklearn_subsampling import Subsampling, check_constant
from rungwise.options.scheduler_options import choose_scheduler
from rungwise.space import Int
from rungwise.tuning.asked_job import Job
from rungwise.tuning.open_study import open_study
from rungwise.validation import one_of, whole

Amount = int | Literal["auto", "smallest", "exhaust"]


class RungSearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """What the searches share."""

    _scheduler: str
    estimator: Any
    cv: Any
    ranking: Any = None

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
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_candidates = n_candidates
        self.factor = factor
        self.resource = resource
        self.max_resources = max_resources
        self.min_resources = min_resources
        self.aggressive_elimination = aggressive_elimination
        self.random_state = random_state
        self.warm_start = warm_start

    # -- fit -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:  # noqa: N803 - scikit-learn's names
        """Search, and train the best candidate.

        Args:
            X: the training data.
            y: the targets.
            params: for ``fit`` of the estimator, the scorer and the splitter, as in
                ``HalvingRandomSearchCV``; ``groups`` for the splitter.
        """
        self._n_samples_orig = _num_samples(X)
        self._check_arguments()
        estimator: Any = self.estimator
        self._splitter = check_cv(self.cv, y, classifier=is_classifier(estimator))
        self._find_resources(X, y, params.get("groups"))
        with ExitStack() as stack:
            stack.callback(setattr, self, "cv", self.cv)
            self.cv = self._splitter  # an iterable of folds can be read only once
            if self._continues():
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rungwise-"))
                passes = self.max_resources if self.resource == PASSES else 0
                stack.callback(setattr, self, "estimator", estimator)
                self.estimator = make_continuing(
                    estimator, self.resource, Path(folder), int(passes)
                )
            super().fit(X, y, **params)
        if self._continues() and self.scoring is None:
            self.scorer_ = check_scoring(estimator)  # it holds the estimator
        if hasattr(self, "best_estimator_"):
            restore_kind(self.best_estimator_)
            if self._continues() and self.resource != PASSES:
                self._restore_warm_start(estimator)
        return self

    def _restore_warm_start(self, estimator: Any) -> None:
        owner = self.resource.rpartition("__")[0]
        name = f"{owner}__warm_start" if owner else "warm_start"
        self.best_estimator_.set_params(**{name: estimator.get_params()[name]})

    def _check_arguments(self) -> None:
        """What does not need the data."""
        if not hasattr(self.estimator, "get_params"):
            return  # the base class says what is wrong with it
        whole("factor", self.factor, at_least=2)
        parameters = self.estimator.get_params()
        if self.resource == PASSES:
            if not hasattr(self.estimator, "partial_fit"):
                rule = f"{type(self.estimator).__name__} has no partial_fit"
                raise InvalidArgumentError("resource", self.resource, rule)
        elif self.resource != "n_samples" and self.resource not in parameters:
            name = type(self.estimator).__name__
            rule = (
                f"{name} has no such parameter: give 'n_samples', one of its parameters that "
                f"counts, such as n_estimators or max_iter, or 'partial_fit'"
            )
            raise InvalidArgumentError("resource", self.resource, rule)
        if self.resource != "n_samples" and self.max_resources == "auto":
            rule = "with a resource other than n_samples it must be a number"
            raise InvalidArgumentError("max_resources", "auto", rule)
        if self.min_resources == self.n_candidates == "exhaust":
            rule = "n_candidates is 'exhaust' too: give one of the two as a number"
            raise InvalidArgumentError("min_resources", "exhaust", rule)
        if self.aggressive_elimination:
            rule = (
                "PASHA and ASHA promote one candidate in factor at every rung, and have no "
                "iteration to repeat: give a larger factor, or min_resources"
            )
            raise InvalidArgumentError("aggressive_elimination", True, rule)
        self._check_warm_start(parameters)
        self._check_refit()

    def _check_warm_start(self, parameters: Mapping[str, Any]) -> None:
        given: Any = self.warm_start
        if given is not True and given is not False:
            one_of("warm_start", given, ("auto",))
        owner = self.resource.rpartition("__")[0]
        name = f"{owner}__warm_start" if owner else "warm_start"
        if given is True and (self.resource in ("n_samples", PASSES) or name not in parameters):
            rule = f"{type(self.estimator).__name__} cannot continue by the resource "
            rule += f"{self.resource!r}: give False, or 'auto'"
            raise InvalidArgumentError("warm_start", given, rule)

    def _check_refit(self) -> None:
        several = self.scoring is not None and not callable(self.scoring)
        if several and not isinstance(self.scoring, str) and not isinstance(self.refit, str):
            rule = "with several metrics it must name the one that decides who is promoted"
            raise InvalidArgumentError("refit", self.refit, rule)

    def _continues(self) -> bool:
        """Whether estimators go on where they were."""
        if self.resource in ("n_samples", PASSES):
            return self.resource == PASSES
        if self.warm_start == "auto":
            return is_exact(self.estimator, self.resource)
        return bool(self.warm_start)

    def _find_resources(self, X: Any, y: Any, groups: Any) -> None:  # noqa: N803
        """The smallest and the largest resource."""
        check_constant(self._splitter)
        smallest: Any = self.min_resources
        if smallest in ("smallest", "exhaust"):
            smallest = 1
            if self.resource == "n_samples":
                smallest = 2 * self._splitter.get_n_splits(X, y, groups)
                if is_classifier(self.estimator) and y is not None:
                    check_classification_targets(y)
                    smallest *= len(np.unique(np.asarray(y)))
        largest: Any = self.max_resources
        if largest == "auto":
            largest = self._n_samples_orig
        self.min_resources_ = whole("min_resources", smallest, at_least=1)
        self.max_resources_ = whole("max_resources", largest, at_least=1)
        if self.resource == "n_samples" and self.max_resources_ > self._n_samples_orig:
            rule = f"there are {self._n_samples_orig} samples"
            raise InvalidArgumentError("max_resources", self.max_resources_, rule)
        if self.min_resources_ > self.max_resources_:
            samples = f"n_samples = {self._n_samples_orig}, and " * (self.resource == "n_samples")
            rule = f"{samples}max_resources is {self.max_resources_}: give less"
            raise InvalidArgumentError("min_resources", self.min_resources_, rule)

    # -- waves ---------------------------------------------------------------------------------

    def _run_search(self, evaluate_candidates: Callable[..., Any]) -> None:
        candidates = self._draw()
        ladder = {"min_resource": self.min_resources_, "eta": self.factor, "ranking": self.ranking}
        levels = self._ladder.levels
        self._evaluated: Counter[int] = Counter()
        space = {"candidate": Int(0, max(len(candidates) - 1, 1))}
        initial = [{"candidate": number} for number in range(len(candidates))]
        with open_study(
            None,
            space,
            metric="score",
            goal="max",
            scheduler=choose_scheduler(self._scheduler, ladder, self.max_resources_)[0],
            initial=initial,
            trials=len(candidates),
        ) as study:
            while wave := list(_ask_all(study)):
                for job, score in self._evaluate(wave, candidates, levels, evaluate_candidates):
                    if math.isnan(score):  # error_score: it ranks last, and never goes further
                        study.ended(job)
                    else:
                        study.report(job, job.until, score)
            self.study_ = study.result.view.detach()
        self.why_, self.ceiling_ = self.study_.why, int(self.study_.ceiling or levels[0])
        self._count(levels)

    def _draw(self) -> list[dict[str, Any]]:
        number = self.n_candidates
        if number == "exhaust":
            number = self.max_resources_ // self.min_resources_
        wanted = whole("n_candidates", number, at_least=1)
        candidates = list(
            ParameterSampler(self.param_distributions, wanted, random_state=self.random_state)
        )
        # The same samples in every wave.
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if any(self.resource in candidate for candidate in candidates):
            rule = "it is one of the searched parameters: take it out of param_distributions"
            raise InvalidArgumentError("resource", self.resource, rule)
        self.n_required_iterations_ = _count_cuts(len(candidates), self.factor)
        if self.min_resources == "exhaust":
            last = self.factor ** (self.n_required_iterations_ - 1)
            self.min_resources_ = max(self.min_resources_, self.max_resources_ // last)
        self._ladder: Ladder = Ladder.between(
            self.min_resources_, self.max_resources_, eta=self.factor
        )
        self.n_possible_iterations_ = len(self._ladder.levels)
        return candidates

    def _evaluate(
        self,
        wave: Sequence[Job],
        candidates: Sequence[Mapping[str, Any]],
        levels: Sequence[int],
        evaluate: Callable[..., Any],
    ) -> list[tuple[Job, float]]:
        """The jobs of a wave with their scores."""
        scores: dict[int, float] = {}
        for level in sorted({int(job.until) for job in wave}):
            jobs = [job for job in wave if job.until == level]
            self._evaluated[level] += len(jobs)
            chosen = [dict(candidates[job.config["candidate"]]) for job in jobs]
            splitter = None
            if self.resource == "n_samples":
                splitter = Subsampling(self._splitter, level / self._n_samples_orig, self._seed)
            else:
                chosen = [{**params, self.resource: level} for params in chosen]
            more = {
                "iter": [levels.index(level)] * len(jobs),
                "n_resources": [level] * len(jobs),
            }
            results = evaluate(chosen, splitter, more_results=more)
            found = results[f"mean_test_{self._find_metric(results)}"][-len(jobs) :]
            scores |= {job.id: float(score) for job, score in zip(jobs, found, strict=True)}
        return [(job, scores[job.id]) for job in wave]

    def _find_metric(self, results: Mapping[str, Any]) -> str:
        """The metric that decides, by its name in ``cv_results_``."""
        if "mean_test_score" in results:
            return "score"
        if isinstance(self.refit, str) and f"mean_test_{self.refit}" in results:
            return self.refit
        names = [name[10:] for name in results if name.startswith("mean_test_")]
        rule = f"the scorer has several metrics: name the one that decides, of {', '.join(names)}"
        raise InvalidArgumentError("refit", self.refit, rule)

    def _count(self, levels: Sequence[int]) -> None:
        """The attributes of ``HalvingRandomSearchCV`` about its iterations."""
        self.n_resources_ = [level for level in levels if level in self._evaluated]
        self.n_candidates_ = [self._evaluated[level] for level in self.n_resources_]
        self.n_iterations_ = len(self.n_resources_)
        self.n_remaining_candidates_ = math.ceil(self.n_candidates_[-1] / self.factor)

    # -- the winner ----------------------------------------------------------------------------

    @staticmethod
    def _select_best_index(refit: Any, refit_metric: str, results: Mapping[str, Any]) -> Any:
        """The best of those that were trained furthest, as in ``HalvingRandomSearchCV``."""
        if callable(refit):
            return BaseSearchCV._select_best_index(refit, refit_metric, results)  # noqa: SLF001
        scores = results[f"mean_test_{refit_metric}"]
        known = np.isfinite(scores)
        if not known.any():
            return 0
        furthest = results["iter"] == results["iter"][known].max()
        return int(np.flatnonzero(furthest & known)[np.argmax(scores[furthest & known])])

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best parameters; a resource that is a parameter has its maximum."""
        if "_best_params" not in vars(self):
            name = type(self).__name__
            raise AttributeError(f"{name!r} object has no attribute 'best_params_'")
        return dict(vars(self)["_best_params"])

    @best_params_.setter
    def best_params_(self, found: Mapping[str, Any]) -> None:
        # The candidate was compared at the ceiling; the winner is trained in full (phase 2).
        self._best_params = {
            name: self.max_resources_ if name == self.resource else value
            for name, value in found.items()
            if name != PASSES
        }


def _ask_all(study: Any) -> Iterator[Job]:
    """All that there is to do now."""
    while isinstance(job := study.ask(), Job):
        yield job


def _count_cuts(candidates: int, factor: int) -> int:
    """How many iterations it takes until fewer than ``factor`` candidates are left."""
    count, left = 1, candidates
    while left >= factor:
        count, left = count + 1, left // factor
    return count
