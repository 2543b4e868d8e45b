"""Lightning as trials, with the real library."""

import importlib

import pytest
from extras import needs
from integration_legs import assert_without_a_gap, run_legs
from integrations.test_torch import assert_ranks_agree, tune_ranks
from test_run import Study, make_run

import rungwise as rw
from rungwise.errors import InvalidArgumentError

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("ignore")]  # of theirs


@pytest.fixture(autouse=True)
def lightning():
    return needs("lightning", "lightning")


def train(config, run, **more):
    lightning = importlib.import_module("lightning")
    trainings = importlib.import_module("ddp_trainings")
    report = importlib.import_module("rungwise.integrations.lightning").Report(run, "val_loss")
    given = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(
        callbacks=[report], accelerator="cpu", **given, **report.trainer_arguments, **more
    )
    trainer.fit(trainings.make_module(config), **report.arguments)


@pytest.mark.parametrize("maximum", [27, None])
def test_two_legs_are_one_training(tmp_path, maximum):
    reports, whole = run_legs(tmp_path, train, {"lr": 0.05}, max_resource=maximum)
    assert_without_a_gap(reports, whole)
    assert set(reports[0][2]) == {"val_twice", "val_loss"} - {"val_loss"}


def test_a_validation_once_in_a_while(tmp_path):
    study = Study(enough_at=4)
    train({"lr": 0.05}, make_run(tmp_path / "t", study), check_val_every_n_epoch=2)
    assert [resource for resource, *_ in study.reports] == [2, 4]


@pytest.mark.parametrize(
    ("config", "more", "words"),
    [
        ({"logs": False}, {}, "nothing was measured"),
        ({}, {"limit_val_batches": 0, "max_time": "00:00:00:02"}, "ran no validation"),
    ],
)
def test_a_metric_that_is_never_reported_is_an_error(tmp_path, config, more, words):
    run = make_run(tmp_path / "t", Study(), max_resource=2)
    with pytest.raises(InvalidArgumentError, match=words):
        train({"lr": 0.05, **config}, run, **more)


def test_two_ranks_leave_in_the_same_step_and_resume(tmp_path):
    trainings = importlib.import_module("ddp_trainings")
    result = tune_ranks(trainings.train_lightning, tmp_path, scheduler="asha", metric="val_loss")
    assert_ranks_agree(result, tmp_path)
    (far,) = [trial for trial, curve in result.curves().items() if len(curve) == 3]
    config = {**result.view.trial(far).config, "folder": str(tmp_path)}
    again = {"initial": [config], "trials": 1, "scheduler": rw.FixedResource(3)}
    whole = tune_ranks(trainings.train_lightning, tmp_path, metric="val_loss", **again)
    pairs = zip(result.curve(far), whole.curve(0), strict=True)
    assert all(one == pytest.approx(other) for one, other in pairs), "as without a break"


@pytest.mark.parametrize("strategy", ["ddp", "ddp_find_unused_parameters_true", "auto"])
@pytest.mark.parametrize("shared", [True, False])
def test_the_program_of_the_worker_is_not_started_again(tmp_path, monkeypatch, strategy, shared):
    launchers = importlib.import_module("lightning.pytorch.strategies.launchers")

    def start_programs(launcher):
        raise AssertionError("Lightning starts the program again")

    monkeypatch.setattr(
        launchers._SubprocessScriptLauncher, "_call_children_scripts", start_programs
    )
    study = Study()
    run = make_run(tmp_path / "t", study)
    with pytest.raises(rw.ShareError, match=r"The strategy 'ddp' cannot be used, because it st"):
        train({"lr": 0.1}, run.share() if shared else run, devices=2, strategy=strategy)
    run.close()
    assert not study.reports
    with pytest.raises(AssertionError, match="starts the program again"):
        train_without_a_report(strategy)


def train_without_a_report(strategy):
    """What has nothing to do with a study is left alone."""
    lightning = importlib.import_module("lightning")
    trainings = importlib.import_module("ddp_trainings")
    given = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy=strategy, **given)
    trainer.fit(trainings.make_module({"lr": 0.1}))


def test_several_processes_need_the_shared_run(tmp_path):
    report = importlib.import_module("rungwise.integrations.lightning").Report

    class Trainer:
        world_size = 2

    with pytest.raises(rw.ShareError, match=r"Report\(run.share\(\)\) and strategy='ddp_spawn'"):
        report(make_run(tmp_path / "t", Study())).setup(Trainer(), None, "fit")
