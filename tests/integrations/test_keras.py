"""Keras as trials, with the real library on PyTorch."""

import importlib
import os

import numpy as np
import pytest
from extras import needs
from integration_legs import assert_without_a_gap, run_legs
from test_run import Study, make_run

from rungwise.errors import InvalidArgumentError

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("ignore")]  # of theirs


@pytest.fixture(autouse=True)
def _keras():
    os.environ["KERAS_BACKEND"] = "torch"
    needs("keras", "keras")


def build(config):
    keras = importlib.import_module("keras")
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(config["lr"]), loss="mse", metrics=["mae"])
    return model


def train(config, run, monitor="val_loss", *, validates=True, every=1):
    report = importlib.import_module("rungwise.integrations.keras").Report(run, monitor, every)
    x = np.linspace(-1, 1, 64).reshape(32, 2).astype("float32")
    y = x.sum(axis=1, keepdims=True)
    model = report.load() or build(config)
    more = {"validation_data": (x, y)} if validates else {}
    given = {"shuffle": False, "verbose": 0, "callbacks": [report], **more, **report.arguments}
    model.fit(x, y, **given)


@pytest.mark.parametrize("maximum", [27, None])
def test_two_legs_are_one_training(tmp_path, maximum):
    """The moments of Adam are kept with the model."""
    reports, whole = run_legs(tmp_path, train, {"lr": 0.05}, max_resource=maximum)
    assert_without_a_gap(reports, whole, tolerance=1e-4)
    assert set(reports[0][2]) == {"mae", "val_mae"}


def test_a_metric_that_is_not_there_is_said_at_the_first_epoch(tmp_path):
    run = make_run(tmp_path / "t", Study(), metric="val_loss")
    with pytest.raises(InvalidArgumentError, match=r"monitor is 'val_loss'.*'loss', 'mae'"):
        train({"lr": 0.1}, run, validates=False)
