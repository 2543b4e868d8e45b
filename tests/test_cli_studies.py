"""The commands that tune and deal with study files: the program itself, mostly in this process."""

import csv
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import run_here, run_process, started
from extras import needs

import rungwise as rw
from rungwise.cli import studies, summary
from rungwise.locking import FileLock
from rungwise.storage.study_file import StudyFile

EXAMPLES = Path(__file__).parents[1] / "examples"

SPACE = "lr: {type: float, low: 1e-3, high: 1, log: true}\nact: [relu, tanh]\n"
TRAIN = """
import time

def train(config, run):
    error = 1.0
    if run.latest:
        error = float((run.latest / "error").read_text())
    for epoch in run.resources():
        time.sleep(PAUSE)
        error *= 1 - config["lr"] / 2
        if config["lr"] > 0.1:
            raise ValueError("[red]too large[/red]")
        with run.checkpoint(epoch) as folder:
            (folder / "error").write_text(repr(error))
        run.report(epoch, error=error, epoch=epoch)
"""
TUNE = ("tune", "train.py:train", "--space", "space.yaml", "--metric", "error", "--goal", "min")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "space.yaml").write_text(SPACE)
    (tmp_path / "train.py").write_text(f"PAUSE = 0\n{TRAIN}")
    return tmp_path


def rungwise(folder, *arguments, expect=0, given=None, alone=False):
    """A command in this process, or in one of its own: ``alone``, and where it is given answers."""
    if alone or given is not None:
        done = run_process(arguments, folder=folder, given=given)
    else:
        done = run_here(arguments, folder=folder)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished study, train.db."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "space.yaml").write_text(SPACE)
    (folder / "train.py").write_text(f"PAUSE = 0\n{TRAIN}")
    options = ("--max-resource", 9, "--trials", 12, "--workers", 2, "--retries", 0, "--seed", 3)
    done = rungwise(folder, *TUNE, *options, alone=True)
    (folder / "said.txt").write_text(done.stderr + done.stdout)
    return folder


def test_tune_ends_with_the_winner_and_what_to_do_next(finished):
    said = (finished / "said.txt").read_text()
    result = rw.load(finished / "train.db")
    assert f"Best: error = {result.best.value:.6g}" in said
    assert repr(result.best.config["lr"]) in said
    assert said.count("Done: 12 configurations compared; ") == 1
    assert "Details: rungwise show train.db" in said
    assert "rungwise retrain" not in said  # the winner was trained in full already
    assert (result.trials, result.metric, result.goal) == (12, "error", "min")


def test_tuning_again_trains_nothing(finished):
    before = rw.load(finished / "train.db").reports
    options = ("--max-resource", 9, "--trials", 12, "--workers", 1, "--retries", 0, "--seed", 3)
    done = rungwise(finished, *TUNE, *options, "--quiet")
    assert "Best: error" in done.stdout
    assert done.stdout.count("Done: ") == 1
    assert rw.load(finished / "train.db").reports == before
    shown = rungwise(finished, *TUNE, *options)  # nothing is left to be shown by a display
    assert (shown.stderr + shown.stdout).count("Done: ") == 1


def test_another_study_in_the_same_file_is_refused(finished):
    options = ("--max-resource", 27, "--trials", 12, "--seed", 4)
    done = rungwise(finished, *TUNE, *options, expect=2, alone=True)
    assert "scheduler.max_resource: 9 in the file, 27 asked for" in done.stderr
    assert "seed: 3 in the file, 4 asked for" in done.stderr


