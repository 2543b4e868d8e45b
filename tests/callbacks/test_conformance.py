"""One row per callback."""

import csv
import importlib

import pytest
from extras import needs

from rungwise import callbacks
from rungwise.callbacks import CSV, Callback, TensorBoard
from rungwise.registry import CALLBACKS
from rungwise.testing import CallbackConformance


class TestCallback(CallbackConformance):
    """The base class alone."""

    def make_callback(self, folder):
        return Callback()


class TestCSV(CallbackConformance):
    def make_callback(self, folder):
        return CSV(folder / "reports.csv")

    def read(self, folder):
        with (folder / "reports.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        return [(row["study"], row["trial"], row["resource"], row["value"]) for row in rows]


class TestTensorBoard(CallbackConformance):
    @pytest.fixture(autouse=True)
    def _installed(self):
        needs("tensorboard")

    def make_callback(self, folder):
        return TensorBoard(folder / "runs")

    def read(self, folder):
        found = []
        for path in sorted((folder / "runs").glob("*/trial-*")):
            key = path.parent.name.partition("-")[2]  # of the study s
            trial = int(path.name.removeprefix("trial-"))
            found += [(key, trial, step, value) for step, value in read_scalars(path, "loss")]
        return found


def read_scalars(folder, tag):
    """[(step, value), …] of a run, as TensorBoard itself reads it."""
    module = "tensorboard.backend.event_processing.event_accumulator"
    accumulator = importlib.import_module(module).EventAccumulator(str(folder))
    accumulator.Reload()
    if tag not in accumulator.Tags()["scalars"]:
        return []
    return [(point.step, point.value) for point in accumulator.Scalars(tag)]


def test_every_callback_has_a_row():
    assert {f"Test{name}" for name in CALLBACKS.classes()} <= set(globals())
    assert callbacks.Callback is Callback
