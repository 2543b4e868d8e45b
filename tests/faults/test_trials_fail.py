"""Whatever a trial does to itself is recorded, tried again, and held against it alone."""

import re

import pytest
from faults.trainings import MISDEEDS

import rungwise as rw
from rungwise.core.trials import State

AT_ONCE = [how for how in MISDEEDS if how not in {"hangs", "ignores-sigterm"}]
REASONS = {
    "raises": r"RuntimeError: the learning rate is too high$",
    "sys.exit": r"it called exit\(3\)",
    "os._exit": r"its process exited with 7",
    "segfault": r"its process was killed by SIGSEGV",
    "memory": r"MemoryError",
    "oom-killer": r"its process was killed by SIGKILL \(out of memory\?\)",
    "nan": r"NotFiniteError: score is nan at resource 1",
    "no-report": r"the function returned without a report of 'score'",
}
TRACED = {"raises", "sys.exit", "memory", "nan"}


def checked(scene, misdeeds, retries):
    """The result of a study whose trials with even numbers have failed, each as asked."""
    engine = scene.assert_sound()
    scene.assert_left_alone()
    result = rw.load(scene.study)
    states = [trial.state for trial in engine.trials]
    assert states[::2] == [State.FAILED] * len(misdeeds)
    assert State.FAILED not in states[1::2]
    assert result.best.trial % 2 == 1
    for number in range(len(misdeeds)):
        story = [failure for failure in result.failures if failure.trial == 2 * number]
        assert len(story) == 1 + retries
        assert all(f"trial {2 * number} is about to fail" in failure.output for failure in story)
        assert engine.trials[2 * number].note == story[-1].reason
    assert len(result.failures) == len(misdeeds) * (1 + retries)
    return result


@pytest.mark.parametrize("retries", [0, 2])
def test_failures_of_every_kind(scene, retries):
    environ = {"MISDEEDS": ",".join(AT_ONCE)}
    scene.finish(
        "stillborn",
        environ=environ,
        trials=2 * len(AT_ONCE),
        max_resource=9,
        workers=2,
        retries=retries,
    )
    result = checked(scene, AT_ONCE, retries)
    for failure in result.failures:
        how = AT_ONCE[failure.trial // 2]
        assert re.match(REASONS[how], failure.reason), (how, failure.reason)
        assert ("Traceback" in failure.trace) == (how in TRACED), (how, failure.trace)
        if how == "raises":
            assert "and more in a second line" in failure.trace
            assert "_raises" in failure.trace


@pytest.mark.parametrize("timeout", ["report_timeout", "trial_timeout"])
def test_a_trial_that_hangs(scene, timeout):
    scene.finish(
        "stillborn", environ={"MISDEEDS": "hangs"}, trials=2, retries=0, workers=2, **{timeout: 3}
    )
    result = checked(scene, ["hangs"], retries=0)
    assert timeout in result.failures[0].reason


def test_a_trial_that_hangs_and_ignores_sigterm(scene):
    environ = {"MISDEEDS": "ignores-sigterm"}
    # tune() has no say in the grace, resume() has.
    scene.start("stillborn", environ=environ, trials=2, mischief={"committed": 1}).wait()
    scene.finish(
        "stillborn", call="resume", environ=environ, retries=0, report_timeout=3, grace=0.3
    )
    result = checked(scene, ["ignores-sigterm"], retries=0)
    assert "report_timeout" in result.failures[0].reason


def test_nothing_but_failures_is_an_ending_too(scene):
    scene.finish("stillborn", environ={"MISDEEDS": "raises"}, trials=1, retries=1)
    with pytest.raises(rw.RungwiseError, match="2 ×  RuntimeError: the learning rate"):
        _ = rw.load(scene.study).best
