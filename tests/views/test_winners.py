"""Which trial wins: the best at the highest rung, or the best value at any resource."""

import math

import numpy as np
import pytest

import rungwise as rw
from rungwise.core.trials import Trial
from rungwise.tuning.exports import list_rows
from rungwise.tuning.opening import read_view
from rungwise.views import choose_winner, find_record
from rungwise.views.winners import BROKEN

LEVELS = (1, 3, 9)


def make_trial(number, losses):
    trial = Trial(number, {}, 0)
    trial.resources.extend(range(1, len(losses) + 1))
    trial.losses.extend(losses)
    trial.resource = len(losses)
    return trial


def rank(winner, *curves):
    trials = [make_trial(number, list(losses)) for number, losses in enumerate(curves)]
    return sorted(range(len(trials)), key=lambda n: find_record(trials[n], LEVELS, winner, {}).key)


def test_the_highest_rung_comes_first_and_an_early_peak_does_not_count():
    peak = [0.1, 0.5, 0.6]
    steady = [0.4, 0.4, 0.4]
    between = [0.3, 0.3, 0.3, 0.1]  # on its way to 9: compared at 3
    early = [0.05]
    assert rank("best", peak, steady, between, early) == [3, 0, 2, 1]
    assert rank("top", peak, steady, between, early) == [2, 1, 0, 3]


def test_what_has_diverged_comes_last_and_nothing_reported_is_no_value():
    curves = [[0.1, 0.1, math.inf], [0.9], [], [math.inf], [0.8]]
    for winner in ("top", "best"):
        assert rank(winner, *curves) == [4, 1, 0, 2, 3]
        diverged = find_record(make_trial(0, curves[0]), LEVELS, winner, {})
        assert (diverged.key[0], diverged.place) == (BROKEN, 0)
        assert diverged.problem == "diverged: its last value, at 3, is not finite"
    assert find_record(make_trial(0, curves[3]), LEVELS, "best", {}).place is None


def test_reports_that_are_sparse_count_where_they_reach_a_rung():
    trial = make_trial(0, [])
    trial.resources.extend([2, 4, 10])
    trial.losses.extend([0.3, 0.2, 0.4])
    trial.resource = 10
    record = find_record(trial, LEVELS, "top", {})
    assert (record.loss, record.place) == (0.4, 2)


def test_the_default_suits_the_scheduler():
    assert choose_winner(None, rw.AdaptiveHalving(max_resource=9)) == "top"
    assert choose_winner(None, rw.Rush(rw.AdaptiveHalving(max_resource=9), priors=1)) == "top"
    assert choose_winner(None, rw.PASHA()) == choose_winner(None, rw.ASHA()) == "best"
    assert choose_winner("best", rw.AdaptiveHalving(max_resource=9)) == "best"


def make_overfitting():
    """Row 0 has the best value of all, early; row 1 is the best in the end."""
    values = np.repeat(np.linspace(0.5, 0.6, 9)[:, None], 3, axis=1)
    values[0] = 0.1, 0.3, 0.49
    values[1] = 0.45
    return rw.Table(values)


@pytest.mark.parametrize(
    ("winner", "row", "at", "value"), [("top", 1, 3, 0.45), ("best", 0, 1, 0.1)]
)
def test_a_simulation_follows(winner, row, at, value):
    found = rw.simulate(make_overfitting(), "asha:eta=2", trials=range(9), winner=winner)
    assert (found.best.row, found.best.resource, found.best.value) == (row, at, value)
    assert found.leaderboard()[0].trial == found.view.best.trial == row
    assert found.to_json()["winner"] == found.winner == winner
    assert found.to_json()["best"]["trial"] == row
    assert ("Trial 1 wins by its value at 3, the highest rung, the best of 2" in found.rule) == (
        winner == "top"
    )


def test_a_wrong_rule_is_refused():
    with pytest.raises(rw.InvalidArgumentError, match="winner"):
        rw.simulate(make_overfitting(), "asha", trials=9, winner="last")


def overfit(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=0.2 * epoch if config["x"] == 0 else 0.45)


def test_a_study_follows_in_its_file_and_the_rule_can_be_changed(tmp_path):
    study = tmp_path / "study.db"
    options = {"metric": "loss", "max_resource": 3, "trials": 4, "backend": "threads:1"}
    initial = [{"x": 0}, {"x": 1}]
    space = {"x": rw.Int(0, 3)}
    found = rw.tune(overfit, space, **options, initial=initial, study=study, show="quiet")
    assert found.winner == "top"
    assert (found.best.config, found.best.resource) == ({"x": 1}, 3)
    assert "wins by its value at 3" in found.rule
    read = [rw.load(study).best.trial, read_view(study).best.trial]
    assert [*read, list_rows(study, "trials")[0]["trial"]] == [1] * 3
    assert rw.leaders(study, space, 1) == [{"x": 1}]
    changed = rw.resume(study, overfit, winner="best", trust=True, show="quiet")
    assert (changed.best.config, changed.best.resource) == ({"x": 0}, 1)
    assert rw.load(study).best.trial == read_view(study).best.trial == 0


def test_the_leaders_keep_their_checkpoints(tmp_path):
    def train(config, run):
        for epoch in run.resources():
            with run.checkpoint(epoch) as folder:
                (folder / "model").write_text("")
            run.report(epoch, loss=0.2 * epoch if config["x"] == 0 else 0.45)

    found = rw.tune(
        train, {"x": rw.Int(0, 3)}, metric="loss", max_resource=3, trials=4, keep=1, show="quiet",
        initial=[{"x": 0}, {"x": 1}], study=tmp_path / "study.db", backend="threads:1",
    )  # fmt: skip
    assert found.best.checkpoint_resource == 3
    assert found.best.checkpoint.is_dir()
