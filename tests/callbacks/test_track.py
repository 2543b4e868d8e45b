"""``--track`` and ``track:``: where a study is tracked, on the command line and in YAML."""

import csv
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from command_line import run_here
from extras import needs

import rungwise as rw
from rungwise.callbacks import CSV, TensorBoard
from rungwise.errors import InvalidArgumentError
from rungwise.specification import read_study

STUDY = """
train: train.py:train
metric: loss
max_resource: 9
trials: 4
backend: threads:1
space: {x: {type: float, low: 0, high: 1}}
"""
TRAIN = """
import os, time

def train(config, run):
    for epoch in run.resources():
        time.sleep(float(os.environ.get("EPOCH", "0")))
        with run.checkpoint(epoch):
            pass
        run.report(epoch, loss=config["x"] + 1 / epoch, speed=epoch)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def write_study(folder, track=""):
    path = folder / "study.yaml"
    path.write_text(STUDY + track)
    return path


def read_rows(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def assert_whole(rows, study):
    """Every report has a row, and one."""
    curves = rw.load(study).curves().items()
    wanted = Counter((trial, float(r)) for trial, curve in curves for r, _ in curve)
    assert Counter((int(row["trial"]), float(row["resource"])) for row in rows) == wanted


def test_the_command_line_tracks_and_resumes_tracking(folder):
    write_study(folder)
    arguments = ["--track", "csv:one.csv", "--track", "csv:file=two.csv", "--quiet"]
    done = run_here(["tune", "study.yaml", *arguments], folder=folder)
    assert done.returncode == 0, done.stderr
    for name in ("one.csv", "two.csv"):
        assert_whole(read_rows(folder / name), folder / "study.db")
    more = ["--trials", "6", "--track", "csv:one.csv", "--quiet", "--trust"]
    done = run_here(["resume", "study.db", *more], folder=folder)
    assert done.returncode == 0, done.stderr
    assert_whole(read_rows(folder / "one.csv"), folder / "study.db")
    assert len(read_rows(folder / "one.csv")) > len(read_rows(folder / "two.csv"))
    more = ["--resource", "2", "--track", "csv:three.csv", "--trust"]
    done = run_here(["retrain", "study.db", *more], folder=folder)
    assert done.returncode == 0, done.stderr
    assert [row["phase"] for row in read_rows(folder / "three.csv")] == ["retrain"] * 2


def test_a_name_that_is_unknown_is_answered_with_a_near_one(folder):
    write_study(folder)
    done = run_here(["tune", "study.yaml", "--track", "tensorbord"], folder=folder)
    assert done.returncode == 2
    assert "--track is 'tensorbord', but did you mean 'tensorboard'?" in done.stderr
    assert not (folder / "study.db").exists()


@pytest.mark.parametrize(
    "track",
    [
        "track: csv:reports.csv",
        "track: [csv]",
        "track: {type: csv, file: reports.csv}",
        "track: [{type: CSV}]",
    ],
)
def test_a_study_file_tracks_into_its_own_folder(folder, track):
    (given,) = read_study(write_study(folder, track)).options["callbacks"]
    assert repr(given) == repr(CSV(folder / "reports.csv"))


def test_a_study_file_may_name_several(folder):
    track = "track:\n  - tensorboard\n  - {type: csv, file: /r.csv}\n"
    given = read_study(write_study(folder, track)).options["callbacks"]
    assert [repr(each) for each in given] == [repr(TensorBoard(folder / "runs")), "CSV('/r.csv')"]


@pytest.mark.parametrize(
    ("track", "words"),
    [
        ("track: [csv, {type: cvs}]", "did you mean 'csv'"),
        ("track: {type: csv, fil: r.csv}", r"line 8\).* did you mean 'file'"),
        ("track: 5", "line 8"),
        ("track: {file: r.csv}", "its name must be|it must be one of"),
    ],
)
def test_what_is_wrong_in_a_study_file_is_said_with_its_place(folder, track, words):
    with pytest.raises(InvalidArgumentError, match=words):
        read_study(write_study(folder, track))


# -- the tuner is killed -----------------------------------------------------------------------

TUNER = """
import sys
import rungwise as rw
from rungwise.callbacks import *
sys.path.insert(0, ".")
from train import train
if __name__ == "__main__":
    rw.tune(train, {"x": rw.Float(0, 1)}, metric="loss", goal="min", max_resource=9, trials=9,
            workers=2, study="s.db", callbacks=[eval(text) for text in sys.argv[1:]], show="quiet")
