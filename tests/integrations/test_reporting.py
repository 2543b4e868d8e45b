"""What the reporters of training libraries share, with what libraries measure."""

import math

import numpy as np
import pytest

import rungwise as rw
from rungwise.integrations.reporting import Reporter, find_number


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (2, 2.0),
        (True, 1.0),
        (np.bool_(True), 1.0),
        (np.float32(0.5), 0.5),
        (np.array(3), 3.0),
        (np.array([1.5]), 1.5),
        (np.array([[1.5]]), 1.5),
        (np.array([1, 2]), None),
        (np.array(["a"]), None),
        ("a", None),
        (None, None),
        ({"a": 1}, None),
    ],
    ids=repr,
)
def test_a_number_is_found_however_it_is_wrapped(value, number):
    assert find_number(value) == number


def test_what_is_no_number_is_left_out_beside_the_metric():
    def train(config, run):
        reporter = Reporter(run)
        for epoch in run.resources():
            values = {
                "loss": np.array([config["x"]]),
                "val/acc": np.array([[0.5]]),
                "matrix": np.eye(2),
                "label": np.array(["a"]),
                "rate": math.nan,
            }
            reporter.report(epoch, values, None)

    seen = []
    rw.tune(
        train,
        {"x": rw.Float(0, 1)},
        metric="loss",
        max_resource=1,
        trials=1,
        backend=rw.Threads(1),
        show="quiet",
        on_report=seen.append,
    )
    (report,) = seen
    assert report.metrics["val_acc"] == 0.5
    assert set(report.metrics) <= {"val_acc", "rate"}
