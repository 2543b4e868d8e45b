"""SIGKILL workers: they are replaced, and the study goes on."""

import os
import random
import signal
import time
from contextlib import suppress

import pytest
from faults.scenarios import eventually

from rungwise import load
from rungwise.core.trials import State

OVER = {State.PAUSED, State.STOPPED}


@pytest.mark.parametrize("retries", [1, 1000])
def test_random_workers_are_killed_throughout(scene, retries):
    rng = random.Random(retries)  # noqa: S311
    tuner = scene.start("steady", pace=0.03, workers=2, trials=9, max_resource=9, retries=retries)
    kills = 0
    while tuner.poll() is None and kills < 12:
        seen = len(scene.side("ack"))
        # Only those that got further since the last kill: by default one failure in a row is borne.
        eventually(lambda: len(scene.side("ack")) > seen + 1 or tuner.poll() is not None)  # noqa: B023
        time.sleep(rng.uniform(0.0, 0.1))
        facts = scene.side("ack")[seen:] if retries == 1 else scene.side("leg")
        with suppress(ProcessLookupError):
            for fact in rng.sample(facts[-2:], k=min(1, len(facts))):  # none: the study has ended
                os.kill(fact["pid"], signal.SIGKILL)
                kills += 1
    assert tuner.outcome()["ended"]
    engine = scene.assert_sound()
    scene.assert_left_alone()
    result = load(scene.study)
    killed = [failure for failure in result.failures if "SIGKILL" in failure.reason]
    assert kills >= 3
    assert killed
    assert len(result.failures) == len(killed) <= kills
    assert len({fact["pid"] for fact in scene.side("leg")}) > 2  # there were replacements
    assert len(engine.trials) == 9
    if retries == 1000:
        assert {trial.state for trial in engine.trials} <= OVER


def test_progress_makes_up_for_failures(scene):
    """Every process dies after one epoch: that is no reason to give up a trial."""
    scene.finish("crawling", trials=3, max_resource=3, retries=1)
    engine = scene.assert_sound()
    assert {trial.state for trial in engine.trials} <= OVER
    assert max(trial.resource for trial in engine.trials) == 3
    starts = [(fact["trial"], fact["start"]) for fact in scene.side("leg")]
    assert len(set(starts)) == len(starts), "each leg went on from the checkpoint of the last"
    assert "SIGKILL (out of memory?)" in scene.notices()


def test_the_watchdog_is_killed(scene):
    """It is replaced when it is needed, and nobody minds its death."""
    tuner = scene.start("steady", pace=0.05, workers=2, trials=30, retries=3)
    workers = eventually(lambda: {fact["pid"] for fact in scene.side("ack")})
    (watchdog,) = scene.watchdogs()
    os.kill(watchdog, signal.SIGKILL)
    # On a busy machine its end of the pipe stays open for a moment.
    eventually(lambda: watchdog not in scene.watchdogs())
    os.kill(workers.pop(), signal.SIGKILL)
    eventually(lambda: set(scene.watchdogs()) - {watchdog})
    assert tuner.outcome()["ended"]
    assert "clean up" in scene.notices()
    scene.assert_sound()
    scene.assert_left_alone()