def test_a_study_can_start_from_another(finished, tmp_path):
    more = ("--max-resource", 9, "--trials", 5, "--workers", 1, "--retries", 0, "--quiet")
    choice = (
        "--study",
        tmp_path / "new.db",
        "--transfer",
        "train.db",
        "--leaders",
        2,
        "--searcher",
        "sobol:1",
    )
    rungwise(finished, *TUNE, *more, *choice)
    study = rw.load(tmp_path / "new.db").engine.study
    assert study.scheduler == rw.Rush(rw.AdaptiveHalving(max_resource=9), priors=2)
    assert study.searcher == rw.searchers.Sobol(1)
    rows = rw.load(finished / "train.db").leaderboard(2)
    assert list(study.initial) == [dict(row.config) for row in rows]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ("--searcher", "gpp"),
            "did you mean 'gp'? its name must be one of random",
        ),
        (("--searcher", "gp:start=3"), "did you mean 'startup'?"),
        (("--transfer", "none.db"), "--transfer is 'none.db', but there is no such file"),
        (("--transfer", "space.yaml"), "space.yaml cannot be used"),
    ],
)
def test_searchers_and_transfers_that_are_refused(folder, options, told):
    done = rungwise(folder, *TUNE, "--study", "none-yet.db", *options, expect=2)
    assert told in " ".join(done.stderr.split())
    assert not (folder / "none-yet.db").exists()


def test_the_backend_and_its_options_come_from_flags(finished, folder):
    more = ("--max-resource", 3, "--trials", 2, "--retries", 0, "--show", "quiet")
    backend = ("--backend", "local:preload=json", "--workers", 2, "--grace", 2)
    refused = rungwise(folder, *TUNE, *more, *backend, expect=2)
    assert "preload of --backend is 'json', but it must be a list of module names" in refused.stderr
    backend = ("--backend", "local:workers=1", "--preload", "json", "--preload", "csv")
    rungwise(folder, *TUNE, *more, *backend, "--grace", 2)
    with StudyFile(folder / "train.db", mode="read") as file:
        kept, workers = file.about.run, file.about.workers
    assert kept["backend"] == {
        "type": "Local",
        "workers": 1,
        "gpus_per_worker": None,
        "preload": ["json", "csv"],
    }
    assert (kept["grace"], workers) == (2.0, 1)
    options = ("--workers", 2, "--grace", 1, "--show", "json")
    said = rungwise(folder, "resume", "train.db", *options).stdout.splitlines()
    assert json.loads(said[-1])["kind"] == "result"


def test_a_study_file_gives_options_and_flags_replace_them(folder):
    text = "train: train.py:train\nspace: space.yaml\nmetric: error\nmax_resource: 3\ntrials: 2\n"
    text += "backend: {type: local, workers: 3}\nretries: 0\nscheduler: asha:eta=2\nshow: json\n"
    (folder / "study.yaml").write_text(text)
    done = rungwise(folder, "tune", "study.yaml", "--workers", 1, "--seed", 5)

    assert json.loads(done.stdout.splitlines()[-1])["kind"] == "result"
    with StudyFile(folder / "study.db", mode="read") as file:
        assert file.about.run["backend"]["workers"] == 1
        assert file.log.study.scheduler == rw.ASHA(eta=2, max_resource=3)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--backend", "thread"), "--backend is 'thread', but did you mean 'threads'?"),
        (
            ("--backend", "local:2", "--workers", 3),
            "--workers is 3, but it must be given once, here or for the backend",
        ),
        (("--backend", "threads", "--preload", "json"), "the backend Threads has no such option"),
        (("--backend", "local:wrkers=3"), "did you mean 'workers'?"),
        (("--scheduler", "pasha:etta=2"), "'pasha:etta=2', but did you mean 'eta'? the options of"),
        (("--show", "loud"), "--show is 'loud', but its name must be one of auto, json"),
        (
            ("--scheduler", "asha:eta=2", "--eta", 3),
            "--eta is 3, but it must be given once, here or for the scheduler",
        ),
        (
            ("--workers", 0),
            "--workers is 0, but it must be a whole number of at least 1, or 'auto'",
        ),
    ],
)
def test_options_that_are_refused(folder, options, told):
    done = rungwise(folder, *TUNE, "--max-resource", 9, *options, expect=2)
    assert told in " ".join(done.stderr.split())
    assert not (folder / "train.db").exists()


