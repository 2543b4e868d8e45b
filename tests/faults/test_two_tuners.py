"""One study, one writer."""

import os
import signal
import time

import pytest
from faults import trainings
from faults.scenarios import eventually

import rungwise as rw


def test_the_second_is_told_who_was_first(scene):
    first = scene.start("gated", workers=2)
    eventually(lambda: scene.side("ack"))
    with pytest.raises(rw.errors.LogInUseError, match=f"written by process {first.pid} on"):
        rw.resume(scene.study, trainings.steady, show="quiet")
    outcome = scene.start("steady", workers=2).outcome()
    assert outcome["error"] == "LogInUseError"
    assert f"process {first.pid} on" in outcome["message"]
    assert not rw.load(scene.study).ended  # a reader is welcome
    assert first.poll() is None
    (scene.folder / "gate").touch()
    assert first.outcome()["ended"]
    scene.assert_sound()


def test_two_at_the_same_moment(scene):
    pair = [scene.start("gated") for _ in range(2)]
    eventually(lambda: any(tuner.poll() is not None for tuner in pair))
    (scene.folder / "gate").touch()
    outcomes = [tuner.outcome() for tuner in pair]
    assert sorted(outcome.get("error", "") for outcome in outcomes) == ["", "LogInUseError"]
    scene.assert_sound()
    scene.assert_left_alone()


def test_the_second_waits_until_the_first_is_cleaned_up(scene):
    first = scene.start("forking", pace=0.05, workers=3, trials=60)
    eventually(lambda: len({fact["pid"] for fact in scene.side("ack")}) == 3)
    assert first.kill()
    scene.finish("steady", call="resume")
    scene.assert_sound()
    scene.assert_left_alone()


def test_the_second_waits_as_long_as_a_worker_of_the_first_may_be_alive(scene):
    """The watchdog holds the lock until it has done its work; here somebody holds the watchdog."""
    first = scene.start("sleeper", trials=9)
    eventually(lambda: scene.side("asleep"))
    (watchdog,) = scene.watchdogs()
    os.kill(watchdog, signal.SIGSTOP)
    assert first.kill()
    legs = scene.side("leg")
    second = scene.start("steady", call="resume")
    time.sleep(2)
    assert second.poll() is None
    assert scene.side("leg") == legs
    os.kill(watchdog, signal.SIGCONT)
    assert second.outcome()["ended"]
    scene.assert_sound()
    scene.assert_left_alone()
