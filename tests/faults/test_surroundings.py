"""Files that vanish under a running study, a tuner that is stopped, readers beside it."""

import os
import shutil
import signal
import time
from types import SimpleNamespace

import pytest
from faults import trainings
from faults.scenarios import eventually

import rungwise as rw
from rungwise.tuning.exports import list_rows


def begun(scene, train="steady", acks=5, **options):
    """A tuner that has got somewhere."""
    tuner = scene.start(train, **{"pace": 0.03, "workers": 2, "trials": 40, **options})
    eventually(lambda: len(scene.side("ack")) >= acks)
    return tuner


@pytest.mark.parametrize("which", ["the file", "everything", "the lock"])
def test_a_file_that_is_deleted_under_a_running_study_is_noticed(scene, which):
    tuner = begun(scene)
    endings = {"the file": [""], "everything": ["", "-wal", "-shm", ".lock"], "the lock": [".lock"]}
    for ending in endings[which]:
        scene.study.with_name(f"study.db{ending}").unlink()
    outcome = tuner.outcome()
    assert outcome["error"] == "LogUnavailableError", outcome
    assert "was deleted or moved while the study was running" in outcome["message"]
    assert f"everything that was reported is in {scene.study}" in outcome["message"]
    scene.assert_left_alone()
    scene.assert_sound()  # every report that was acknowledged
    scene.finish("steady", call="resume")
    assert scene.assert_sound().ended


def test_a_file_that_is_replaced_under_a_running_study_is_not_overwritten(scene):
    tuner = begun(scene)
    shutil.copy(scene.study, scene.folder / "other.db")
    other = (scene.folder / "other.db").read_bytes()
    (scene.folder / "other.db").replace(scene.study)
    outcome = tuner.outcome()
    assert outcome["error"] == "LogUnavailableError", outcome
    assert "was replaced by another file" in outcome["message"]
    assert "study.db.rescued-1" in outcome["message"]
    assert scene.study.read_bytes() == other
    scene.study = scene.study.with_name("study.db.rescued-1")
    assert not scene.assert_sound().ended


def test_time_for_which_the_tuner_is_stopped_is_not_held_against_trials(scene):
    tuner = begun(scene, report_timeout=1, trial_timeout=9, retries=0, trials=20)
    for _ in range(2):
        seen = len(scene.side("ack"))
        tuner.signal(signal.SIGSTOP)
        time.sleep(2.5)
        tuner.signal(signal.SIGCONT)
        eventually(lambda: len(scene.side("ack")) > seen + 3 or tuner.poll() is not None)  # noqa: B023
    assert tuner.outcome()["ended"]
    scene.assert_sound()
    assert not rw.load(scene.study).failures


def test_a_watchdog_that_is_killed_is_replaced_at_once(scene):
    """And not only when a worker is next started or ends."""
    tuner = begun(scene, "sleeper", acks=2, workers=2)
    (watchdog,) = scene.watchdogs()
    os.kill(watchdog, signal.SIGKILL)
    (other,) = eventually(lambda: set(scene.watchdogs()) - {watchdog}, within=10)
    assert tuner.kill()
    scene.assert_left_alone()
    assert other != watchdog


def test_workers_that_lose_tuner_and_watchdog_end_themselves(scene):
    tuner = begun(scene, "forking_and_sleeping", acks=2)
    (watchdog,) = scene.watchdogs()
    tuner.signal(signal.SIGSTOP)  # so that it starts no other watchdog
    os.kill(watchdog, signal.SIGKILL)
    assert tuner.kill()
    scene.assert_left_alone()  # the children of the workers, too


def test_a_worker_that_outlives_tuner_and_watchdog_keeps_the_next_tuner_out(scene):
    tuner = begun(scene, "sleeper", acks=2, workers=1)
    (watchdog,) = scene.watchdogs()
    worker = scene.side("asleep")[-1]["pid"] if scene.side("asleep") else None
    worker = eventually(lambda: scene.side("asleep") and scene.side("asleep")[-1]["pid"])
    for process in (worker, tuner.pid):
        os.kill(process, signal.SIGSTOP)
    os.kill(watchdog, signal.SIGKILL)
    assert tuner.kill()
    second = scene.start("steady", call="resume")
    time.sleep(1)
    assert second.poll() is None
    assert not [fact for fact in scene.side("leg") if fact["pid"] != worker]
    os.kill(worker, signal.SIGKILL)
    assert second.outcome()["ended"]
    scene.assert_sound()


def test_all_readers_beside_a_running_study(scene):
    tuner = scene.start("steady", workers=2, trials=60)
    eventually(lambda: scene.side("ack"))
    rounds = 0
    while tuner.poll() is None:
        result = rw.load(scene.study)
        assert len(list_rows(scene.study)) >= result.view.reports
        list_rows(scene.study, "trials")
        assert result.why
        result.to_json()
        rounds += 1
    assert rounds > 2
    assert tuner.outcome()["ended"]


def test_the_lock_of_a_trial_notices_that_it_is_trained_twice(scene, monkeypatch):
    """What all other tests rely on when they find no violation."""
    monkeypatch.setattr(trainings, "FOLDER", scene.folder)
    run = SimpleNamespace(trial=7, _assignment=SimpleNamespace(job=1))
    with trainings.alone(run):
        assert not scene.side("violation")
        with trainings.alone(run):
            assert len(scene.side("violation")) == 1
