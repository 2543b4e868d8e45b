"""One row per callback."""

import csv
import importlib
import itertools
import json
import shutil
import struct
from collections import Counter

import pytest
from extras import needs

import rungwise as rw
from rungwise import callbacks
from rungwise.callbacks import CSV, Callback, MLflow, TensorBoard, WandB
from rungwise.options.registry import CALLBACKS
from rungwise.testing import CallbackConformance
from rungwise.testing.callbacks import (
    SPACE,
    Notices,
    find_key,
    list_records,
    run_study,
    train,
)


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


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")  # of theirs
class TestMLflow(CallbackConformance):
    @pytest.fixture(autouse=True)
    def _installed(self, empty_store):
        self.empty_store = empty_store

    def make_callback(self, folder):
        if not (folder / "m.db").exists():
            shutil.copyfile(self.empty_store, folder / "m.db")
        return MLflow(f"sqlite:///{folder}/m.db")

    def read(self, folder):
        return read_mlflow(f"sqlite:///{folder}/m.db")


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory):
    """A store of MLflow: to make one takes seconds."""
    client = needs("mlflow", "mlflow.tracking").MlflowClient
    path = tmp_path_factory.mktemp("mlflow") / "m.db"
    client(f"sqlite:///{path}").search_experiments()
    return path


def read_mlflow(uri):
    client = needs("mlflow", "mlflow.tracking").MlflowClient(uri)
    place = client.get_experiment_by_name("rungwise").experiment_id
    found = []
    for run in client.search_runs([place], max_results=1000):
        tags = run.data.tags
        if "rungwise.trial" in tags:
            assert "mlflow.parentRunId" in tags
            points = client.get_metric_history(run.info.run_id, "loss")
            found += [
                (tags["rungwise.study"], tags["rungwise.trial"], point.step, point.value)
                for point in points
            ]
    return found


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")  # of theirs
class TestWandB(CallbackConformance):
    @pytest.fixture(autouse=True)
    def _installed(self):
        needs("wandb", "wandb")

    def make_callback(self, folder):
        return WandB(mode="offline", folder=folder)

    def read(self, folder):
        found = []
        for path in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
            key, _, trial = path.stem.removeprefix("run-").rpartition("-")
            rows = read_wandb(path)
            found += [(key, trial, row["resource"], row["loss"]) for row in rows if "loss" in row]
        return found


def read_wandb(path):
    """The history in a file of W&B: records of the protocol in the framing of LevelDB's log."""
    record = importlib.import_module("wandb.proto.wandb_internal_pb2").Record
    data, at, parts, rows = path.read_bytes(), 7, b"", []
    while at + 7 <= len(data):
        if 2**15 - at % 2**15 < 7:  # no header fits into the rest of a block
            at += 2**15 - at % 2**15
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        parts += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            history = record.FromString(parts).history.item
            rows.append(
                {i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in history}
            )
            parts = b""
    return rows


def test_every_callback_has_a_row():
    assert {f"Test{name}" for name in CALLBACKS.classes()} <= set(globals())
    assert callbacks.Callback is Callback


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")  # of theirs
def test_mlflow_is_complete_although_its_process_is_killed(empty_store, tmp_path):
    """It is started again, and what was sent twice is held once."""
    shutil.copyfile(empty_store, tmp_path / "m.db")
    tracker, shown, numbers = MLflow(f"sqlite:///{tmp_path}/m.db"), Notices(), itertools.count()
    call = tracker._call

    def call_and_kill(method, *arguments):
        answer = call(method, *arguments)
        if method == "write" and next(numbers) in {2, 6}:  # written, but nobody hears of it
            tracker._store._process.kill()
            call("find_steps", tracker._parent, "loss")
        return answer

    tracker._call = call_and_kill
    result = rw.tune(
        train,
        SPACE,
        metric="loss",
        goal="min",
        scheduler="pasha",
        max_resource=9,
        trials=8,
        retries=0,
        backend="threads:1",
        callbacks=[tracker],
        show=shown,
        study=tmp_path / "s.db",
    )
    assert next(numbers) > 6, "it was killed twice"
    key = find_key(tmp_path / "s.db")
    wanted = Counter((k, t, r, round(v, 5)) for k, t, r, v in list_records(result, key))
    found = read_mlflow(f"sqlite:///{tmp_path}/m.db")
    assert Counter((k, int(t), r, round(v, 5)) for k, t, r, v in found) == wanted
    assert tracker._store is None, "its process has ended"


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")  # of theirs
def test_mlflow_goes_where_it_was_set_to_in_this_process(empty_store, tmp_path):
    mlflow = needs("mlflow", "mlflow")
    shutil.copyfile(empty_store, tmp_path / "m.db")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/m.db")
    try:
        result = run_study(tmp_path / "s.db", MLflow())
    finally:
        mlflow.set_tracking_uri(before)
    assert len(read_mlflow(f"sqlite:///{tmp_path}/m.db")) == result.reports
