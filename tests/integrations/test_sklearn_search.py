"""PASHA and ASHA as searches of scikit-learn, in the real scikit-learn."""

import copy
import inspect
import math
import pickle
import warnings
from dataclasses import replace
from unittest import mock

import extras
import numpy as np
import pytest

import rungwise as rw
from rungwise.core.decisions import StartJob
from rungwise.testing import AdapterConformance, HostRecord

extras.needs("sklearn")

from scipy.stats import loguniform, randint  # noqa: E402 - after the check above
from sklearn import config_context  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402
from sklearn.datasets import make_classification, make_regression  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: E402, F401
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier  # noqa: E402
from sklearn.metrics import accuracy_score, f1_score, make_scorer  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GroupKFold,
    HalvingRandomSearchCV,
    KFold,
    PredefinedSplit,
)
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from rungwise.integrations import sklearn_rung_search as rung_search  # noqa: E402
from rungwise.integrations.sklearn import ASHASearchCV, PASHASearchCV  # noqa: E402
from rungwise.integrations.sklearn_continuing import _find_place, is_exact  # noqa: E402
from rungwise.integrations.sklearn_subsampling import Subsampling  # noqa: E402

X, Y = make_classification(300, 8, n_informative=4, random_state=0)
ALPHA = {"alpha": loguniform(1e-6, 1)}


def by_passes(**changes):
    given = {"resource": "partial_fit", "max_resources": 27, "n_candidates": 9, "cv": 3}
    return PASHASearchCV(
        SGDClassifier(random_state=0), ALPHA, random_state=0, **{**given, **changes}
    )


def scores(search):
    return search.cv_results_["mean_test_score"]


# -- conformance ---------------------------------------------------------------------------------


class Measured(ClassifierMixin, BaseEstimator):
    """Its score is that of a row of the suite's table."""

    def __init__(self, study=None, row=0, resource=1):
        self.study, self.row, self.resource = study, row, resource

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.value_ = self.study.train(self.row, self.resource)
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y):
        return self.value_ if self.study.goal == "max" else -self.value_


def in_order(self):
    """Candidate n is row n of the table."""
    drawn = self._draws()
    return [{"row": row} for row in range(len(drawn))]


class TestConformance(AdapterConformance):
    in_order = False
    recipes = (rw.PASHA(max_resource=27), rw.ASHA(max_resource=27))

    def run_host(self, study):
        kind = PASHASearchCV if isinstance(study.recipe, rw.PASHA) else ASHASearchCV
        path = study.folder / "study.db"

        def open_kept(_, *given, **more):
            return rw.open_study(path, *given, **more)

        search = kind(
            Measured(study),
            {"row": list(range(study.trials))},
            n_candidates=study.trials,
            resource="resource",
            max_resources=study.max_resource,
            cv=PredefinedSplit([-1, -1, 0, 0]),
            refit=False,
            return_train_score=False,
        )
        search._draws = kind._draw.__get__(search)
        search._draw = in_order.__get__(search)
        with mock.patch.object(rung_search, "open_study", open_kept), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn says that fits have failed
            search.fit(np.zeros((4, 1)), [0, 1, 0, 1])
        record = HostRecord.read(path, search.best_params_["row"])
        sign = 1 if study.goal == "max" else -1
        return replace(record, entries=[_as_row(*entry, sign) for entry in record.entries])

    def find_best(self, engine):
        """The best of those that were trained furthest."""
        finite = [trial for trial in engine.trials if trial.losses and min(trial.losses) < math.inf]
        top = max(trial.resource for trial in finite)
        furthest = [trial for trial in finite if trial.resource == top]
        return min(furthest, key=lambda trial: (trial.losses[-1], trial.id)).config["row"]


def _as_row(event, decision, sign):
    if isinstance(decision, StartJob):
        job = decision.job
        decision = StartJob(replace(job, config={"row": job.config["candidate"]}))
    if hasattr(event, "value"):
        event = replace(event, value=sign * event.value)
    return event, decision


