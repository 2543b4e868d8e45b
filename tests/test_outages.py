"""Failures of the surroundings stop a study; failures of configurations do not."""

import importlib.util
import sys
from pathlib import Path

import pytest
from test_policy import Scene, report

from rungwise.backends import messages
from rungwise.outages import HELD_FROM, LAST_IN_A_ROW, OutageWatch, find_cause

SCRIPT = Path(__file__).parents[1] / "perf" / "outages.py"


@pytest.fixture(scope="module")
def outages():
    """The simulation of perf/, of which these tests run a small part."""
    spec = importlib.util.spec_from_file_location("perf_outages", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


# -- causes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "output", "cause"),
    [
        ("OSError: [Errno 30] Read-only file system: '/x'", "", "EROFS"),
        ("PermissionError: [Errno 13] Permission denied: '/x'", "", "EACCES"),
        ("OSError: [Errno 116] Stale file handle", "", "ESTALE"),
        ("OSError: [Errno 28] No space left on device: '/x'", "", "ENOSPC"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "", "ECONNREFUSED"),
        ("ModuleNotFoundError: No module named 'mydata'", "", "import failed"),
        ("RuntimeError: No CUDA GPUs are available", "", "GPU lost"),
        ("The script (sh x) exited with 1.", "touch: Read-only file system\n", "file system"),
        ("The script (sh x) exited with 1.", "OSError: [Errno 5] Input/output error\n", "EIO"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", "", None),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", "", None),
        ("ValueError: Permission denied by the model", "", None),
        ("RuntimeError: it diverged", "Read-only file system\n" + "epoch\n" * 9, None),
    ],
)
def test_causes_of_outages_are_recognised_by_what_is_said(reason, output, cause):
    found = find_cause(reason, output)
    assert (found is None) if cause is None else (cause in found)


# -- the row -----------------------------------------------------------------------------------


def test_a_row_counts_trials_in_the_order_in_which_they_were_started():
    watch = OutageWatch()
    for job in range(5):
        watch.started(job, trial=job)
    assert watch.failed(3, 0, recognised=False) == 1
    assert watch.failed(1, 0, recognised=False) == 1  # job 2, in between, still runs
    assert watch.failed(2, 0, recognised=False) == 3
    watch.started(5, trial=2)  # the second job of a trial counts no second time
    watch.ended(0)
    watch.left(4)  # it says nothing, and interrupts nothing
    assert watch.failed(5, 0, recognised=False) == 3


def test_a_job_that_ends_well_interrupts_the_row_for_good():
    watch = OutageWatch()
    for job in range(3):
        watch.started(job, trial=job)
    watch.ended(1)
    watch.failed(0, 0, recognised=False)
    assert watch.failed(2, 0, recognised=False) == 1


def test_only_what_was_started_later_and_got_further_is_a_sign_of_health():
    watch = OutageWatch()
    watch.started(0, trial=0)
    watch.started(1, trial=1)
    watch.failed(0, 1, recognised=False)
    assert watch.reported(1, 9) == []  # it was under way when the other one failed
    watch.started(2, trial=2)
    assert watch.reported(2, 1) == []  # so far had the other one come, too
    assert watch.reported(2, 2) == [0]
    assert not watch.pending


# -- whole studies -----------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 8, 64])
def test_independent_failures_do_not_stop_a_study(outages, workers):
    for seed in range(12):
        seen = outages.run_study(seed, rate=0.3, workers=workers, trials=60)
        assert not seen.stopped
        assert seen.failed > 3


@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("reason", ["ORDINARY", "RECOGNISED"])
@pytest.mark.parametrize("retries", [0, 2])
def test_a_study_whose_jobs_all_fail_from_some_moment_on_is_stopped(
    outages, workers, reason, retries
):
    for seed in range(6):
        seen = outages.run_study(
            seed,
            rate=0,
            workers=workers,
            trials=100,
            retries=retries,
            outage=1 + 11 * seed,
            reason=getattr(outages, reason),
        )
        assert seen.stopped
        assert seen.burnt <= (HELD_FROM - 1 if reason == "ORDINARY" else 0)


def test_the_rule_for_the_last_trials_of_a_study(outages):
    """When nothing can be started any more, fewer are enough; else they are judged after all."""
    early = outages.run_study(1, rate=0, workers=1, trials=12, outage=3)
    assert early.burnt == 12 - 3 or early.stopped
    late = outages.run_study(1, rate=0, workers=1, trials=12, outage=13)
    recognised = outages.run_study(
        1, rate=0, workers=1, trials=12, outage=13, reason=outages.RECOGNISED
    )
    assert not late.stopped
    assert late.burnt < LAST_IN_A_ROW
    assert recognised.stopped
    assert recognised.burnt == 0


def test_trials_that_report_before_they_fail_are_no_sign_of_health(outages):
    """A checkpoint that is written after the report fails only then."""
    seen = outages.run_study(3, rate=0, workers=4, trials=200, outage=20, reports_first=True)
    assert seen.stopped
    assert seen.burnt < HELD_FROM


def test_a_problem_that_is_found_stops_the_study_at_the_first_failure():
    problems = iter([None, "nothing can be written to /x"])
    scene = Scene(jobs=3, find_problem=lambda: next(problems))
    scene.engine.handle(scene.says(report()))
    for job, expected in ((1, "JobFailed"), (2, "JobLost")):
        fact = scene.says(messages.Crashed(job, "boom"))
        assert type(fact).__name__ == expected
    assert scene.policy.failures.outage.cause == "nothing can be written to /x"
    assert scene.policy.failures.outage.spared == {2}
    assert [failure.spared for failure, _ in scene.failures] == [False, True]


def test_nothing_is_judged_before_the_first_report():
    """Until then the training function itself is likely to be wrong."""
    scene = Scene(jobs=9, find_problem=lambda: "gone")
    for job in range(9):
        fact = scene.says(messages.Crashed(job, "OSError: [Errno 30] Read-only file system"))
        assert type(fact).__name__ == "JobFailed"
    assert scene.policy.failures.outage is None


def test_a_trial_that_was_spared_once_is_judged_the_next_time():
    for spared, stops in (((), True), ((1, 2), False)):
        scene = Scene(jobs=3, spared=spared)
        scene.engine.handle(scene.says(report()))
        scene.says(messages.Ended(0))
        for job in (1, 2):
            assert (
                scene.says(messages.Crashed(job, "OSError: [Errno 5] Input/output error")) is None
            )
        facts = scene.policy.settle(5.0, stalled=True)
        assert {type(fact).__name__ for fact in facts} == {"JobLost" if stops else "JobFailed"}
        assert (scene.policy.failures.outage is not None) == stops
