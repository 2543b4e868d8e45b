"""Whose fault failures are, and when a study gives up: simulated over the class that judges."""

import heapq
import random
from functools import cache

import pytest

import rungwise as rw
from rungwise.core.failures import Failure
from rungwise.outages import depends_on_configuration
from rungwise.session.failures import (
    ANY_TRIALS,
    SAME_TRIALS,
    FailureJudge,
    FirstFailures,
    Judgement,
    Rules,
)

WORKERS = [1, 2, 4, 8]
TRACE = """Traceback (most recent call last):
  File "/site-packages/rungwise/backends/worker.py", line 50, in serve
    function(config, run)
  File "/home/me/train.py", line 7, in train
    run.report(1, loss="a" + 1)
"""
NAN = "NotFiniteError: loss is nan at resource 1"
MEMORY = [
    "MemoryError: ",
    "_ArrayMemoryError: Unable to allocate 64. GiB for an array with shape (8, 2)",
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.0GiB",
    "its process was killed by SIGKILL (out of memory?)",
    "ScriptError: The script (python train.py) was killed by SIGKILL (out of memory?).",
]
OWN = [
    NAN,
    "ValueError: Input contains NaN.",
    "ValueError: Input X contains infinity or a value too large for dtype('float64').",
    "FloatingPointError: overflow encountered in exp",
    "OverflowError: (34, 'Numerical result out of range')",
    "RuntimeError: the loss is not finite",
    *MEMORY,
]
OF_THE_FUNCTION = [
    "TypeError: can only concatenate str to nan",
    "KeyError: 'inf'",
    "AttributeError: module 'numpy' has no attribute 'NaN'",
    "ValueError: a typo in an information",
    "RuntimeError: it broke",
    "ScriptError: The script (python nan.py) exited with 1.",
]


@pytest.mark.parametrize("reason", OWN)
def test_numbers_and_memory_depend_on_the_configuration(reason):
    assert depends_on_configuration(reason)


@pytest.mark.parametrize("reason", OF_THE_FUNCTION)
def test_other_errors_do_not_whatever_words_they_quote(reason):
    assert not depends_on_configuration(reason)


def test_of_a_script_its_last_lines_count():
    reason = "ScriptError: The script (python train.py) exited with 1."
    assert depends_on_configuration(reason, "Traceback …\nValueError: Input contains NaN.\n")
    assert not depends_on_configuration(reason, "loss nan\n" + "epoch\n" * 9)
    assert not depends_on_configuration(reason, "Traceback …\nTypeError: nan is no str\n")
    assert not depends_on_configuration("RuntimeError: it broke", "loss nan\n")


# -- whole studies ---------------------------------------------------------------------------------


class Reports:
    """What a judge reads of an engine."""

    def __init__(self):
        self.reports, self.open_jobs, self.jobs = 0, [], []


def run_study(seed, share, reason, *, workers, trials=16, retries=1, trace=""):
    """How many trials were drawn, and what has ended the study.

    Every trial fails with the same probability, before its first report. Jobs take random times:
    those that fail are quicker on average.
    """
    random_ = random.Random(f"{seed} {share} {workers} {reason}")  # noqa: S311 - a simulation
    engine = Reports()
    judge = FailureJudge(engine, Rules(retries=retries), workers=workers)
    fails = [random_.random() < share for _ in range(trials)]
    waiting, drawn, running = [], 0, []
    now = 0.0

    def fill():
        nonlocal drawn
        while len(running) < workers and (waiting or drawn < trials):
            trial = waiting.pop(0) if waiting else drawn
            drawn = max(drawn, trial + 1)
            job = len(engine.jobs)
            engine.jobs.append(trial)
            engine.open_jobs.append(job)
            judge.watch.started(job, trial)
            takes = random_.uniform(0.5, 1.5) * (1.0 if fails[trial] else 3.0)
            heapq.heappush(running, (now + takes, job))

    fill()
    while running:
        now, job = heapq.heappop(running)
        engine.open_jobs.remove(job)
        trial = engine.jobs[job]
        if fails[trial]:
            judge.count(job, 0, reason, "")
            failure = Failure(job, trial, 0, now, f"{reason} {job}", trace, "")
            if judge.judge(failure) is Judgement.AGAIN:
                waiting.append(trial)
        else:
            engine.reports += 1
            if judge.watch.pending:
                judge.note_health(judge.watch.reported(job, 1))
            judge.note_health(judge.watch.ended(job))
        if judge.hopeless:
            return drawn, "gave up"
        fill()
        if judge.unsettled:
            judge.settle(stalled=not running)
        if judge.outage is not None:
            return drawn, "outage"
    return drawn, "ended"