# -- a word is changed ---------------------------------------------------------------------------


def test_the_signature_is_that_of_scikit_learn():
    theirs = inspect.signature(HalvingRandomSearchCV).parameters
    for kind, more in ((PASHASearchCV, ["warm_start", "ranking"]), (ASHASearchCV, ["warm_start"])):
        mine = inspect.signature(kind).parameters
        assert list(mine) == [*theirs, *more]
        for name, parameter in theirs.items():
            assert mine[name].kind == parameter.kind
            assert repr(mine[name].default) == repr(parameter.default), name


@pytest.mark.parametrize("kind", [PASHASearchCV, ASHASearchCV])
def test_every_argument_is_kept_as_it_was_given(kind):
    given = {name: object() for name in inspect.signature(kind).parameters}
    assert kind(**given).get_params(deep=False) == given


def test_the_attributes_are_those_of_scikit_learn():
    given = {"n_candidates": 9, "resource": "n_estimators", "max_resources": 9, "random_state": 0}
    forest = RandomForestClassifier(random_state=0)
    space = {"max_depth": randint(1, 6)}
    theirs = HalvingRandomSearchCV(forest, space, cv=3, **given).fit(X, Y)
    mine = ASHASearchCV(forest, space, cv=3, **given).fit(X, Y)

    def names(fitted):
        return {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}

    assert names(theirs) <= names(mine)
    assert set(theirs.cv_results_) == set(mine.cv_results_)
    for name in ("n_resources_", "n_candidates_", "n_iterations_", "n_remaining_candidates_"):
        assert getattr(mine, name) == getattr(theirs, name), name
    for name in ("max_resources_", "min_resources_", "n_required_iterations_", "n_splits_"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert mine.n_possible_iterations_ == theirs.n_possible_iterations_
    # One third of a rung is promoted by both, so that they agree on everything here.
    assert mine.best_params_ == theirs.best_params_
    assert mine.best_score_ == theirs.best_score_
    assert np.array_equal(mine.cv_results_["iter"], theirs.cv_results_["iter"])


@pytest.mark.parametrize("kind", [PASHASearchCV, ASHASearchCV])
def test_it_is_an_estimator(kind):
    search = kind(SGDClassifier(random_state=0), ALPHA, resource="partial_fit", max_resources=9)
    again = clone(search.set_params(n_candidates=5, estimator__penalty="l1"))
    assert again.get_params()["estimator__penalty"] == "l1"
    with pytest.raises(AttributeError):
        _ = again.best_params_
    fitted = pickle.loads(pickle.dumps(again.fit(X, Y)))  # noqa: S301 - our own
    assert fitted.why_ == again.why_
    assert fitted.study_.trial(0).state == again.study_.trial(0).state
    assert np.array_equal(fitted.predict(X), again.predict(X))
    assert type(again.best_estimator_) is SGDClassifier
    assert again.estimator.get_params() == search.estimator.get_params()


@pytest.mark.integrations
@pytest.mark.parametrize(
    "estimator", [Ridge(), LogisticRegression()], ids=lambda estimator: type(estimator).__name__
)
def test_check_estimator(estimator):
    """All checks that RandomizedSearchCV passes with the same estimator (it fails one of Ridge)."""
    space = {"alpha": [0.1, 1.0, 10.0]} if isinstance(estimator, Ridge) else {"C": [0.1, 1.0, 10.0]}
    search = PASHASearchCV(
        estimator, space, resource="max_iter", max_resources=9, n_candidates=3, cv=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(search, on_fail=None)
    failed = {check["check_name"] for check in found if check["status"] == "failed"}
    assert failed == ({"check_supervised_y_2d"} if isinstance(estimator, Ridge) else set())
    assert len(found) > 60


# -- resources -----------------------------------------------------------------------------------


def test_samples_are_the_resource():
    model = LogisticRegression(max_iter=200)
    space = {"C": loguniform(1e-4, 1e2)}
    sizes = []

    class Noting(KFold):
        def split(self, X, y=None, groups=None):
            for train, test in super().split(X, y, groups):
                sizes.append((len(train), len(test)))
                yield train, test

    search = PASHASearchCV(model, space, random_state=0, cv=Noting(3), n_candidates=9).fit(X, Y)
    assert search.min_resources_ == 2 * 3 * 2
    assert search.max_resources_ == 300
    assert search.n_resources_ == [12, 36, 108]
    assert search.n_candidates_ == [9, 3, 1]
    assert search.ceiling_ == 108
    assert set(sizes) == {(200, 100)}  # a wave takes part of each
    assert search.why_.startswith("Done: 9 configurations compared; ")
    assert set(search.best_params_) == {"C"}
    assert search.score(X, Y) > 0.7
    with pytest.raises(rw.InvalidArgumentError, match="there are 300 samples"):
        PASHASearchCV(model, space, max_resources=301).fit(X, Y)


def test_a_subsample_is_part_of_its_fold_and_the_same_in_every_wave():
    splitter = Subsampling(KFold(3), 0.5, 7)
    first, again = list(splitter.split(X, Y)), list(splitter.split(X, Y))
    for (train, test), (train2, test2), (whole, held) in zip(
        first, again, KFold(3).split(X), strict=True
    ):
        assert np.array_equal(train, train2)
        assert np.array_equal(test, test2)
        assert len(train) == 100
        assert len(test) == 50
        assert set(train) <= set(whole)
        assert set(test) <= set(held)
    assert splitter.get_n_splits() == 3


def test_exhaust_means_the_same_as_in_scikit_learn():
    base = {"max_resources": 100, "resource": "n_estimators", "cv": 2, "random_state": 0}
    forest, space = RandomForestClassifier(random_state=0, max_depth=2), {"max_features": [1, 2, 3]}
    for changes in ({"min_resources": 20}, {"min_resources": "exhaust", "n_candidates": 3}):
        theirs = HalvingRandomSearchCV(forest, space, **base, **changes)
        mine = ASHASearchCV(forest, space, **base, **changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the space has three points only
            theirs.fit(X[:60], Y[:60])
            mine.fit(X[:60], Y[:60])
        assert mine.min_resources_ == theirs.min_resources_
        assert mine.n_candidates_[0] == theirs.n_candidates_[0]
        assert mine.n_required_iterations_ == theirs.n_required_iterations_


@pytest.mark.parametrize(
    ("estimator", "resource", "target"),
    [
        (GradientBoostingClassifier(random_state=0, subsample=0.7), "n_estimators", Y),
        (GradientBoostingRegressor(random_state=0, max_features=2), "n_estimators", Y + 0.5),
        (RandomForestClassifier(random_state=0), "n_estimators", Y),
        (HistGradientBoostingRegressor(random_state=0, max_features=0.5), "max_iter", Y + 0.5),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_continuing_equals_training_from_scratch(estimator, resource, target):
    given = {"resource": resource, "max_resources": 9, "n_candidates": 6, "cv": 2}
    space = {"max_depth": [1, 2, 3], "min_samples_leaf": [3, 9, 20]}
    with threadpool_limits(1):  # threads of OpenMP get into each other's way on few processors
        found = [
            ASHASearchCV(estimator, space, random_state=0, warm_start=warm, **given).fit(X, target)
            for warm in ("auto", False)
        ]
    assert np.array_equal(scores(found[0]), scores(found[1]))
    assert np.array_equal(found[0].predict(X), found[1].predict(X))
    assert found[0].best_params_ == found[1].best_params_
    assert found[0].best_estimator_.warm_start is False
    assert found[0].best_params_[resource] == 9


def test_continuing_trains_each_tree_once():
    boosting = GradientBoostingClassifier(random_state=0)
    given = {"resource": "n_estimators", "max_resources": 9, "n_candidates": 9, "cv": 2}
    counts = []
    for warm in ("auto", False):
        with mock.patch.object(
            GradientBoostingClassifier,
            "_fit_stage",
            autospec=True,
            side_effect=GradientBoostingClassifier._fit_stage,
        ) as stage:
            search = ASHASearchCV(
                boosting,
                {"learning_rate": loguniform(0.01, 1)},
                random_state=0,
                warm_start=warm,
                **given,
            ).fit(X, Y)
            counts.append(stage.call_count)
    assert search.n_candidates_ == [9, 3, 1]
    assert counts == [2 * (9 + 3 * 2 + 6) + 9, 2 * (9 + 3 * 3 + 9) + 9]


def test_only_what_is_known_to_be_exact_continues_by_itself():
    assert is_exact(RandomForestClassifier(), "n_estimators")
    assert is_exact(
        make_pipeline(StandardScaler(), RandomForestClassifier()),
        "randomforestclassifier__n_estimators",
    )
    assert not is_exact(RandomForestClassifier(), "max_depth")
    generator = np.random.RandomState(0)
    assert not is_exact(RandomForestClassifier(random_state=generator), "n_estimators")
    assert not is_exact(MLPClassifier(), "max_iter")
    assert not is_exact(SGDClassifier(), "max_iter")

    class Mine(RandomForestClassifier):
        pass

    assert not is_exact(Mine(), "n_estimators")


class Counting(GaussianNB):
    passes = 0

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        Counting.passes += 1
        return super().partial_fit(X, y, classes, sample_weight)


def test_passes_are_the_resource():
    Counting.passes = 0
    search = ASHASearchCV(
        Counting(),
        {"var_smoothing": loguniform(1e-9, 1)},
        resource="partial_fit",
        max_resources=9,
        n_candidates=9,
        cv=2,
        random_state=0,
    ).fit(X, Y)
    assert search.n_candidates_ == [9, 3, 1]
    assert Counting.passes == 2 * (9 + 3 * 2 + 6) + 9
    assert type(search.best_estimator_) is Counting
    assert set(search.best_params_) == {"var_smoothing"}
    assert max(search.cv_results_["param_partial_fit"]) == 9
    # From scratch: as many passes at once.
    winner = Counting(**search.best_params_)
    for number in range(9):
        winner.partial_fit(X, Y, *([np.unique(Y)] if number == 0 else []))
    assert np.array_equal(winner.predict_proba(X), search.predict_proba(X))


@pytest.mark.parametrize("resource", ["partial_fit", "n_samples"])
def test_the_result_does_not_depend_on_the_number_of_jobs(resource):
    found = []
    for jobs in (None, 2):
        search = by_passes(resource=resource, n_jobs=jobs, max_resources="auto")
        if resource == "partial_fit":
            search.set_params(max_resources=27)
        found.append(search.fit(X, Y))
    for other in found[1:]:
        for name, column in found[0].cv_results_.items():
            if "time" not in name:
                assert np.array_equal(column, other.cv_results_[name]), name
        assert other.why_ == found[0].why_
        assert np.array_equal(other.predict(X), found[0].predict(X))


def test_a_pipeline():
    pipe = make_pipeline(StandardScaler(), GradientBoostingClassifier(random_state=0))
    name = "gradientboostingclassifier"
    space = {f"{name}__max_depth": [1, 2, 3], "standardscaler__with_mean": [True, False]}
    given = {"resource": f"{name}__n_estimators", "max_resources": 9, "n_candidates": 6, "cv": 2}
    found = [
        PASHASearchCV(pipe, space, random_state=0, warm_start=warm, **given).fit(X, Y)
        for warm in ("auto", False)
    ]
    assert np.array_equal(scores(found[0]), scores(found[1]))
    assert len(found[0].best_estimator_[-1].estimators_) == 9
    assert type(found[0].best_estimator_) is type(pipe)
    assert found[0].score(X, Y) > 0.8


# -- scores --------------------------------------------------------------------------------------


def test_several_metrics():
    search = by_passes(scoring=["accuracy", "f1"], refit="f1").fit(X, Y)
    results = search.cv_results_
    assert {"mean_test_accuracy", "mean_test_f1"} <= set(results)
    assert search.multimetric_
    assert search.best_score_ == results["mean_test_f1"][search.best_index_]
    assert results["iter"][search.best_index_] == results["iter"].max()
    assert search.score(X, Y) == f1_score(Y, search.predict(X))
    # The scheduler is given the metric that decides.
    first = results["iter"] == 0
    best = results["mean_test_f1"][first].max()
    assert max(search.study_.curve(number)[0][1] for number in range(9)) == best
    with pytest.raises(rw.InvalidArgumentError, match="it must name the one that decides"):
        by_passes(scoring=["accuracy", "f1"], refit=True).fit(X, Y)


def both(estimator, X, y):
    found = estimator.predict(X)
    return {"accuracy": accuracy_score(y, found), "f1": f1_score(y, found)}


def test_a_scorer_with_several_metrics():
    assert by_passes(scoring=both, refit="f1").fit(X, Y).multimetric_
    with pytest.raises(rw.InvalidArgumentError, match="name the one that decides, of accuracy, f1"):
        by_passes(scoring=both, refit=False).fit(X, Y)


class Fragile(SGDClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if self.alpha > 1e-2:
            raise ValueError("too large")
        return super().partial_fit(X, y, classes, sample_weight)


def fit_quietly(search):
    """scikit-learn warns of each wave in which fits failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, Y)


def test_a_fit_that_fails_ranks_last():
    given = {"resource": "partial_fit", "max_resources": 9, "n_candidates": 9, "cv": 2}
    search = PASHASearchCV(Fragile(random_state=0), ALPHA, random_state=0, **given)
    fit_quietly(search)
    lost = np.isnan(scores(search))
    assert 0 < lost.sum() < 9
    assert search.cv_results_["iter"][lost].max() == 0
    assert search.best_params_["alpha"] <= 1e-2
    with pytest.raises(ValueError, match="too large"):
        search.set_params(error_score="raise").fit(X, Y)
    search.set_params(error_score=-1.0)
    fit_quietly(search)
    assert scores(search).min() == -1
    search.set_params(n_candidates=1, error_score=np.nan, param_distributions={"alpha": [1.0]})
    with pytest.raises(ValueError, match=r"All the \d+ fits failed"):
        search.fit(X, Y)


def test_groups():
    groups = np.arange(300) % 5
    search = by_passes(cv=GroupKFold(5)).fit(X, Y, groups=groups)
    assert search.n_splits_ == 5
    with pytest.raises(ValueError, match="groups"):
        by_passes(cv=GroupKFold(5)).fit(X, Y)


def test_sample_weights_and_routing():
    weights = np.where(Y == 1, 5.0, 0.1)
    scorer = make_scorer(accuracy_score)
    plain = by_passes(scoring=scorer).fit(X, Y)
    weighted = by_passes(scoring=scorer).fit(X, Y, sample_weight=weights)
    assert not np.array_equal(scores(plain), scores(weighted))
    with config_context(enable_metadata_routing=True):
        model = SGDClassifier(random_state=0).set_fit_request(sample_weight=True)
        model.set_partial_fit_request(sample_weight=True)
        routed = by_passes(scoring=scorer.set_score_request(sample_weight=True))
        routed.set_params(estimator=model)
        routed.fit(X, Y, sample_weight=weights)
        assert routed.get_metadata_routing() is not None
        assert np.array_equal(scores(routed), scores(weighted))


def test_regression():
    x, y = make_regression(200, 5, noise=3, random_state=0)
    search = PASHASearchCV(Ridge(), {"alpha": loguniform(1e-3, 1e3)}, random_state=0).fit(x, y)
    assert search.min_resources_ == 10
    assert search.n_candidates_[0] == 20
    assert search.score(x, y) > 0.9


# -- the winner ----------------------------------------------------------------------------------


def test_the_winner_is_among_those_that_were_trained_furthest():
    search = by_passes().fit(X, Y)
    results = search.cv_results_
    top = np.flatnonzero(results["iter"] == results["iter"].max())
    assert search.best_index_ == top[np.argmax(scores(search)[top])]
    assert search.best_score_ == scores(search)[search.best_index_]
    assert results["n_resources"][search.best_index_] == search.ceiling_


@pytest.mark.parametrize(
    ("rungs", "means", "best"),
    [
        ([0, 0, 1, 1], [0.9, 0.5, 0.6, 0.7], 3),
        ([0, 0, 1], [0.9, 0.5, math.nan], 0),
        ([0, 0], [math.nan, math.nan], 0),
    ],
)
def test_a_better_score_on_less_does_not_win(rungs, means, best):
    results = {"iter": np.array(rungs), "mean_test_score": np.array(means)}
    assert PASHASearchCV._select_best_index(True, "score", results) == best


def test_refit_by_a_function_and_not_at_all():
    def worst(results):
        return int(np.argmin(results["mean_test_score"]))

    search = by_passes(refit=worst).fit(X, Y)
    assert search.best_index_ == np.argmin(scores(search))
    search = by_passes(refit=False).fit(X, Y)
    assert not hasattr(search, "best_estimator_")
    assert set(search.best_params_) == {"alpha"}


def test_the_criterion_can_be_chosen():
    search = by_passes(ranking="rbo:0.5,0.99").fit(X, Y)
    assert "rank-biased overlap" in search.study_.rule.lower()


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource": "epochs"}, "resource is 'epochs', but SGDClassifier has no such parameter"),
        (
            {"resource": "max_iter", "max_resources": "auto"},
            "other than n_samples it must be a num",
        ),
        ({"resource": "alpha"}, "it is one of the searched parameters"),
        ({"estimator": Ridge()}, "resource is 'partial_fit', but Ridge has no partial_fit"),
        ({"factor": 2.5}, "factor is 2.5"),
        ({"factor": 1}, "factor is 1"),
        ({"aggressive_elimination": True}, "aggressive_elimination is True"),
        ({"n_candidates": "exhaust", "min_resources": "exhaust"}, "n_candidates is 'exhaust' too"),
        ({"n_candidates": 0}, "n_candidates is 0"),
        ({"min_resources": 99}, "min_resources is 99, but max_resources is 27"),
        ({"warm_start": "yes"}, "warm_start is 'yes'"),
        ({"warm_start": True}, "cannot continue by the resource 'partial_fit'"),
        ({"cv": KFold(3, shuffle=True)}, "cv is KFold.*it must give the same folds at every call"),
        ({"ranking": "best"}, "ranking is 'best'"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_trained(changes, message):
    search = by_passes(**{name: v for name, v in changes.items() if name != "estimator"})
    if "estimator" in changes:
        search.set_params(estimator=changes["estimator"])
    kind = type(search.estimator)
    with (
        mock.patch.object(kind, "fit", side_effect=AssertionError),
        pytest.raises(rw.InvalidArgumentError, match=message),
    ):
        search.fit(X, Y)


class Named:
    """A parameter without a text of its own."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "Named()"


def mask(place):
    found = np.zeros(5000)
    found[place] = 1
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (mask(2000), mask(3000)),
        (Named("a"), Named("b")),
        ([Named("a")], [Named("b")]),
        ([lambda: 1], [lambda: 2]),
        (1, True),
        ("1", 1),
    ],
    ids=["long arrays", "objects", "lists", "lambdas", "a switch", "text"],
)
def test_what_was_learned_with_another_parameter_is_not_gone_on_with(tmp_path, one, other):
    def place(value):
        return _find_place(str(tmp_path), {"mask": value}, X, Y, {})

    assert place(one) != place(other)
    assert place(one) == place(copy.deepcopy(one))
