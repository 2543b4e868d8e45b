"""Spaces with priors of ConfigSpace, on a machine where ConfigSpace is not installed."""

import sys

import numpy as np
import pytest
from extras import needs

import rungwise as rw
from rungwise.errors import MissingExtraError
from rungwise.space import Float, Int, Space, priors

SPACE = Space.from_json(
    {
        "version": 1,
        "parameters": [
            {
                "name": "lr",
                "type": "float",
                "low": 0.0,
                "high": 1.0,
                "log": False,
                "prior": {"type": "normal", "mu": 0.5, "sigma": 0.1},
            },
            {
                "name": "units",
                "type": "int",
                "low": 1,
                "high": 9,
                "log": False,
                "prior": {"type": "beta", "alpha": 2.0, "beta": 3.0},
            },
        ],
        "forbidden": [],
    }
)
OPTIONS = {"metric": "error", "goal": "min", "max_resource": 3, "show": "quiet"}
NEEDED = r"drawing from a normal or beta prior needs an extra.*rungwise\[configspace\]"


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, error=config["lr"] + 1 / epoch)


@pytest.fixture
def without(monkeypatch):
    """Take ConfigSpace away."""

    def take_away():
        priors._hyperparameter.cache_clear()
        for name in [name for name in sys.modules if name.split(".")[0] == "ConfigSpace"]:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setitem(sys.modules, "ConfigSpace", None)

    yield take_away
    priors._hyperparameter.cache_clear()


@pytest.fixture
def study(tmp_path):
    needs("configspace", "ConfigSpace")
    path = tmp_path / "study.db"
    rw.tune(train, SPACE, trials=4, backend=rw.Threads(1), study=path, **OPTIONS)
    return path


def test_the_space_can_be_read_checked_and_written(without):
    without()
    config = {"lr": 0.25, "units": 3}
    assert SPACE.validate(config) == config
    assert Space.from_json(SPACE.to_json()) == SPACE
    assert not SPACE.drawable
    assert Space.parse({"lr": Float(0, 1), "units": Int(1, 9)}).drawable


def test_a_draw_names_the_extra(without):
    without()
    with pytest.raises(MissingExtraError, match=NEEDED):
        SPACE.sample(np.random.default_rng(0))


def test_a_study_is_refused_before_it_begins(without, tmp_path):
    without()
    path = tmp_path / "study.db"
    with pytest.raises(MissingExtraError, match=NEEDED):
        rw.tune(train, SPACE, trials=4, backend=rw.Threads(1), study=path, **OPTIONS)
    assert not path.exists()


def test_a_study_is_shown_without_drawing_again(study, without):
    expected = rw.load(study)
    without()
    found = rw.load(study)
    assert found.leaderboard() == expected.leaderboard()
    assert found.to_json() == expected.to_json()


def test_going_on_needs_the_extra(study, without):
    without()
    with pytest.raises(MissingExtraError, match=NEEDED):
        rw.resume(study, train, show="quiet")