def test_show(finished):
    said = rungwise(finished, "show", "train.db", "--top", 3).stdout
    result = rw.load(finished / "train.db")
    assert "The best 3 of 12" in said
    assert f"{result.best.value:.6g}" in said
    assert "← ceiling" in said
    assert "times less than training every configuration" in said


def test_show_as_json(finished):
    said = json.loads(rungwise(finished, "show", "train.db", "--json", "--top", 2).stdout)
    result = rw.load(finished / "train.db")
    assert said["best"]["value"] == result.best.value
    assert said["best"]["config"] == result.best.config
    assert [row["trial"] for row in said["leaderboard"]] == [
        row.trial for row in result.leaderboard(2)
    ]
    assert said["ended"] is True


def test_show_one_trial_with_its_failure(finished):
    failed = rw.load(finished / "train.db").failures
    assert failed, "some learning rates are too large"
    said = rungwise(finished, "show", "train.db", "--trial", failed[0].trial).stdout
    assert "ValueError: [red]too large[/red]" in said
    assert "Traceback" in said
    assert "its job failed and is not retried" in said
    refused = rungwise(finished, "show", "train.db", "--trial", 99, expect=2)
    assert "the study has the trials 0 to 11" in refused.stderr


def test_list(finished, folder):
    said = rungwise(finished, "list").stdout
    assert "train.db" in said
    assert "finished" in said
    (row,) = json.loads(rungwise(finished, "list", "--json").stdout)["studies"]
    assert (row["study"], row["state"], row["trials"]) == ("train.db", "finished", 12)
    assert "There is no study" in rungwise(folder, "list").stdout
    assert "there is no such folder" in rungwise(folder, "list", "nowhere", expect=2).stderr


def test_list_names_what_cannot_be_read(finished, folder):
    data = bytearray((finished / "train.db").read_bytes())
    data[5000:9000] = bytes(4000)
    (folder / "broken.db").write_bytes(data)
    os.mkfifo(folder / "pipe.db")  # a study it is not, and nobody will ever write to it
    assert "cannot be read" in rungwise(folder, "list").stdout


def test_export_reports(finished):
    rows = list(csv.DictReader(io.StringIO(rungwise(finished, "export", "train.db").stdout)))
    result = rw.load(finished / "train.db")
    assert len(rows) == result.reports
    best = [row for row in rows if int(row["trial"]) == result.best.trial]
    assert [(float(row["resource"]), float(row["error"])) for row in best] == result.curve(
        result.best.trial
    )
    assert all(row["epoch"] == row["resource"] for row in rows)  # the other metric
    assert {row["decision"] for row in rows} <= {"Continue", "Pause", "Stop"}
    assert float(best[0]["config.lr"]) == result.best.config["lr"]


def test_export_trials(finished, tmp_path):
    out = tmp_path / "trials.json"
    rungwise(finished, "export", "train.db", "--json", "--what", "trials", "-o", out)
    rows = json.loads(out.read_text())
    assert [row["trial"] for row in rows] == [
        row.trial for row in rw.load(finished / "train.db").leaderboard(None)
    ]


def test_export_parquet(finished, tmp_path):
    parquet = needs("parquet", "pyarrow.parquet")
    out = tmp_path / "reports.parquet"
    rungwise(finished, "export", "train.db", "--parquet", "-o", out)
    table = parquet.read_table(out)
    assert table.num_rows == rw.load(finished / "train.db").reports
    assert {"trial", "error", "config.lr", "config.act"} <= set(table.column_names)


def test_export_wants_one_format_and_known_rows(finished):
    assert (
        "choose one" in rungwise(finished, "export", "train.db", "--csv", "--json", expect=2).stderr
    )
    refused = rungwise(finished, "export", "train.db", "--what", "jobs", expect=2)
    assert "'reports' or 'trials'" in refused.stderr


