"""Studies that go on: more trials, a higher maximum, larger budgets; real files and workers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from backend_kinds import on_backend
from command_line import run_here

import rungwise as rw
from rungwise.core.events import StudyExtended
from rungwise.storage.study_file import StudyFile

SPACE = {"x": rw.Float(0, 1)}
pytestmark = pytest.mark.usefixtures("backend")


def train(config, run):
    """Checkpoints count the epochs that were trained, for each trial in a file of its own."""
    start, trained = 0, 0
    if run.latest is not None:
        start, trained = json.loads((run.latest / "state.json").read_text())
    for epoch in range(start + 1, 10_000):
        trained += 1
        with run.checkpoint(epoch) as folder:
            (folder / "state.json").write_text(json.dumps([epoch, trained]))
        run.report(epoch, loss=(config["x"] - 0.3) ** 2 + 1 / epoch, trained=trained)


def tune(study, train=train, **changes):
    arguments = {
        "metric": "loss",
        "goal": "min",
        "scheduler": "asha",
        "max_resource": 3,
        "trials": 9,
        "workers": 1,
        "keep": "all",
        "show": "quiet",
        **changes,
    }
    return rw.tune(train, SPACE, study=study, **on_backend(arguments))


def resume(study, **changes):
    return rw.resume(study, train, show="quiet", **changes)


def trained_in_all(path):
    """How many epochs were trained, by what the training itself has counted."""
    counted = {}
    with StudyFile(path, mode="read") as file:
        for event, _ in file.read_from():
            if type(event).__name__ == "Reported":
                counted[event.job] = dict(event.metrics)["trained"]
    result = rw.load(path)
    last = {job.trial: job.id for job in result.engine.jobs if job.id in counted}
    return sum(counted[job] for job in last.values())


def test_a_finished_study_goes_on_with_more_trials_and_up_to_a_higher_maximum(tmp_path):
    path = tmp_path / "s.db"
    first = tune(path)
    assert (first.ended, first.trials, first.max_resource) == (True, 9, 3)
    result = resume(path, trials=27, max_resource=9)
    assert (result.ended, result.trials, result.max_resource) == (True, 27, 9)
    # Nothing was trained twice.
    assert trained_in_all(path) == result.resource_spent
    lowest, _, highest = [rung.entered for rung in result.rungs()]
    assert (lowest, highest >= 3) == (27, True)
    assert result.ceilings == [(0, 3), (first.reports, 9)]
    loaded = rw.load(path)
    assert loaded.why == result.why
    assert "it had been extended (trials 9 → 27, max_resource 3 → 9)" in result.rule
    (extension,) = loaded.view.extensions
    assert (extension.reports, extension.trials) == (first.reports, 9)
    assert loaded.to_json()["extensions"][0]["what"] == "trials 9 → 27, max_resource 3 → 9"
    assert loaded.find_retraining_goal() == 9
    # With one worker ASHA of 27 trials up to 9 spends the same: each rung is the same in the end.
    assert loaded.saved_versus("asha").ratio == pytest.approx(1, abs=0.2)


def test_the_same_call_with_larger_limits_goes_on_and_with_smaller_ones_is_refused(tmp_path):
    path = tmp_path / "s.db"
    tune(path)
    assert tune(path, trials=12).trials == 12
    assert tune(path, trials=12).trials == 12  # and again: nothing to do
    before = path.read_bytes()
    with pytest.raises(rw.errors.StudyDiffersError, match=r"limits.trials: 12 in the file, 9 "):
        tune(path)
    with pytest.raises(rw.errors.StudyDiffersError, match=r"seed: 0 in the file, 1 asked for"):
        tune(path, trials=20, seed=1)
    with pytest.raises(rw.errors.StudyDiffersError, match=r"max_resource: 3 in the file, 2 asked"):
        tune(path, trials=20, max_resource=2)
    assert path.read_bytes() == before
    with StudyFile(path, mode="read") as file:
        assert sum(isinstance(event, StudyExtended) for event, _ in file.read_from()) == 1
    assert tune(path, trials=12, max_resource=9).view.recipe.max_resource == 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 5}, "trials: 9 so far, 5 asked for"),
        ({"trials": 0}, "trials"),
        ({"max_resource": 2}, "the maximum so far is 3, and a new one must be above it"),
        ({"seconds": 9}, "has no such limit that could be raised; it has trials=9, max_resource=3"),
        ({"trials": "many"}, "trials is 'many'"),
    ],
)
def test_what_resume_refuses(tmp_path, changes, message):
    path = tmp_path / "s.db"
    tune(path)
    before = path.read_bytes()
    with pytest.raises(rw.errors.InvalidArgumentError, match=message):
        resume(path, **changes)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("scheduler", "changes", "message"),
    [
        (rw.ASHA(variant="stopping"), {"max_resource": 9}, "needs more trials as well"),
        (rw.SuccessiveHalving(size=9), {"trials": 20}, "SuccessiveHalving starts size=9"),
    ],
)
def test_an_extension_that_could_have_no_effect_is_refused(tmp_path, scheduler, changes, message):
    path = tmp_path / "s.db"
    tune(path, scheduler=scheduler)
    with pytest.raises(rw.errors.InvalidArgumentError, match=message):
        resume(path, **changes)
    assert resume(path).trials == 9


def test_budgets_and_targets_are_raised_and_the_jobs_they_cut_short_go_on(tmp_path):
    path = tmp_path / "s.db"
    first = tune(path, trials=None, resource_budget=4, target=0.334)
    assert "resource" in first.rule
    assert "target" not in first.rule
    third = resume(path, resource_budget=200)
    assert first.resource_spent < third.resource_spent
    assert "the target 0.334 was reached" in third.rule
    with pytest.raises(rw.errors.InvalidArgumentError, match="still be over, because the target"):
        resume(path, resource_budget=300)
    fourth = resume(path, resource_budget=201, target=-1)
    assert fourth.resource_spent >= 201
    assert trained_in_all(path) == fourth.resource_spent


def test_an_open_ended_study_gets_a_maximum_only_above_its_safety_net(tmp_path):
    path = tmp_path / "s.db"
    tune(path, scheduler=None, max_resource=None, trials=3)
    with pytest.raises(rw.errors.InvalidArgumentError, match="its safety net, 59049"):
        resume(path, max_resource=81)
    tune(path, scheduler=None, max_resource=3**11, trials=4)
    with StudyFile(path, mode="read") as file:
        assert not file.about.open_ended  # so that trials see the maximum


def test_the_command_line_extends_and_says_so(tmp_path):
    path = tmp_path / "s.db"
    tune(path)
    function = f"{__file__}:train"
    command = ["resume", str(path), "--train", function, "--trials", "12"]
    done = run_here([*command, "--max-resource", "9"])
    assert done.returncode == 0, done.stderr
    assert "trials 9 → 12, max_resource 3 → 9" in " ".join((done.stdout + done.stderr).split())
    refused = run_here([*command[:-1], "5"])
    assert refused.returncode != 0
    assert "trials: 12 so far, 5 asked for" in " ".join(refused.stderr.split())
    shown = run_here(["show", str(path)])
    assert "trials 9 → 12" in " ".join(shown.stdout.split())


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import rungwise as rw
from test_extending import SPACE, train

def slow(config, run):
    import time
    time.sleep(0.05)
    train(config, run)

if __name__ == "__main__":
    rw.tune(slow, SPACE, metric="loss", goal="min", scheduler="asha", max_resource=int(sys.argv[1]),
            trials=int(sys.argv[2]), workers=2, keep="all", show="quiet", study={study!r})
"""


