"""The Trainer of transformers as trials, with the real library."""

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
def torch():
    needs("transformers", "accelerate")
    torch = needs("torch", "torch")
    torch.set_num_threads(1)
    return torch


def make_trainer(config, run, monitor="eval_loss", **more):
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    report = importlib.import_module("rungwise.integrations.transformers").Report(run, monitor)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x, labels):
            out = self.layer(x)
            return {"loss": ((out - labels) ** 2).mean(), "logits": out}

    x = torch.linspace(-1, 1, 32).reshape(16, 2)
    rows = [{"x": row, "labels": row.sum().reshape(1)} for row in x]
    torch.manual_seed(0)
    given = {
        "num_train_epochs": 27,
        "learning_rate": config["lr"],
        "lr_scheduler_type": "linear",
        "per_device_train_batch_size": 4,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
        "seed": 3,
        **more,
    }
    arguments = transformers.TrainingArguments(output_dir=str(run.folder / "hf"), **given)
    trainer = transformers.Trainer(
        Model(), arguments, train_dataset=rows, eval_dataset=rows, callbacks=[report]
    )
    return trainer, report


def train(config, run, monitor="eval_loss", **more):
    trainer, report = make_trainer(config, run, monitor, **more)
    trainer.train(**report.arguments)


def test_two_legs_are_one_training(tmp_path):
    """With the optimiser, the learning-rate schedule and the order of the data."""
    reports, whole = run_legs(tmp_path, train, {"lr": 0.05})
    assert_without_a_gap(reports, whole, tolerance=1e-5)


def train_steps(config, run):
    every = {"eval_strategy": "steps", "save_strategy": "steps", "eval_steps": 1, "save_steps": 1}
    train(config, run, **every, max_steps=27)


def test_steps_may_be_the_resource(tmp_path):
    reports, whole = run_legs(tmp_path, train_steps, {"lr": 0.05})
    assert_without_a_gap(reports, whole, tolerance=1e-5)


@pytest.mark.parametrize(
    ("more", "changes", "words"),
    [
        ({"save_strategy": "no"}, {}, "reports are made at checkpoints"),
        ({"eval_strategy": "steps", "eval_steps": 2}, {}, "both must be 'epoch' or both 'steps'"),
        (
            {"metric_for_best_model": "loss", "greater_is_better": True},
            {"goal": "min"},
            "goal is 'min', but the Trainer holds that a higher eval_loss is better",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_trained(tmp_path, more, changes, words):
    study = Study()
    with pytest.raises(InvalidArgumentError, match=words):
        train({"lr": 0.05}, make_run(tmp_path / "t", study, **changes), **more)
    assert not study.reports


@pytest.mark.parametrize("monitor", ["eval_f1", None])
def test_a_metric_that_is_not_measured_is_said_at_the_first_checkpoint(tmp_path, monitor):
    study = Study()
    run = make_run(tmp_path / "t", study, metric="f1")
    with pytest.raises(InvalidArgumentError, match=r"monitor is .*'eval_loss'"):
        train({"lr": 0.05}, run, monitor)
    assert not study.reports


def test_two_ranks_leave_in_the_same_step_and_resume(tmp_path):
    """Each with its own random state, which dropout shows."""
    trainings = importlib.import_module("ddp_trainings")
    preload = {"preload": ["torch", "transformers.trainer"], "metric": "eval_loss"}
    result = tune_ranks(trainings.train_trainer, tmp_path, scheduler="asha", **preload)
    assert_ranks_agree(result, tmp_path)
    (far,) = [trial for trial, curve in result.curves().items() if len(curve) == 3]
    assert len([trial for trial, *_ in result.view.jobs() if trial == far]) > 1, "it was resumed"
    config = {**result.view.trial(far).config, "folder": str(tmp_path)}
    again = {"initial": [config], "trials": 1, "scheduler": rw.FixedResource(3)}
    whole = tune_ranks(trainings.train_trainer, tmp_path, **preload, **again)
    pairs = zip(result.curve(far), whole.curve(0), strict=True)
    assert all(one == pytest.approx(other) for one, other in pairs), "as without a break"


def test_their_hyperparameter_search_takes_our_pruner(tmp_path):
    """``Trainer.hyperparameter_search`` has a fixed list of backends; Optuna's takes a pruner."""
    optuna = needs("optuna", "optuna")
    pruners = importlib.import_module("rungwise.integrations.optuna")
    torch = importlib.import_module("torch")
    run = make_run(tmp_path / "t", Study())
    trainer, report = make_trainer({"lr": 0.1}, run, save_strategy="no", num_train_epochs=9)
    trainer.remove_callback(report)
    model = trainer.model
    trainer.model_init = lambda: type(model)() if torch.manual_seed(0) else None
    trainer.hyperparameter_search(
        hp_space=lambda trial: {"learning_rate": trial.suggest_float("lr", 1e-4, 1, log=True)},
        direction="minimize",
        backend="optuna",
        n_trials=9,
        pruner=pruners.PASHAPruner(max_resource=9),
        storage=f"sqlite:///{tmp_path}/o.db",
        study_name="hf",
        sampler=optuna.samplers.RandomSampler(seed=0),
    )
    study = optuna.load_study(study_name="hf", storage=f"sqlite:///{tmp_path}/o.db")
    states = {trial.state.name for trial in study.trials}
    assert "PRUNED" in states