def test_retrain_on_another_backend(finished):
    there = ["retrain", "train.db", "--resource", 2]
    rungwise(finished, *there, "--backend", "threads", expect=0)
    refused = rungwise(finished, *there, "--backend", "threads", "--preload", "json", expect=2)
    assert "--preload is ['json'], but the backend Threads has no such option" in refused.stderr
    rungwise(finished, *there, "--preload", "json", expect=0)


def test_retrain(finished):
    found = json.loads(rungwise(finished, "retrain", "train.db", "--fresh", "--json").stdout)
    assert (found["resource"], found["metrics"]) == (9, {"epoch": 9})
    assert found["value"] <= rw.load(finished / "train.db").best.value
    assert Path(finished, found["checkpoint"], "error").exists()
    said = rungwise(finished, "retrain", "train.db", "--resource", 3, "--trial", 0).stdout
    sentence = re.search(
        r"Trial 0, trained from scratch in .* s: error = \S+ at 3, its best\n", said
    )
    assert f"{sentence[0]}  at 3: epoch = 3\n  checkpoint: " in said
    assert sentence[0] in rungwise(finished, "show", "train.db").stdout


def test_what_was_trained_to_the_maximum_is_not_retrained(finished):
    best, before = rw.load(finished / "train.db").best, rw.load(finished / "train.db").retrained
    said = rungwise(finished, "retrain", "train.db").stdout
    assert f"Trial {best.trial}, already trained by the study itself: error = " in said
    again = f"rungwise retrain train.db --trial {best.trial} --resource 9 --fresh"
    assert f"Nothing was trained now. From scratch: {again}\n" in said
    assert rw.load(finished / "train.db").retrained == before
    found = json.loads(rungwise(finished, "retrain", "train.db", "--json").stdout)
    assert (found["from_trial"], found["seconds"], found["resource"]) == (True, 0, 9)
    assert Path(finished, found["checkpoint"]) == Path(finished, best.checkpoint)


def test_retrain_stops_early(folder):
    (folder / "peak.py").write_text(
        "def train(config, run):\n"
        "    for epoch in run.resources():\n"
        "        with run.checkpoint(epoch) as place:\n"
        "            (place / 'at').write_text(str(epoch))\n"
        "        run.report(epoch, accuracy=0.9 - abs(epoch - 5) / 30)\n"
    )
    options = ("--metric", "accuracy", "--trials", 3, "--workers", 1, "--scheduler", "fixed:7")
    rungwise(folder, "tune", "peak.py:train", "--space", "space.yaml", *options)
    command = ("retrain", "peak.db", "--resource", 27, "--early-stop", 4)
    done = rungwise(folder, *command, alone=True)  # where a warning is no error
    (best,) = rw.load(folder / "peak.db").retrained
    assert (best.best_resource, best.resource, best.stopped_early) == (5, 9, 4)
    values = "accuracy = 0.766667 at 9; its best was 0.9 at 5"
    assert f" s: {values}; stopped early, since 4 more brought no better one\n" in done.stdout
    assert f"  checkpoint of its best: {best.best_checkpoint}\n" in done.stdout
    assert f"  last checkpoint: {best.checkpoint}\n" in done.stdout
    assert "is worse than what tuning had seen of it, 0.9 at 5: keep" in done.stderr
    assert "(best_checkpoint)" in rungwise(folder, "show", "peak.db").stdout
    refused = rungwise(folder, "retrain", "peak.db", "--early-stop", 0, expect=2)
    assert "--early-stop" in refused.stderr