"""


def start_tuner(folder, *callbacks):
    (folder / "tuner.py").write_text(TUNER)
    # Not in the process that W&B has started for this one.
    own = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    return subprocess.Popen(
        [sys.executable, "tuner.py", *callbacks],
        cwd=folder,
        env={**own, "EPOCH": "0.02"},
        stderr=subprocess.PIPE,
    )


def kill_and_resume(folder, *callbacks, errors=True):
    """Kill the tuner with SIGKILL after some reports, three times, and let the fourth end."""
    study = folder / "s.db"
    for reports in (3, 9, 15):
        tuner = start_tuner(folder, *callbacks)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and tuner.poll() is None:
            if study.exists() and study.stat().st_size and count_reports(study) >= reports:
                break
            time.sleep(0.01)
        tuner.send_signal(signal.SIGKILL)
        tuner.communicate(timeout=60)
    tuner = start_tuner(folder, *callbacks)
    _, said = tuner.communicate(timeout=120)
    assert tuner.returncode == 0, said
    assert not (errors and said), said
    assert b"the callback" not in said, said
    return study


def count_reports(study):
    try:
        return rw.load(study).reports
    except rw.RungwiseError:  # it is being made
        return 0


@pytest.mark.slow
def test_a_tuner_that_is_killed_leaves_neither_gap_nor_duplicate(folder):
    needs("tensorboard")
    from callbacks.test_conformance import read_scalars  # noqa: PLC0415

    study = kill_and_resume(folder, "CSV('r.csv')", "TensorBoard('runs')")
    assert_whole(read_rows(folder / "r.csv"), study)
    (root,) = Path(folder, "runs").iterdir()
    curves = rw.load(study).curves()
    shown = {number: read_scalars(root / f"trial-{number:05d}", "loss") for number in curves}
    assert {number: [step for step, _ in points] for number, points in shown.items()} == {
        number: [step for step, _ in points] for number, points in curves.items()
    }


@pytest.mark.integrations
@pytest.mark.filterwarnings("ignore")  # of theirs
def test_a_tuner_that_is_killed_leaves_mlflow_whole(folder):
    client = needs("mlflow", "mlflow.tracking").MlflowClient
    # MLflow does not survive a kill while it makes its tables.
    client(f"sqlite:///{folder}/m.db").search_experiments()
    from callbacks.test_conformance import read_mlflow  # noqa: PLC0415

    study = kill_and_resume(folder, "MLflow('sqlite:///m.db')", errors=False)
    found = read_mlflow(f"sqlite:///{folder}/m.db")
    assert_whole([{"trial": t, "resource": r} for _, t, r, _ in found], study)


@pytest.mark.integrations
def test_a_tuner_that_is_killed_leaves_wandb_whole(folder):
    needs("wandb", "wandb")
    from callbacks.test_conformance import TestWandB  # noqa: PLC0415

    study = kill_and_resume(folder, "WandB(mode='offline')", errors=False)
    found = TestWandB().read(folder)
    assert_whole([{"trial": t, "resource": r} for _, t, r, _ in found], study)


def test_a_row_that_was_cut_off_is_written_again(tmp_path):
    path = tmp_path / "r.csv"

    def tune():
        return rw.tune(
            train,
            {"x": rw.Float(0, 1)},
            metric="loss",
            goal="min",
            max_resource=3,
            trials=3,
            backend="threads:1",
            study=tmp_path / "s.db",
            callbacks=[CSV(path)],
            show="quiet",
        )

    tune()
    whole = path.read_bytes()
    for cut in (len(whole) - 5, len(whole) // 2, 20, 0):
        path.write_bytes(whole[:cut])
        tune()
        assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] + 1 / epoch)


def test_another_file_is_left_alone(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("name,phone\nme,1\n")
    with pytest.raises(InvalidArgumentError, match="another kind, and would be damaged"):
        CSV(path).check()
    assert path.read_text() == "name,phone\nme,1\n"
