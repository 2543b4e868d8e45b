"""Ctrl-C once: finish gracefully; twice: now. SIGTERM is like the first."""

import os
import signal
import time

import pytest
from faults.scenarios import eventually

from rungwise.core.events import Reported
from rungwise.session.interrupts import graceful


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once(scene, number):
    tuner = scene.start("steady", pace=0.1, workers=2, trials=30)
    eventually(lambda: len(scene.side("ack")) >= 5)
    tuner.signal(number)
    outcome = tuner.outcome()
    assert outcome["error"] == "StudyInterrupted"
    assert f"rungwise resume {scene.study}" in outcome["message"]
    scene.assert_left_alone()
    engine = scene.assert_sound()
    assert engine.ended is None
    assert not engine.open_jobs
    reports = sum(isinstance(event, Reported) for event, _ in scene.entries())
    assert f"{reports} reports" in outcome["message"]
    # What was under way was trained to its report, so that nothing is trained twice.
    assert len(scene.side("epoch")) == len(scene.side("ack")) == reports
    scene.finish("steady", call="resume")
    scene.assert_sound()
    trained = [(fact["trial"], fact["resource"]) for fact in scene.side("epoch")]
    assert len(set(trained)) == len(trained)


def test_twice(scene):
    tuner = scene.start("sleeper", workers=2, trials=9)
    eventually(lambda: scene.side("asleep"))
    tuner.signal(signal.SIGINT)
    time.sleep(0.5)
    assert tuner.poll() is None, "the first one waits for the next report"
    began = time.monotonic()
    tuner.signal(signal.SIGINT)
    outcome = tuner.outcome()
    assert time.monotonic() - began < 2
    assert outcome["error"] == "StudyInterrupted"
    assert "rungwise resume" in outcome["message"]
    scene.assert_left_alone()
    scene.finish("steady", call="resume")
    scene.assert_sound()


def test_at_the_start(scene):
    """Whatever was begun is ended, and the next one goes on."""
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
        tuner = scene.start("steady", pace=0.05, workers=2, trials=60)
        eventually((scene.folder / "notices").exists)
        time.sleep(delay)
        tuner.signal(signal.SIGINT)
        outcome = tuner.outcome()
        assert outcome.get("error") in {"KeyboardInterrupt", "StudyInterrupted"}, outcome
        scene.assert_left_alone()
        (scene.folder / "notices").unlink()
    scene.finish("steady", workers=2, trials=60)
    scene.assert_sound()


def test_a_third_interrupt_does_not_cut_the_cleaning_short():
    """The second has begun it; it takes a moment, and what it leaves would stay for good."""
    firsts, cleaned = [], []

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt), graceful(lambda: firsts.append(True)):
        work()
    assert firsts == cleaned == [True]