OUTPUTS = (
    *("train.db", "./train.db", "link.db", "train.db-wal", "train.db-shm", "train.db.lock"),
    "train.db.files/rows",
)


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the finished study, to be maltreated."""
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    return folder


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("form", ["--csv", "--json", "--parquet"])
def test_export_never_writes_over_the_study(copy, monkeypatch, output, form):
    (copy / "link.db").symlink_to("train.db")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    monkeypatch.chdir(copy)
    asked = {"as_csv": False, "as_json": False, "as_parquet": False}
    asked[f"as_{form[2:]}"] = True
    for study in (Path("train.db"), Path("link.db")):
        with pytest.raises(rw.InvalidArgumentError, match=r"--output.*belongs to the study"):
            studies.export(study, **asked, output=Path(output))
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_export_over_the_study_is_told_in_a_line(copy):
    refused = rungwise(copy, "export", "train.db", "-o", "train.db", expect=2)
    assert "--output is 'train.db', but it belongs to the study itself" in refused.stderr
    assert rw.load(copy / "train.db").trials == 12


@pytest.mark.parametrize("form", ["--csv", "--archive"])
def test_export_into_a_folder_that_is_not_there_is_refused(copy, form):
    refused = rungwise(copy, "export", "train.db", form, "-o", "no/such.file", expect=2)
    assert "the folder no does not exist: create it first" in refused.stderr


HOSTILE = r"""
def train(config, run):
    print("\x1b[2Joutput\x07")
    for epoch in run.resources():
        if config["act"] == "\x1b[31mred" and run.phase == "tune":
            raise ValueError("\x1b]0;title\x07reason\x1b[8m\n  [b]second line")
        run.report(epoch, accuracy=config["lr"], **{"extra\x1b[5m": float("nan")})
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A study whose trials write what could harm a terminal, in a file with an odd name."""
    folder = tmp_path_factory.mktemp("hostile")
    space = {"lr": {"type": "float", "low": 0, "high": 1}, "act": ["\x1b[31mred", "\x1b[32mok"]}
    (folder / "space.json").write_text(json.dumps(space))
    (folder / "train.py").write_text(HOSTILE)
    command = ("tune", "train.py:train", "--space", "space.json", "--metric", "accuracy")
    options = ("--max-resource", 3, "--trials", 6, "--workers", 1, "--retries", 0)
    done = rungwise(folder, *command, *options, "--study", "exp[a] 1.db", alone=True)
    (folder / "said.txt").write_text(done.stdout)
    (folder / "told.txt").write_text(done.stderr)
    return folder


def test_hints_can_be_pasted_into_a_shell(hostile):
    said = (hostile / "said.txt").read_text()
    assert "rungwise show 'exp[a] 1.db'\n" in said


def test_nothing_of_a_trial_can_harm_a_terminal(hostile):
    failed = rw.load(hostile / "exp[a] 1.db").failures
    assert failed
    assert "\x1b" in failed[0].reason
    trial = rungwise(hostile, "show", "exp[a] 1.db", "--trial", failed[0].trial).stdout
    assert "reason\n  [b]second line" in trial
    assert "output" in trial
    retrained = rungwise(hostile, "retrain", "exp[a] 1.db", "--fresh").stdout
    assert "extra = nan" in retrained
    shown = rungwise(hostile, "show", "exp[a] 1.db").stdout
    assert "extra = nan" in shown
    assert "reason" in shown
    said = (hostile / "said.txt").read_text()
    for text in (said, (hostile / "told.txt").read_text(), trial, retrained, shown):
        assert all(char.isprintable() or char == "\n" for char in text)


def test_json_has_null_for_what_is_not_finite(hostile):
    found = rungwise(hostile, "retrain", "exp[a] 1.db", "--fresh", "--json").stdout
    found = json.loads(found, parse_constant=pytest.fail)
    assert found["metrics"] == {"extra\x1b[5m": None}
    said = rungwise(hostile, "show", "exp[a] 1.db", "--json").stdout
    assert json.loads(said, parse_constant=pytest.fail)["trials"] == 6
    document = {"a": [math.nan, {"b": -math.inf}], "c": 1}
    assert summary.as_line(document) == '{"a": [null, {"b": null}], "c": 1}'


def test_a_link_to_a_study_is_not_deleted(copy):
    (copy / "link.db").symlink_to("train.db")
    before = sorted(copy.rglob("*"))
    refused = rungwise(copy, "delete", "link.db", "--yes", expect=2)
    assert f"it is a link: delete the study itself, {copy / 'train.db'}" in refused.stderr
    assert sorted(copy.rglob("*")) == before


def test_nobody_can_begin_to_write_while_a_study_is_deleted(copy, monkeypatch):
    study, seen = copy / "train.db", []
    real = shutil.rmtree

    def look(folder, **options):
        with pytest.raises(rw.LogInUseError):
            StudyFile(study)
        seen.append((study.exists(), (copy / "train.db.lock").exists()))
        real(folder, **options)

    monkeypatch.setattr(studies.shutil, "rmtree", look)
    studies.delete(study, yes=True)
    assert seen == [(False, True)]
    assert not list(copy.glob("train.db*"))


def test_a_tuner_that_came_while_one_was_asked_keeps_its_study(copy, monkeypatch):
    """The lock is taken after the question, so that a "no" leaves nothing behind."""
    study = copy / "train.db"
    lock = FileLock(copy / "train.db.lock")
    monkeypatch.setattr(studies.typer, "confirm", lambda *_, **__: lock.take())
    try:
        with pytest.raises(rw.LogInUseError, match=f"process {os.getpid()}"):
            studies.delete(study)
    finally:
        lock.release()
    assert rw.load(study).trials == 12


def test_delete_asks_first(finished, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    rungwise(folder, "delete", "train.db", given="n\n", expect=1)
    assert (folder / "train.db").exists()
    rungwise(folder, "delete", "train.db", given="y\n")
    assert {path.name for path in folder.iterdir()} <= {
        "space.yaml",
        "train.py",
        "said.txt",
        "__pycache__",
    }
    assert (
        "must be a study file" in rungwise(folder, "delete", "train.py", "--yes", expect=2).stderr
    )
    assert (folder / "train.py").exists()


def test_a_study_is_interrupted_looked_at_and_resumed(folder):
    (folder / "train.py").write_text(f"PAUSE = 1\n{TRAIN}")
    command = [sys.executable, "-m", "rungwise", *TUNE, "--max-resource", "9", "--trials", "60"]
    options = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started([*command, "--workers", "2"], **options) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.2)
            found = json.loads(rungwise(folder, "list", "--json").stdout)["studies"]
            if found and found[0]["reports"] not in ("", 0):
                break
        assert found[0]["state"] == "running"
        refused = rungwise(folder, "delete", "train.db", "--yes", expect=2)
        assert f"process {process.pid}" in refused.stderr
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Go on with: rungwise resume train.db" in told
    (row,) = json.loads(rungwise(folder, "list", "--json").stdout)["studies"]
    assert row["state"] == "interrupted"
    kept = rw.load(folder / "train.db").reports
    (folder / "train.py").write_text(f"PAUSE = 0\n{TRAIN}")
    said = rungwise(folder, "resume", "train.db", "--json", alone=True).stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in said]
    assert (kinds[0], kinds[-1]) == ("started", "result")
    result = rw.load(folder / "train.db")
    assert result.ended
    assert result.reports > kept


@pytest.mark.parametrize("example", ["shell", "script"])
def test_the_scripts_of_the_examples_are_tuned(example, tmp_path):
    folder = tmp_path / example
    shutil.copytree(EXAMPLES / example, folder)
    command = ["tune", "study.yaml"]
    if example == "script":
        command = ["tune", "train.py", "--space", "space.yaml", "--metric", "accuracy"]
        command += ["--max-resource", 9, "--trials", 6, "--workers", 2]
    said = rungwise(folder, *command, "--json", alone=True).stdout.splitlines()
    result = json.loads(said[-1])
    assert (result["kind"], result["ended"], result["failures"]) == ("result", True, 0)
    assert result["best"]["checkpoint"] is not None
    assert result["goal"] == ("max" if example == "script" else "min")
    found = rungwise(folder, "retrain", Path(result["study"]).name, "--fresh").stdout
    assert "trained from scratch" in found


METRIC = """
def train(config, run):
    for epoch in run.resources():
        run.report(epoch, error=config["lr"], val_accuracy=config["lr"], speed=config["lr"])
