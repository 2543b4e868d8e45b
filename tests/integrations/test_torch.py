"""Plain PyTorch as trials: states, random numbers, several ranks."""

import importlib

import pytest
from extras import needs
from integration_legs import assert_without_a_gap, run_legs
from test_run import Study, make_run

import rungwise as rw
from rungwise.errors import InvalidArgumentError

torch = needs("torch", "torch")
ddp_trainings = importlib.import_module("ddp_trainings")  # of workers too
Report = importlib.import_module("rungwise.integrations.torch").Report


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def build(config):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), config["lr"])
    return model, optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 27)


def train_epoch(model, optimizer, schedule, x, y):
    for part in torch.randperm(len(x)).split(8):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x[part]), y[part]).backward()
        optimizer.step()
    schedule.step()
    with torch.no_grad():
        return torch.nn.functional.mse_loss(model(x), y)


def make_data():
    x = torch.randn(32, 3, generator=torch.Generator().manual_seed(1))
    return x, x[:, :1] * x[:, 1:2]


def train(config, run):
    model, optimizer, schedule = build(config)
    report = Report(run, model=model, optimizer=optimizer, schedule=schedule)
    for epoch in report.resources():
        loss = train_epoch(model, optimizer, schedule, *make_data())
        report(epoch, loss=loss, rate=schedule.get_last_lr()[0])


def test_two_legs_are_one_training_to_the_last_digit(tmp_path):
    """With dropout, shuffling, Adam's moments and a learning-rate schedule."""
    reports, whole = run_legs(tmp_path, train, {"lr": 0.05})
    assert_without_a_gap(reports, whole, tolerance=0)
    assert [metrics for _, _, metrics in reports] == [metrics for _, _, metrics in whole]


def test_a_study_without_a_maximum(tmp_path):
    result = rw.tune(
        train,
        {"lr": rw.Float(1e-3, 1, log=True)},
        metric="loss",
        goal="min",
        trials=4,
        backend="threads:1",
        show="quiet",
        study=tmp_path / "s.db",
    )
    assert result.view.resource_repeated == 0


@pytest.mark.parametrize(
    ("states", "words"),
    [({"model": {"weight": 1}}, "it must have state_dict"), ({"lr": 0.1}, "lr is 0.1")],
)
def test_what_has_no_state_is_refused(tmp_path, states, words):
    with pytest.raises(InvalidArgumentError, match=words):
        Report(make_run(tmp_path / "t", Study()), **states)


def test_a_state_that_a_checkpoint_does_not_hold_is_named(tmp_path):
    model, optimizer, _ = build({"lr": 0.1})
    study = Study()
    Report(make_run(tmp_path / "t", study), model=model)(1, loss=1.0)
    again = make_run(tmp_path / "t", study, start=1, job=1)
    with pytest.raises(InvalidArgumentError, match=r"holds model, rungwise.random only"):
        Report(again, model=model, optimizer=optimizer)


# -- two ranks ---------------------------------------------------------------------------------


def tune_ranks(train, folder, **changes):
    config = {"lr": rw.Float(0.01, 0.3), "folder": str(folder), **changes.pop("space", {})}
    arguments = {
        "metric": "loss",
        "goal": "min",
        "max_resource": 3,
        "trials": 3,
        "workers": 1,
        "preload": ["torch"],
        "report_timeout": 100,
        "show": "quiet",
        **changes,
    }
    return rw.tune(train, config, **arguments)


@pytest.mark.slow
def test_two_ranks_leave_in_the_same_step_and_resume(tmp_path):
    result = tune_ranks(ddp_trainings.train_plain, tmp_path, scheduler="asha")
    assert_ranks_agree(result, tmp_path)
    (far,) = [trial for trial, curve in result.curves().items() if len(curve) == 3]
    config = result.view.trial(far).config
    again = {"initial": [dict(config)], "trials": 1, "scheduler": rw.FixedResource(3)}
    whole = tune_ranks(ddp_trainings.train_plain, tmp_path, **again)
    pairs = zip(result.curve(far), whole.curve(0), strict=True)
    assert all(one == pytest.approx(other) for one, other in pairs), "as without a break"


def assert_ranks_agree(result, folder):
    for trial, start, _ in result.view.jobs():
        one, two = (folder / f"trial-{trial}-from-{start}-rank-{rank}" for rank in (0, 1))
        assert one.read_text() == two.read_text(), "both had the same answers"
    assert result.view.resource_repeated == 0


@pytest.mark.slow
def test_a_report_that_raises_leaves_no_rank_waiting(tmp_path):
    again = {"trials": 1, "scheduler": rw.FixedResource(3), "retries": 0}
    result = tune_ranks(ddp_trainings.train_plain, tmp_path, space={"diverges": True}, **again)
    (failure,) = result.failures
    assert "NotFiniteError" in failure.trace
    assert (tmp_path / "trial-0-from-0-rank-1").read_text() == "[(1, True), (2, False)]"
