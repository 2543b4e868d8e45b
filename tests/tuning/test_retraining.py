"""Retraining the winner: whatever ends it, the next call goes on where it was."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

import rungwise as rw
from rungwise.backends import local
from rungwise.storage.study_file import StudyFile, files_of
from rungwise.tuning import retraining

GOAL = 6
SPACE = {"x": rw.Float(0, 1)}


def once(config, run):
    run.report(1, loss=config["x"])


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "s.db"
    arguments = {"metric": "loss", "goal": "min", "scheduler": rw.FixedResource(1), "workers": 1}
    rw.tune(once, SPACE, trials=2, study=path, show="quiet", **arguments)
    return path


@pytest.fixture
def study(tuned, tmp_path):
    return shutil.copy(tuned, tmp_path / "s.db")


@pytest.fixture
def log(tmp_path):
    return tmp_path / "epochs"


def training(log, *, saves=True, shift=0.0, mischief=None, step=1):
    """Trains, and keeps which epochs it has trained."""

    def train(config, run):
        for epoch in run.resources():
            with log.open("a") as file:
                file.write(f"{epoch}\n")
            if mischief is not None:
                mischief(epoch)
            if saves:
                with run.checkpoint(epoch) as folder:
                    (folder / "at").write_text(str(epoch))
            if epoch % step == 0 or epoch == GOAL:
                run.report(epoch, loss=shift + 1 / epoch, twice=2 * epoch)

    return train


def epochs(log):
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def folders(study):
    return [path.name for path in files_of(study).glob("*retrain-*")]


def the_folder(study):
    (found,) = files_of(study).glob("*retrain-*")
    return found


def retrain(study, train, *, options=None, **arguments):
    result = rw.load(study)
    result._options = dataclasses.replace(result._options, **(options or {}))
    return result.retrain(train, resource=GOAL, **arguments)


class EnoughError(Exception):
    """Ends a retraining from its callback."""


def stop_at(resource, error=EnoughError):
    def stop(reached, value):
        if reached == resource:
            raise error

    return stop


def assert_whole(study, found, *, shift=0.0):
    """The result holds all reports, is kept once, and there is one folder."""
    assert found.curve == [(epoch, shift + 1 / epoch) for epoch in range(1, GOAL + 1)]
    assert (found.resource, found.value) == found.curve[-1]
    assert found.metrics == {"twice": 2 * GOAL}
    trial = rw.load(study).best.trial
    assert folders(study) == [f"retrain-{trial:05d}-to-{GOAL}"]
    with StudyFile(study, mode="read") as file:
        assert file.retrains()[-1] == json.loads(json.dumps(found.to_json()))


# -- going on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [EnoughError, KeyboardInterrupt])
def test_a_callback_that_raises_loses_nothing(study, log, error):
    told = rw.StudyInterrupted if error is KeyboardInterrupt else error
    with pytest.raises(told):
        retrain(study, training(log), on_report=stop_at(3, error))
    with StudyFile(study, mode="read") as file:
        assert file.retrains() == []
    before, seen = epochs(log), []
    found = retrain(study, training(log), on_report=lambda *pair: seen.append(pair))
    assert_whole(study, found)
    assert seen == found.curve[3:]
    assert epochs(log)[len(before) :] == [4, 5, 6]
    assert (found.checkpoint / "at").read_text() == str(GOAL)


def test_time_goes_on_too(study, log):
    train = training(log, mischief=lambda epoch: time.sleep(0.2))
    with pytest.raises(EnoughError):
        retrain(study, train, on_report=stop_at(4))
    assert retrain(study, train).seconds >= 0.2 * GOAL


def test_without_checkpoints_it_starts_at_0_and_reports_count_once(study, log):
    with pytest.raises(EnoughError):
        retrain(study, training(log, saves=False), on_report=stop_at(3))
    before, seen = epochs(log), []
    again = training(log, saves=False, shift=9.0)  # would be seen if reports were taken twice
    found = retrain(study, again, on_report=lambda *pair: seen.append(pair))
    assert epochs(log)[len(before) :] == [1, 2, 3, 4, 5, 6]
    assert found.curve[:3] == [(1, 1), (2, 1 / 2), (3, 1 / 3)]
    assert seen == found.curve[3:] == [(epoch, 9 + 1 / epoch) for epoch in (4, 5, 6)]
    assert found.checkpoint is None


def test_it_starts_at_the_last_checkpoint_that_was_reported(study, log):
    """The one at 5 is beyond the last report, at 4: to start there would lose a report at 5."""

    def fail(epoch):
        if epoch == 6 and not (log.parent / "mended").exists():
            raise RuntimeError("broken")

    train = training(log, mischief=fail, step=2)
    with pytest.raises(rw.RetrainingError, match="RuntimeError: broken"):
        retrain(study, train, options={"retries": 1})
    assert epochs(log) == [1, 2, 3, 4, 5, 6, 5, 6]
    (log.parent / "mended").touch()
    found = retrain(study, train)
    assert epochs(log)[8:] == [5, 6]
    assert [resource for resource, _ in found.curve] == [2, 4, 6]


def test_a_failure_that_was_overcome_does_not_count(study, log):
    def fail(epoch):
        if epoch in {2, 4} and not (failed := log.with_name(f"failed-{epoch}")).exists():
            failed.touch()
            raise RuntimeError("broken")

    found = retrain(study, training(log, mischief=fail), options={"retries": 1})
    assert_whole(study, found)
    assert epochs(log) == [1, 2, 2, 3, 4, 4, 5, 6]


def test_another_goal_and_another_trial_have_folders_of_their_own(study, log):
    result = rw.load(study)
    for trial, resource in ((0, 2), (1, 2), (0, 3)):
        with pytest.raises(EnoughError):
            result.retrain(training(log), trial=trial, resource=resource, on_report=stop_at(1))
    assert sorted(folders(study)) == [
        "retrain-00000-to-2",
        "retrain-00000-to-3",
        "retrain-00001-to-2",
    ]


# -- from scratch ------------------------------------------------------------------------------


def test_a_finished_one_is_trained_anew(study, log):
    first = retrain(study, training(log))
    (the_folder(study) / "left").touch()
    found = retrain(study, training(log, shift=1.0))
    assert epochs(log) == 2 * [1, 2, 3, 4, 5, 6]
    assert_whole(study, found, shift=1.0)
    assert not (the_folder(study) / "left").exists()
    with StudyFile(study, mode="read") as file:
        assert [document["value"] for document in file.retrains()] == [first.value, found.value]


def test_fresh_starts_an_unfinished_one_anew(study, log):
    with pytest.raises(EnoughError):
        retrain(study, training(log), on_report=stop_at(3))
    before = epochs(log)
    found = retrain(study, training(log, shift=1.0), fresh=True)
    assert epochs(log)[len(before) :] == [1, 2, 3, 4, 5, 6]
    assert_whole(study, found, shift=1.0)


def test_what_cannot_be_trained_removes_nothing(study, log):
    found = retrain(study, training(log))
    lock = threading.Lock()  # cannot be sent to a worker
    for bad in (5, lambda config: None, lambda config, run: lock):
        with pytest.raises(rw.InvalidArgumentError, match="train"):
            retrain(study, bad, fresh=True)
    assert (found.checkpoint / "at").exists()


def test_what_is_left_of_another_study_is_not_gone_on_with(study, log):
    with pytest.raises(EnoughError):
        retrain(study, training(log), on_report=stop_at(3))
    progress = the_folder(study) / "progress.jsonl"
    first, *rest = progress.read_text().splitlines(keepends=True)
    other = {**json.loads(first), "config": {"x": 2.0}}
    progress.write_text("".join([json.dumps(other) + "\n", *rest]))
    before = epochs(log)
    assert_whole(study, retrain(study, training(log)))
    assert epochs(log)[len(before) :] == [1, 2, 3, 4, 5, 6]


# -- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "torn",
    [
        '{"resource": 4, "va',
        '{"resource": 4, "value": 0.5, "metrics": {}, "seconds": 1}',  # the end of line is missing
        '{"resource": 3, "value": 0.5, "metrics": {}, "seconds": 1}\n',
        '{"resource": 4, "value": NaN, "metrics": {}, "seconds": 1}\n',
        '{"resource": "4", "value": 1, "metrics": {}, "seconds": 1}\n',
        '{"resource": 4}\n',
        "[]\n",
        "\x00\x00\x00",
        '{"finished": tr',
    ],
)
def test_a_torn_line_is_dropped(study, log, torn):
    with pytest.raises(EnoughError):
        retrain(study, training(log), on_report=stop_at(3))
    progress = the_folder(study) / "progress.jsonl"
    whole = progress.read_text()
    progress.write_text(whole + torn)
    before = epochs(log)
    with pytest.raises(EnoughError):
        retrain(study, training(log), on_report=stop_at(4))
    assert progress.read_text().startswith(whole + '{"resource": 4, "value": 0.25,')
    assert epochs(log)[len(before)] == 4
    assert_whole(study, retrain(study, training(log)))


@pytest.mark.parametrize("held", [None, "", '{"tri'])
def test_a_folder_without_a_beginning_is_begun_anew(study, log, held):
    with pytest.raises(EnoughError):
        retrain(study, training(log), on_report=stop_at(3))
    progress = the_folder(study) / "progress.jsonl"
    progress.unlink() if held is None else progress.write_text(held)
    before = epochs(log)
    assert_whole(study, retrain(study, training(log)))
    assert epochs(log)[len(before) :] == [1, 2, 3, 4, 5, 6]


def test_a_report_that_cannot_be_kept_is_not_acknowledged(study, log, monkeypatch):
    original = retraining.Progress.add

    def full(self, mark):
        if mark.resource == 3:
            self._path = self.folder / "no" / "such" / "folder"
        original(self, mark)

    monkeypatch.setattr(retraining.Progress, "add", full)
    with pytest.raises(rw.LogUnavailableError, match="No such file"):
        retrain(study, training(log))
    monkeypatch.undo()
    assert epochs(log) == [1, 2, 3]
    assert_whole(study, retrain(study, training(log)))
    assert epochs(log)[3:] == [3, 4, 5, 6]


def test_what_died_before_its_result_was_kept_is_not_trained_again(study, log, monkeypatch):
    def die(self, document):
        raise EnoughError

    monkeypatch.setattr(StudyFile, "note_retrain", die)
    with pytest.raises(EnoughError):
        retrain(study, training(log, saves=False))
    monkeypatch.undo()
    assert_whole(study, retrain(study, training(log, saves=False)))
    assert epochs(log) == [1, 2, 3, 4, 5, 6]


def test_a_finish_that_cannot_be_kept_does_not_hide_the_result(study, log, monkeypatch):
    def full(self):
        raise rw.LogUnavailableError("progress", "disk full")

    monkeypatch.setattr(retraining.Progress, "finish", full)
    assert_whole(study, retrain(study, training(log)))


# -- how it is run -----------------------------------------------------------------------------


def test_a_trial_timeout_is_not_for_all_of_it(study, log):
    train = training(log, mischief=lambda epoch: time.sleep(0.2))
    found = retrain(study, train, options={"trial_timeout": 0.5, "retries": 0})
    assert_whole(study, found)


def test_a_report_timeout_is(study, log):
    train = training(log, mischief=lambda epoch: time.sleep(60 if epoch == 3 else 0))
    options = {"report_timeout": 0.3, "retries": 0, "grace": 0.2}
    with pytest.raises(rw.RetrainingError, match="report_timeout"):
        retrain(study, train, options=options)
    assert_whole(study, retrain(study, training(log)))
    assert epochs(log) == [1, 2, 3, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("visible", "share", "seen"),
    [
        ("3,7", None, "3,7"),
        ("3,7", 0, ""),
        ("3,7", 0.5, "3"),
        ("3,7", 1, "3,7"),
        ("3", 2, "3"),  # another machine than the study was on
        ("", 0.5, ""),
    ],
)
def test_gpus(study, log, monkeypatch, visible, share, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    def train(config, run):
        log.write_text(repr(os.environ["CUDA_VISIBLE_DEVICES"]))
        run.report(GOAL, loss=1)

    retrain(study, train, options={"backend": rw.Local(gpus_per_worker=share)})
    assert log.read_text() == repr(seen)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no /proc")
def test_the_keeper_holds_the_lock(study, log, monkeypatch):
    inherited, start = [], local.LocalBackend._start_keeper

    def keep(self):
        inherited.extend(Path(f"/proc/self/fd/{fd}").readlink() for fd in self._options.inherit)
        return start(self)

    monkeypatch.setattr(local.LocalBackend, "_start_keeper", keep)
    retrain(study, training(log))
    assert inherited == [study.with_name("s.db.lock")]


@pytest.mark.parametrize(("durability", "syncs"), [("normal", 0), ("full", GOAL + 2)])
def test_a_power_failure_is_survived_when_asked_for(study, log, monkeypatch, durability, syncs):
    seen, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (seen.append(fd), sync(fd)))
    retrain(study, training(log), options={"durability": durability})
    assert len(seen) == syncs


@pytest.mark.parametrize(("durability", "durable"), [("normal", False), ("full", True)])
def test_and_so_are_its_checkpoints(study, log, monkeypatch, durability, durable):
    legs, start = [], local.LocalBackend.start

    def note(self, job):
        legs.append(self._hooks.leg(job).durable)
        start(self, job)

    monkeypatch.setattr(local.LocalBackend, "start", note)
    retrain(study, training(log), options={"durability": durability})
    assert legs == [durable]


# -- signals -----------------------------------------------------------------------------------

SCRIPT = """
    import os, sys, time
    import rungwise as rw

    study, log, pace, sleepy = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])

    def train(config, run):
        for epoch in run.resources():
            with open(log, "a") as file:
                file.write(f"{epoch}\\n")
            with open(log + ".pids", "a") as file:
                file.write(f"{os.getpid()}\\n")
            time.sleep(60 if epoch == sleepy else pace)
            with run.checkpoint(epoch) as folder:
                (folder / "at").write_text(str(epoch))
            run.report(epoch, loss=1 / epoch, twice=2 * epoch)

    if __name__ == "__main__":
        rw.load(study).retrain(train, resource=6)