@cache
def count_given_up(share, reason, workers, studies=1000, trials=16):
    options = {"workers": workers, "trials": trials}
    ends = [run_study(seed, share, reason, **options)[1] for seed in range(studies)]
    return studies - ends.count("ended")


@pytest.mark.no_cover
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("reason", [NAN, MEMORY[2], MEMORY[-2]], ids=["nan", "cuda", "killed"])
def test_of_a_thousand_studies_that_fail_at_60_percent_at_most_one_is_given_up(reason, workers):
    assert count_given_up(0.6, reason, workers, studies=2000) <= 2


@pytest.mark.no_cover
@pytest.mark.parametrize("workers", WORKERS)
def test_a_long_study_of_which_most_fails_so_is_never_held_for_an_outage(workers):
    for seed in range(40):
        ended = run_study(seed, 0.9, NAN, workers=workers, trials=200)[1]
        assert ended in ("ended", "gave up")  # the latter where none of the first 15 works
    assert count_given_up(0.6, NAN, workers, studies=50, trials=200) == 0


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("reason", [NAN, *MEMORY[:2]])
def test_when_everything_fails_so_the_study_ends_after_a_few(reason, workers):
    for seed in range(10):
        drawn, end = run_study(seed, 1.0, reason, workers=workers, trials=200)
        assert end == "gave up"
        assert ANY_TRIALS <= drawn <= ANY_TRIALS + 2 * workers


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("retries", [0, 1, 2])
def test_errors_of_the_function_end_it_after_four_to_six_trials(workers, retries):
    for seed in range(10):
        drawn, end = run_study(
            seed, 1.0, "TypeError: no", workers=workers, trials=200, retries=retries, trace=TRACE
        )
        assert end == "gave up"
        # With several workers, those that run already are waited for.
        assert SAME_TRIALS <= drawn <= (6 if workers == 1 else 6 + 3 * workers)


def test_a_function_that_is_wrong_for_some_configurations_is_given_up_less_often():
    """Their trials report: the first four must all fail for that, at 30 % one study in 120."""
    assert count_given_up(0.3, "TypeError: no", 1, studies=500) <= 10


# -- the rule --------------------------------------------------------------------------------------


def failure(number, reason, trial=None):
    return Failure(number, number if trial is None else trial, 0, 0.0, reason, "", "")


def test_a_job_that_runs_already_may_be_the_one_that_works():
    first = FirstFailures(2)
    for number in range(1, ANY_TRIALS + 1):
        first.add(failure(number, NAN), number + 1)
    assert not first.is_hopeless([0])
    assert first.is_hopeless([ANY_TRIALS + 1])
    assert not first.identical
    for number in range(ANY_TRIALS + 1, 41):
        first.add(failure(number, NAN), number + 1)
    assert first.is_hopeless([0]), "it has sent nothing for 40 trials of two workers"


def test_retries_of_few_trials_are_no_reason_to_give_up():
    first = FirstFailures(1)
    for number in range(100):
        first.add(failure(number, NAN, trial=number % (ANY_TRIALS - 1)), number + 1)
    assert not first.is_hopeless([])


# -- tune ------------------------------------------------------------------------------------------


def narrow(config, run):
    if config["width"] > 300:
        raise MemoryError
    run.report(1, loss=config["width"])


@pytest.mark.parametrize("seed", range(12))
def test_a_space_of_which_most_does_not_fit_into_memory_is_searched_to_the_end(seed):
    result = rw.tune(
        narrow,
        {"width": rw.Int(8, 1024)},
        metric="loss",
        goal="min",
        max_resource=1,
        trials=16,
        seed=seed,
        backend=rw.Threads(1),
        show="quiet",
    )
    assert (result.trials, result.ended) == (16, True)
    assert result.best.config["width"] <= 300