@pytest.mark.processes
def test_a_tuner_killed_after_the_extension_goes_on_from_there(tmp_path):
    path, script = tmp_path / "s.db", tmp_path / "script.py"
    folder = Path(__file__).parent
    script.write_text(SCRIPT.format(folder=str(folder), study=str(path)))
    environment = {**os.environ, "PYTHONPATH": str(folder.parent)}
    command = [sys.executable, str(script)]
    subprocess.run([*command, "3", "4"], check=True, env=environment)
    reports = rw.load(path).reports
    tuner = subprocess.Popen([*command, "9", "16"], env=environment)
    deadline = time.monotonic() + 60
    while rw.load(path).reports < reports + 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(tuner.pid, signal.SIGKILL)
    tuner.wait(60)
    killed = rw.load(path)
    assert not killed.ended
    assert len(killed.view.extensions) == 1
    subprocess.run([*command, "9", "16"], check=True, env=environment)
    result = rw.load(path)
    assert (result.ended, result.trials, len(result.view.extensions)) == (True, 16, 1)
    assert result.max_resource == 9


def test_a_study_goes_on_with_the_default_scheduler_of_when_it_was_begun(tmp_path):
    """In version 0.1.0 that was PASHA, also where the maximum was known."""

    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, loss=config["x"] + 1 / epoch)

    given = {"metric": "loss", "max_resource": 9, "backend": "threads:1", "show": "quiet"}
    given |= {"study": tmp_path / "study.db"}
    space = {"x": rw.Float(0, 1)}
    rw.tune(train, space, trials=6, scheduler="pasha", **given)
    again = rw.tune(train, space, trials=8, **given)
    assert (again.trials, again.view.recipe) == (8, rw.PASHA(max_resource=9))
    with pytest.raises(rw.StudyDiffersError, match="PASHA in the file, AdaptiveHalving asked for"):
        rw.tune(train, space, trials=8, scheduler="adaptive", **given)


def test_a_study_of_0_2_0_goes_on_with_what_its_flags_meant_then(tmp_path, monkeypatch):
    """``--max-resource 9 --eta 4`` was PASHA on the command line."""
    monkeypatch.chdir(tmp_path)
    code = "for epoch in run.resources(): run.report(epoch, loss=config['x'])"
    (tmp_path / "train.py").write_text(f"def train(config, run):\n    {code}\n")
    (tmp_path / "space.yaml").write_text("x: {type: float, low: 0, high: 1}\n")
    command = ["tune", "train.py:train", "--space", "space.yaml", "--metric", "loss", "--quiet"]
    command += ["--max-resource", "9", "--eta", "4", "--backend", "threads:1"]
    done = run_here([*command, "--trials", "4", "--scheduler", "pasha"])
    assert done.returncode == 0, done.stderr
    done = run_here([*command, "--trials", "6"])
    assert done.returncode == 0, done.stderr
    again = rw.load("train.db")
    assert (again.trials, again.view.recipe) == (6, rw.PASHA(1, 9, 4))
    assert "AdaptiveHalving asked for" in run_here([*command, "--size", "4"]).stderr
