"""Retraining the winner: whatever ends it, the next call goes on where it was."""

import dataclasses
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from backend_kinds import on_backend

import rungwise as rw
from rungwise.backends import processes
from rungwise.checkpoints import FolderStore
from rungwise.core.replay import replay
from rungwise.session.session import StudySession
from rungwise.storage.study_file import StudyFile, study_folder
from rungwise.tuning.retraining import list_retrained

GOAL = 6
SPACE = {"x": rw.Float(0, 1)}
pytestmark = pytest.mark.usefixtures("backend")


def once(config, run):
    run.report(1, loss=10 + config["x"])  # more than any retraining ends with


@pytest.fixture(scope="module")
def tuned(tmp_path_factory, backend):
    path = tmp_path_factory.mktemp("tuned") / "s.db"
    arguments = {"metric": "loss", "goal": "min", "scheduler": rw.FixedResource(1), "workers": 1}
    rw.tune(once, SPACE, trials=2, study=path, show="quiet", **on_backend(arguments))
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
    return [path.name for path in study_folder(study).glob("*retrain-*")]


def the_folder(study):
    (found,) = study_folder(study).glob("*retrain-*")
    return found


def retrain(study, train, *, options=None, **arguments):
    result = rw.load(study)
    result._options = dataclasses.replace(result._options, **(options or {}))
    return result.retrain(train, resource=GOAL, **arguments)


def retrained(study):
    with StudyFile(study, mode="read") as file:
        return list_retrained(file, FolderStore(str(study_folder(study))))


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
    assert set(folders(study)) <= {f"retrain-{trial:05d}-to-{GOAL}"}
    assert retrained(study)[-1] == found


# -- going on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [EnoughError, KeyboardInterrupt])
def test_a_callback_that_raises_loses_nothing(study, log, error):
    told = rw.StudyInterrupted if error is KeyboardInterrupt else error
    with pytest.raises(told):
        retrain(study, training(log), on_report=stop_at(3, error))
    assert retrained(study) == []
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
    assert [one.value for one in retrained(study)] == [first.value, found.value]


def test_fresh_starts_an_unfinished_one_anew(study, log):
    with pytest.raises(EnoughError):
        retrain(study, training(log), on_report=stop_at(3))
    before = epochs(log)
    found = retrain(study, training(log, shift=1.0), fresh=True)
    assert epochs(log)[len(before) :] == [1, 2, 3, 4, 5, 6]
    assert_whole(study, found, shift=1.0)


@pytest.mark.processes
def test_what_cannot_be_trained_removes_nothing(study, log):
    found = retrain(study, training(log))
    lock = threading.Lock()  # cannot be sent to a worker
    for bad in (5, lambda config: None, lambda config, run: lock):
        with pytest.raises(rw.InvalidArgumentError, match="train"):
            retrain(study, bad, fresh=True)
    assert (found.checkpoint / "at").exists()


# -- damage ------------------------------------------------------------------------------------


def test_a_damaged_log_is_refused_and_nothing_is_trained(study, log):
    with pytest.raises(EnoughError):
        retrain(study, training(log), on_report=stop_at(3))
    database = sqlite3.connect(study)
    database.execute("UPDATE entries SET event = replace(event, '0.5', '0.4') WHERE part = 1")
    database.commit()
    database.close()
    before = epochs(log)
    with pytest.raises(rw.CorruptLogError, match="was altered"):
        retrain(study, training(log))
    assert epochs(log) == before


def test_it_is_a_study_in_the_same_file(study, log):
    """The same log and the same replay, and the study itself is as it was."""
    before = rw.load(study)
    retrain(study, training(log))
    with StudyFile(study, mode="read") as file:
        ((trial, part),) = file.retrainings()
        engine = replay(part.study, part.read_from())
    assert (trial, engine.reports, len(engine.trials)) == (before.best.trial, GOAL, 1)
    assert engine.study.scheduler == rw.FixedResource(GOAL)
    after = rw.load(study)
    assert (after.why, after.reports, after.trials) == (before.why, before.reports, before.trials)


def test_one_that_version_0_1_0_began_goes_on_where_it_was(tmp_path, log):
    place = Path(__file__).parents[1] / "data" / "studies_0_1_0"
    shutil.copytree(place / "retraining.db.files", tmp_path / "old.db.files")
    study = shutil.copy(place / "retraining.db", tmp_path / "old.db")
    found = rw.load(study).retrain(training(log), resource=30)
    assert epochs(log) == list(range(12, 31))
    assert [resource for resource, _ in found.curve] == list(range(1, 31))
    assert found.curve[9] == (10, 0.06824962056052175)
    again = rw.load(study).retrain(training(log), resource=30)
    assert epochs(log)[19:] == list(range(1, 31))
    assert again.value == 1 / 30


# -- how it is run -----------------------------------------------------------------------------


def test_a_trial_timeout_is_not_for_all_of_it(study, log):
    train = training(log, mischief=lambda epoch: time.sleep(0.2))
    found = retrain(study, train, options={"trial_timeout": 0.5, "retries": 0})
    assert_whole(study, found)


def test_a_report_timeout_is(study, log):
    def silent(epoch):
        for _ in range(3000 if epoch == 3 else 0):
            time.sleep(0.02)  # in one call, a thread could not be unwound

    train = training(log, mischief=silent)
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


@pytest.mark.processes
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no /proc")
def test_the_watchdog_holds_the_lock(study, log, monkeypatch):
    inherited, start = [], processes.Watchdog._start

    def note(self):
        inherited.extend(Path(f"/proc/self/fd/{fd}").readlink() for fd in self.locks)
        return start(self)

    monkeypatch.setattr(processes.Watchdog, "_start", note)
    retrain(study, training(log))
    assert inherited == [study.with_name("s.db.lock")]


@pytest.mark.parametrize(("durability", "durable"), [("normal", False), ("full", True)])
def test_a_power_failure_is_survived_when_asked_for(study, log, monkeypatch, durability, durable):
    """Its checkpoints are flushed, and so is its log."""
    seen, run = [], StudySession.run

    def look(self):
        opened = self.opened
        mode = opened.file.log._database.execute("PRAGMA synchronous").fetchone()[0]
        seen.append((opened.store.durable, mode))
        return run(self)

    monkeypatch.setattr(StudySession, "run", look)
    retrain(study, training(log), options={"durability": durability})
    assert seen == [(durable, 2 if durable else 1)]


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
        process.wait(60)
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
    assert f"rungwise: Interrupted: trial {trial} was retrained to 3 of 6" in said
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


@pytest.mark.processes
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
    assert "rungwise: Interrupted: " in said
    assert "retrained to 2 of 6" in said
    assert_whole(study, retrain(study, training(log)))
    assert epochs(log) == [1, 2, 3, 3, 4, 5, 6]


def test_a_kill_loses_nothing_that_was_acknowledged(study, log, start):
    process = start(pace=0, sleepy=4)
    until(lambda: 4 in epochs(log))
    process.kill()
    process.wait(60)
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
        process.wait(60)
    assert_whole(study, retrain(study, training(log)))
    trained = epochs(log)
    assert all(after >= before for before, after in pairwise(trained))
    assert len(trained) <= GOAL + 3  # what was under way at a kill, and nothing else
