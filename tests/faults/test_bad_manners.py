"""Trials that flood their output, fork, close, wander off, and do not listen."""

import os
import signal
from pathlib import Path

from faults.scenarios import eventually

from rungwise import load
from rungwise.core.trials import State


def alive(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_hundred_megabytes_of_output(scene):
    outcome = scene.finish("chatty", workers=2, trials=6)
    assert scene.side("said-it-all")
    assert outcome["grown"] < 30e6
    logs = list(scene.study.with_name("study.db.files").glob("*/output.log"))
    assert logs
    assert all(log.stat().st_size < 2e6 for log in logs)
    scene.assert_sound()
    assert not load(scene.study).failures


def test_children_end_with_the_study_and_nobody_waits_for_them(scene):
    scene.finish("forking", workers=2, trials=6)
    children = [fact["child"] for fact in scene.side("child")]
    assert children
    eventually(lambda: not any(map(alive, children)), within=10)
    scene.assert_sound()
    scene.assert_left_alone()


def test_children_end_with_a_killed_tuner(scene):
    tuner = scene.start("forking", pace=0.05, workers=2, trials=60)
    eventually(lambda: len(scene.side("child")) >= 2)
    assert tuner.kill()
    eventually(lambda: not any(alive(fact["child"]) for fact in scene.side("child")), within=10)
    scene.assert_left_alone()


def test_a_worker_dies_while_a_child_holds_its_socket(scene):
    scene.finish("forking_and_dying", trials=4)
    result = load(scene.study)
    assert [failure.trial for failure in result.failures] == [0]
    assert "SIGKILL" in result.failures[0].reason
    (child,) = (fact["child"] for fact in scene.side("child"))
    assert not alive(child)
    assert State.FAILED not in {trial.state for trial in scene.assert_sound().trials}


def test_a_child_in_a_session_of_its_own_is_let_go(scene):
    """Who makes a daemon wants it to live on: the study neither waits for it nor ends it."""
    scene.finish("daemons", trials=3)
    (child,) = (fact["child"] for fact in scene.side("child"))
    assert alive(child)
    os.kill(child, signal.SIGKILL)
    scene.assert_sound()


def test_setsid_in_a_trial_fails_that_trial_alone(scene):
    """A worker leads its session already, and a leader may not leave."""
    scene.finish("sets_sid", trials=4, retries=0)
    failed = [trial.id for trial in scene.assert_sound().trials if trial.failed]
    assert failed == [0]
    assert "PermissionError" in load(scene.study).failures[0].reason


def test_sigterm_is_ignored_when_the_study_is_over(scene):
    """After the grace it is not asked any more."""
    limits = {"trials": 50, "workers": 2, "resource_budget": 6}
    tuner = scene.start("deaf", **limits, mischief={"committed": 1})
    tuner.wait()
    outcome = scene.finish("deaf", call="resume", grace=0.3)
    assert scene.side("asleep")
    assert outcome["seconds"] < 30
    engine = scene.assert_sound()
    assert engine.ended is not None
    assert not load(scene.study).failures  # it was halted, which is no fault of its own
    legs = scene.side("handler")
    assert len(legs) > len({fact["pid"] for fact in legs}) > 1
    assert not any(fact["deaf"] for fact in legs), "no leg inherits what another did to signals"
    scene.assert_left_alone()


def test_outputs_are_closed(scene):
    outcome = scene.finish("mute", trials=6, workers=1)
    scene.assert_sound()
    assert not load(scene.study).failures
    # Whoever polls an output that was closed has nothing else to do.
    assert outcome["cpu"] < 0.7 * outcome["seconds"] + 0.5


def test_the_working_folder_is_changed(scene):
    scene.finish("wanderer", trials=6)
    scene.assert_sound()
    assert not load(scene.study).failures
    assert len({fact["cwd"] for fact in scene.side("cwd")}) == 1, "every leg begins where all do"