"""
QUICK = ("--max-resource", 3, "--trials", 3, "--workers", 1)


@pytest.mark.parametrize(
    ("options", "goal", "told"),
    [
        (["--metric", "error"], "min", "the goal is min, taken from the name of the metric, error"),
        (["--metric", "val_accuracy"], "max", "the goal is max, taken from the name"),
        (["--metric", "val_accuracy", "--quiet"], "max", ""),
        (["--metric", "val_accuracy", "--json"], "max", ""),
        (["--metric", "val_accuracy", "--goal", "min"], "min", None),
        (["--metric", "speed", "--goal", "max"], "max", None),
    ],
)
@pytest.mark.parametrize("target", ["script", "file"])
def test_the_goal_comes_from_the_metric_unless_it_is_given(folder, target, options, goal, told):
    """The metric of the command line, if there is one, not that of the study file."""
    (folder / "train.py").write_text(METRIC)
    command = ["tune", "train.py:train", "--space", "space.yaml"]
    if target == "file":
        text = "train: train.py:train\nspace: space.yaml\nmetric: error\n"
        (folder / "study.yaml").write_text(text)
        command = ["tune", "study.yaml"]
    done = rungwise(folder, *command, *options, *QUICK, "--study", "s.db")
    assert rw.load(folder / "s.db").goal == goal
    if told:
        assert told in done.stderr
    else:
        assert "taken from the name" not in done.stderr
    if told == "":
        assert done.stderr == ""


def test_a_goal_in_the_study_file_stays(folder):
    (folder / "train.py").write_text(METRIC)
    text = "train: train.py:train\nspace: space.yaml\nmetric: error\ngoal: max\n"
    (folder / "study.yaml").write_text(text)
    done = rungwise(folder, "tune", "study.yaml", *QUICK, "--study", "s.db")
    assert rw.load(folder / "s.db").goal == "max"
    assert "taken from the name" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tune", "train.py"], "--space is missing: give the search space as a file"),
        (TUNE[:4], "--metric is missing: name the metric that the training reports"),
        (["tune", "nothing.py"], "'nothing.py', but there is no such file"),
        (["show", "."], "study is '.', but it is a folder"),
        (["delete", "nothing.db"], "study is 'nothing.db', but there is no such file"),
        (["simulate", "nothing.npz"], "path is 'nothing.npz', but there is no such file"),
        (["tune", "nothing.py", "--space", "space.yaml"], "no such file"),
        (["tune", "train.py:nothing", "--space", "space.yaml"], "no 'nothing' in"),
        ([*TUNE[:4], "--metric", "speed"], "minimised ('min') or maximised ('max')"),
        ([*TUNE[:4], "--metric", "neg_loss"], "minimised ('min') or maximised ('max')"),
        ([*TUNE, "--workers", "many"], "or 'auto'"),
        ([*TUNE, "--goal", "best"], "'min' or 'max'"),
        ([*TUNE, "--scheduler", "asha"], "needs a maximum"),
        (
            [*TUNE, "--scheduler", "asha", "--ranking", "exact"],
            "--ranking is 'exact', but the scheduler ASHA has no such",
        ),
        ([*TUNE, "--checkpoint-quota", "much"], "'20GB'"),
        ([*TUNE, "--metric", "not a name"], "must be a name"),
        (["resume", "nothing.db"], "there is no such file"),
        (["show", "train.py"], "cannot be used"),
        (["export", "nothing.db"], "study is 'nothing.db', but there is no such file"),
        (["retrain", "nothing.db"], "there is no such file"),
    ],
)
def test_mistakes_are_told_in_a_line_and_nothing_is_written(folder, arguments, told):
    before = {path.name for path in folder.iterdir()}
    done = rungwise(folder, *arguments, expect=2)
    assert told in done.stderr
    assert done.stderr.startswith("rungwise: ")
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == before
