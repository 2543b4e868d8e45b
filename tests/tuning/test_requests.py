"""Requests to studies that run, that were killed, and that nobody works on: real processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import pytest
from command_line import run_here

import rungwise as rw
from rungwise.core.events import ConfigurationsAdded, TrialStopped
from rungwise.display.quiet import QuietDisplay
from rungwise.driver import Driver
from rungwise.storage.study_file import StudyFile, study_folder
from rungwise.tuning import requests
from rungwise.tuning.spool import Spool

SPACE = {"x": rw.Float(0, 1), "units": rw.Int(1, 99)}
SCRIPT = """
import time
import warnings
from pathlib import Path

import rungwise as rw

GO_ON = Path({go_on!r})

def train(config, run):
    for epoch in run.resources():
        while not GO_ON.exists():  # a trial that hangs can be stopped, too
            time.sleep(0.02)
        run.report(epoch, loss=config["x"] + 1 / epoch)

if __name__ == "__main__":
    rw.tune(train, {{"x": rw.Float(0, 1), "units": rw.Int(1, 99)}}, metric="loss", goal="min",
            scheduler="asha", max_resource=9, trials=6, backend="threads:2", show="quiet",
            study={study!r})
"""


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] + 1 / epoch)


def tune(path, **changes):
    arguments = {"scheduler": "asha", "max_resource": 9, "trials": 6, "show": "quiet"}
    arguments |= {"backend": "threads:2", **changes}
    return rw.tune(train, SPACE, metric="loss", goal="min", study=path, **arguments)


def events_of(path):
    with StudyFile(path, mode="read") as file:
        return [event for event, _ in file.read_from()]


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def running(tmp_path):
    """A study whose trials wait until a file appears: (its path, start, let it go on)."""
    path, go_on, script = (tmp_path / name for name in ("s.db", "go_on", "model.py"))
    script.write_text(SCRIPT.format(go_on=str(go_on), study=str(path)))
    tuners = []

    def start():
        tuners.append(subprocess.Popen([sys.executable, str(script)], cwd=tmp_path))
        wait_until(lambda: path.exists() and started(path) and (is_running() or has_ended()))
        return tuners[-1]

    def is_running():
        return rw.load(path).running

    def has_ended():  # it may be quicker than a look at it
        return tuners[-1].poll() is not None

    def started(path):
        try:
            return rw.load(path).trials >= 2
        except rw.RungwiseError:
            return False

    yield path, start, go_on
    for tuner in tuners:
        if tuner.poll() is None:
            tuner.kill()
        tuner.wait(60)


def test_a_running_study_takes_configurations_stops_trials_and_is_labelled(running):
    path, start, go_on = running
    tuner = start()
    answer = rw.add(path, [{"x": 0.001, "units": 5}, {"x": 0.002, "units": 6}])
    assert (answer.state, answer.text) == ("applied", "2 configurations added, to be tried next")
    assert requests.stop(path, 0, reason="hangs").text == "trial 0 stopped on request"
    assert requests.fail(path, 99).state == "refused"
    assert requests.label(path, tags=["first", "vision"], note="by hand").state == "applied"
    go_on.touch()
    assert tuner.wait(60) == 0
    result = rw.load(path)
    assert result.ended
    assert result.trials == 8
    assert {"x": 0.001, "units": 5} in [trial.config for trial in result.engine.trials[2:5]]
    assert result.best.config == {"x": 0.001, "units": 5}
    stopped = result.view.trial(0)
    assert (stopped.state, stopped.note, stopped.resource) == ("stopped", "hangs", 0)
    assert result.labels == (("first", "vision"), "by hand")
    assert Spool(study_folder(path)).list_waiting() == []


def test_a_tuner_killed_in_between_neither_loses_a_request_nor_applies_it_twice(running):
    path, start, go_on = running
    tuner = start()
    assert rw.add(path, [{"x": 0.001, "units": 5}]).state == "applied"
    os.kill(tuner.pid, signal.SIGSTOP)  # it can answer nothing any more
    waiting = rw.add(path, [{"x": 0.002, "units": 6}], timeout=0.2)
    assert waiting.state == "waiting"
    os.kill(tuner.pid, signal.SIGKILL)
    tuner.wait(60)
    # As if it had died between the log and its answer: the first request is there once more.
    (first,) = [event for event in events_of(path) if isinstance(event, ConfigurationsAdded)]
    spool = Spool(study_folder(path))
    again = {"kind": "add", "configs": [dict(config) for config in first.configs]}
    (study_folder(path) / "requests" / f"{first.request}.json").write_text(json.dumps(again))
    assert len(spool.list_waiting()) == 2
    go_on.touch()
    assert start().wait(60) == 0
    result = rw.load(path)
    assert result.trials == 8
    assert spool.list_waiting() == []
    assert sum(isinstance(event, ConfigurationsAdded) for event in events_of(path)) == 2


def test_a_running_study_is_stopped_and_resumed(running):
    path, start, go_on = running
    tuner = start()
    answer = requests.stop(path)
    assert "next report" in answer.text
    go_on.touch()
    assert tuner.wait(60) != 0
    assert not rw.load(path).ended
    assert start_again(path).ended


def start_again(path):
    with warnings.catch_warnings():  # the script had a function of its own
        warnings.simplefilter("ignore", rw.FunctionChangedWarning)
        return rw.resume(path, train, show="quiet")


def test_without_a_tuner_requests_are_applied_at_once(tmp_path):
    path = tmp_path / "s.db"
    tune(path)
    done = run_here(["add", str(path), "--config", "x=0.001,units=5"])
    added = f"1 configuration added, to be tried next\nGo on with: rungwise resume {path}\n"
    assert (done.returncode, done.stdout) == (0, added)
    assert not rw.load(path).ended
    assert rw.resume(path, train, show="quiet").best.config == {"x": 0.001, "units": 5}
    # The call that began it still means the same study.
    assert tune(path).trials == 7
    (tmp_path / "more.yaml").write_text("- {x: 0.5, units: 7}\n- {x: 0.6, units: 8}\n")
    assert run_here(["add", str(path), "--file", str(tmp_path / "more.yaml")]).returncode == 0
    assert tune(path).trials == 9


def test_a_trial_of_an_interrupted_study_is_failed_before_it_is_resumed(tmp_path):
    path = tmp_path / "s.db"

    class EnoughError(Exception):
        pass

    def enough(report):
        raise EnoughError

    with pytest.raises(EnoughError):
        tune(path, on_report=enough)
    done = run_here(["fail", str(path), "--trial", "0", "--reason", "wrong data"])
    assert (done.returncode, done.stdout) == (0, "trial 0 failed on request\n")
    result = rw.resume(path, train, show="quiet")
    trial = result.view.trial(0)
    assert (trial.state, trial.note) == ("failed", "wrong data")
    assert sum(isinstance(event, TrialStopped) for event in events_of(path)) == 1
    assert run_here(["stop", str(path), "--trial", "0"]).returncode == 2


def test_trials_failed_on_request_are_counted_by_displays(tmp_path, monkeypatch):
    class Counting(QuietDisplay):
        failed = None

        def end(self, snapshot, why):
            self.failed = snapshot.failed_trials

    def fail(report):
        if (report.trial, report.resource) == (2, 1):  # the first one is paused by then
            wanted = {"kind": "stop", "trial": 0, "outcome": "failed", "reason": ""}
            Spool(study_folder(tmp_path / "s.db")).send(wanted)

    monkeypatch.setattr("rungwise.tuning.request_desk.EVERY", 0)
    display = Counting()
    result = tune(tmp_path / "s.db", on_report=fail, show=display, backend="threads:1")
    assert result.view.trial(0).state == "failed"
    assert display.failed == 1


def test_tags_and_note_are_told_by_list_and_show(tmp_path):
    path = tmp_path / "s.db"
    tune(path)
    assert run_here(["tag", str(path), "baseline", "draft"]).stdout == "tags: baseline, draft\n"
    assert run_here(["tag", str(path), "vision", "--remove", "draft"]).returncode == 0
    assert run_here(["note", str(path), "as agreed"]).returncode == 0
    shown = run_here(["show", str(path)]).stdout
    assert "Tags: baseline, vision\nNote: as agreed\n" in shown
    assert "baseline, vision; as agreed" in " ".join(
        run_here(["list", str(tmp_path)]).stdout.split()
    )
    (row,) = json.loads(run_here(["list", str(tmp_path), "--json"]).stdout)["studies"]
    assert (row["tags"], row["note"]) == (["baseline", "vision"], "as agreed")
    assert run_here(["note", str(path), ""]).stdout == "tags: baseline, vision; note: none\n"
    assert run_here(["note", str(path), "as agreed"]).returncode == 0
    tune(path)  # running it again keeps them
    document = rw.load(path).to_json()
    assert (document["tags"], document["note"]) == (["baseline", "vision"], "as agreed")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["add", "--config", "x=2,units=5"], "x is 2"),
        (["add", "--config", "x=0.5"], "units"),
        (["add", "--config", "x"], "must be name=value"),
        (["add"], "give at least one configuration"),
        (["stop"], "no process is working on"),
        (["stop", "--trial", "99"], "there is no trial 99"),
        (["tag"], "give at least one tag"),
        (["tag", "a,b"], "without commas"),
        (["add", "--config", "x=0.1,units=5,x=0.2"], "'x' is given twice"),
    ],
)
def test_what_is_refused(tmp_path, command, message):
    path = tmp_path / "s.db"
    tune(path)
    before = path.read_bytes()
    refused = run_here([command[0], str(path), *command[1:]])
    assert refused.returncode != 0
    assert message in " ".join(refused.stderr.split())
    assert path.read_bytes() == before


def test_a_request_that_cannot_be_read_is_refused_and_the_study_goes_on(tmp_path):
    path = tmp_path / "s.db"
    tune(path)
    spool = Spool(study_folder(path))
    names = [spool.send({"kind": kind}) for kind in ("nonsense", "add", "stop")]
    (study_folder(path) / "requests" / "0.json").write_text("{half")
    assert requests.label(path, tags="a").state == "applied"
    assert [spool.take_answer(name).state for name in (*names, "0")] == ["refused"] * 4


@pytest.mark.parametrize("labels", [["a"], {"tags": 5, "note": 3}, {"tags": [1, 2]}])
def test_labels_that_are_no_text_are_none(tmp_path, labels):
    path = tmp_path / "s.db"
    tune(path)
    with StudyFile(path) as file:
        file.change_about(replace(file.about, run={**file.about.run, "labels": labels}))
    for command in (["list", str(tmp_path)], ["show", str(path)]):
        assert run_here(command).returncode == 0
    assert requests.label(path, tags="a").text == "tags: a"


def test_what_is_asked_while_the_last_jobs_leave_is_for_a_study_that_has_ended(
    tmp_path, monkeypatch
):
    path = tmp_path / "s.db"
    halt = Driver.halt

    def ask_and_halt(driver):
        Spool(study_folder(path)).send({"kind": "add", "configs": [{"x": 0.5, "units": 7}]})
        halt(driver)

    monkeypatch.setattr("rungwise.tuning.request_desk.EVERY", 0.0)
    monkeypatch.setattr(Driver, "halt", ask_and_halt)
    try:
        assert tune(path, trials=3, finish="paper").trials == 3
    except rw.StudyInterrupted:  # which would end pytest itself
        pytest.fail("the study was reopened while it was leaving")
    monkeypatch.undo()
    assert tune(path, trials=3, finish="paper").trials == 4


@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "socket", "huge", "deep"])
def test_what_is_no_request_holds_nothing_up(tmp_path, kind, monkeypatch):
    folder = tmp_path / "files" / "requests"
    (folder / "answers").mkdir(parents=True)
    place = folder / "1.json"
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/dev/zero")
    elif kind == "folder":
        place.mkdir()
    elif kind == "socket":
        monkeypatch.chdir(folder)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place.name)
    elif kind == "huge":
        with place.open("wb") as file:
            file.truncate(10**12)
    else:
        place.write_text("[" * 200_000)
    assert Spool(tmp_path / "files").list_waiting() in ([("1", None)], [])


# -- larger limits ------------------------------------------------------------------------------


def test_a_study_that_runs_is_given_larger_limits(running):
    path, start, go_on = running
    tuner = start()
    answer = requests.extend(path, trials=9)
    assert (answer.state, answer.text) == ("applied", "extended, trials 6 → 9")
    assert requests.extend(path, trials=9).text == "it has these limits already"
    refused = requests.extend(path, trials=3)
    assert refused.state == "refused"
    assert "smaller" in refused.text
    assert "only while no job is open" in requests.extend(path, max_resource=27).text
    go_on.touch()
    assert tuner.wait(60) == 0
    assert rw.load(path).trials == 9


def test_a_study_that_has_ended_is_given_larger_limits_and_goes_on_when_resumed(tmp_path):
    path = tmp_path / "s.db"
    tune(path)
    answer = requests.extend(path, trials=8, max_resource=27)
    assert answer.state == "applied"
    assert "resume it" in answer.text
    result = rw.resume(path, train, show="quiet")
    assert (result.trials, result.view.recipe.max_resource) == (8, 27)


def test_limits_that_nothing_knows_are_refused_before_they_are_sent(tmp_path):
    path = tmp_path / "s.db"
    tune(path)
    with pytest.raises(rw.errors.InvalidArgumentError, match="give trials"):
        requests.extend(path, epochs=3)


# -- every scheduler ----------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", [None, "asha", "pasha", "halving", "hyperband", "random"])
def test_what_is_added_is_tried_whatever_the_scheduler(tmp_path, scheduler):
    path = tmp_path / "s.db"
    options = {"max_resource": 3, "trials": 70, "backend": "threads:1", "show": "quiet"}
    function, space = quick, {"x": rw.Float(0, 1)}
    rw.tune(function, space, metric="loss", study=path, scheduler=scheduler, **options)
    drawn = rw.load(path).trials
    added = [{"x": 0.123}, {"x": 0.124}]
    assert rw.add(path, added).state == "applied"
    result = rw.resume(path, function, show="quiet")
    assert [trial.config for trial in result.engine.trials[drawn:]] == added
    assert all(trial.resources for trial in result.engine.trials[drawn:])


def quick(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] + 1 / epoch)
