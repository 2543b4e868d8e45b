"""LightGBM and XGBoost as trials, with the real libraries."""

import importlib

import numpy as np
import pytest
from extras import needs
from integration_legs import assert_without_a_gap, run_legs
from test_run import Study, make_run

import rungwise as rw
from rungwise.errors import InvalidArgumentError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=200)


def train_lightgbm(config, run, monitor=None, metric="l2", every=1, **more):
    lgb = needs("lightgbm", "lightgbm")
    report = importlib.import_module("rungwise.integrations.lightgbm").Report(run, monitor, every)
    data = lgb.Dataset(X[:150], Y[:150], free_raw_data=False)
    valid = lgb.Dataset(X[150:], Y[150:], reference=data, free_raw_data=False)
    given = {"verbosity": -1, "num_threads": 1, "metric": metric, "seed": 1, **config}
    more = {"valid_sets": [valid], **more}
    lgb.train(given, data, callbacks=[report], **more, **report.arguments)


def train_xgboost(config, run, monitor=None, every=1, names=("valid",)):
    xgb = needs("xgboost", "xgboost")
    report = importlib.import_module("rungwise.integrations.xgboost").Report(run, monitor, every)
    data, valid = xgb.DMatrix(X[:150], Y[:150]), xgb.DMatrix(X[150:], Y[150:])
    given = {"verbosity": 0, "nthread": 1, "eval_metric": ["mae", "rmse"], **config}
    evals = [(valid, name) for name in names]
    xgb.train(given, data, evals=evals, callbacks=[report], verbose_eval=False, **report.arguments)


@pytest.mark.parametrize(
    ("train", "metric"), [(train_lightgbm, "l2"), (train_xgboost, "rmse")], ids=["lgb", "xgb"]
)
@pytest.mark.parametrize("maximum", [27, None])
def test_two_legs_are_one_training(tmp_path, train, metric, maximum):
    changes = {"metric": metric, "max_resource": maximum}
    reports, whole = run_legs(tmp_path, train, {"learning_rate": 0.3}, **changes)
    assert_without_a_gap(reports, whole, tolerance=1e-4)
    assert len({value for _, value, _ in reports}) == 4, "it learns"


def test_the_other_metrics_are_reported_too(tmp_path):
    study = Study(enough_at=1)
    train_xgboost({}, make_run(tmp_path / "t", study, metric="loss"), monitor="valid rmse")
    ((_, value, metrics),) = study.reports
    assert set(metrics) == {"valid_mae"}
    assert value != metrics["valid_mae"]
    train_lightgbm({}, make_run(tmp_path / "u", study, metric="l1"), metric=["l1", "l2"])
    assert set(study.reports[-1][2]) == {"valid_0_l2"}


def test_reports_may_be_fewer(tmp_path):
    for number, train in enumerate((train_lightgbm, train_xgboost)):
        study = Study(enough_at=7)
        run = make_run(tmp_path / f"t{number}", study, metric="loss", until=7)
        monitor = {train_lightgbm: "l2", train_xgboost: "rmse"}[train]
        train({}, run, monitor=monitor, every=3)
        assert [resource for resource, *_ in study.reports] == [3, 6, 7]


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda run: train_lightgbm({}, run, "auc"), "one of what was measured: 'valid_0 l2'"),
        (lambda run: train_lightgbm({}, run, valid_sets=[]), "give the library data to evaluate"),
        (
            lambda run: train_lightgbm({}, run, metric=["l1", "l2"]),
            "monitor is missing: give it: .* 'valid_0 l[12]', 'valid_0 l[12]'",
        ),
        (lambda run: train_xgboost({}, run, "auc"), "'valid mae', 'valid rmse'"),
        (lambda run: train_xgboost({}, run, names=()), "give the library data to evaluate"),
        (lambda run: train_xgboost({}, run, "rmse", names=("a", "b")), "'a rmse', 'b rmse'"),
    ],
)
def test_a_metric_that_is_not_there_is_said_at_the_first_round(tmp_path, act, words):
    study = Study()
    with pytest.raises(InvalidArgumentError, match=words):
        act(make_run(tmp_path / "t", study))
    assert not study.reports


def test_a_goal_of_the_other_direction_is_refused(tmp_path):
    run = make_run(tmp_path / "t", Study(), metric="l2", goal="max")
    with pytest.raises(InvalidArgumentError, match=r"goal is 'max', but LightGBM holds .* lower"):
        train_lightgbm({}, run)


def test_a_study_pauses_and_resumes_boosting(tmp_path):
    def train(config, run):
        train_lightgbm(config, run, monitor="l2")

    result = rw.tune(
        train,
        {"learning_rate": rw.Float(0.01, 1, log=True), "num_leaves": rw.Int(2, 15)},
        metric="error",
        goal="min",
        max_resource=9,
        trials=6,
        scheduler="asha",
        backend="threads:1",
        show="quiet",
        study=tmp_path / "s.db",
    )
    assert result.view.resource_repeated == 0
    assert max(len(curve) for curve in result.curves().values()) == 3
    assert needs("lightgbm", "lightgbm").Booster(
        model_file=result.best.checkpoint / "model.txt"
    ).num_trees() == int(result.best.checkpoint_resource)