"""


@pytest.fixture
def start(study, log, tmp_path):
    """Starts a retraining in a process of its own."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    processes = []

    def begin(*, pace=0.2, sleepy=0):
        command = [sys.executable, str(script), str(study), str(log), str(pace), str(sleepy)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.wait()
        process.stderr.close()


def until(condition, patience=30):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_lets_it_go_on_to_its_next_report(study, log, start, number):
    process = start()
    until(lambda: 3 in epochs(log))
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode != 0
    trial = rw.load(study).best.trial
    assert f"StudyInterrupted: Interrupted: trial {trial} was retrained to 3 of 6" in said
    assert f"rungwise retrain {study} --trial {trial} --resource 6" in said
    assert_whole(study, retrain(study, training(log)))
    assert epochs(log) == [1, 2, 3, 4, 5, 6]  # not one was trained twice


def test_a_signal_while_known_reports_are_repeated(study, log):
    """Without checkpoints: the job leaves at once, and what was reported stays as it was."""
    with pytest.raises(EnoughError):
        retrain(study, training(log, saves=False), on_report=stop_at(4))
    parent, before = os.getpid(), epochs(log)

    def interrupt(epoch):
        if epoch == 2:
            os.kill(parent, signal.SIGINT)
            time.sleep(0.3)

    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(rw.StudyInterrupted, match="retrained to 4 of 6"):
        retrain(study, training(log, saves=False, shift=9.0, mischief=interrupt))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert epochs(log)[len(before) :] == [1, 2]
    assert_whole(study, retrain(study, training(log, saves=False)))


def test_a_signal_at_the_last_report_does_not_spoil_the_result(study, log):
    parent = os.getpid()

    def interrupt(epoch):
        if epoch == GOAL:
            os.kill(parent, signal.SIGINT)
            time.sleep(0.3)

    assert_whole(study, retrain(study, training(log, mischief=interrupt)))


def test_two_signals_end_it_at_once(study, log, start):
    process = start(pace=0, sleepy=3)
    until(lambda: 3 in epochs(log))
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None, "the first one waits for the next report"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - began < 5
    assert "StudyInterrupted" in said
    assert "retrained to 2 of 6" in said
    assert_whole(study, retrain(study, training(log)))
    assert epochs(log) == [1, 2, 3, 3, 4, 5, 6]


def test_a_kill_loses_nothing_that_was_acknowledged(study, log, start):
    process = start(pace=0, sleepy=4)
    until(lambda: 4 in epochs(log))
    process.kill()
    process.wait()
    pid = int(log.with_name("epochs.pids").read_text().split()[-1])
    gone = []

    def look(reached, value):
        gone.append(not alive(pid))

    # At once: it waits for the lock, which is held until the old worker is gone.
    assert_whole(study, retrain(study, training(log), on_report=look))
    assert gone == [True] * 3
    assert epochs(log) == [1, 2, 3, 4, 4, 5, 6]


def test_kills_at_any_moment(study, log, start):
    for moment in (1, 2, 4):
        process = start(pace=0.05)
        until(lambda moment=moment: moment in epochs(log))
        process.kill()
        process.wait()
    assert_whole(study, retrain(study, training(log)))
    trained = epochs(log)
    assert all(after >= before for before, after in pairwise(trained))
    assert len(trained) <= GOAL + 3  # what was under way at a kill, and nothing else
