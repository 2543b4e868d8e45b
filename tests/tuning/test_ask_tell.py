"""Studies that a loop of the user's asks for jobs."""

import gc
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import rungwise as rw
from rungwise.backends.messages import Ended, Reported
from rungwise.backends.simulator import Simulator
from rungwise.core.decisions import CONTINUE, PAUSE, STOP, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import Reported as ReportedEvent
from rungwise.errors import CorruptLogError
from rungwise.options import build
from rungwise.run import Assignment
from rungwise.storage.study_file import StudyFile
from rungwise.tuning import ask_tell, requests

SPACE = {"x": rw.Float(0, 1)}
LIMITS = {"metric": "loss", "goal": "min", "max_resource": 9, "trials": 9, "scheduler": "pasha"}


def opened(path=None, **changes):
    return rw.open_study(path, SPACE, **{**LIMITS, **changes})


def loss(config, resource):
    return (config["x"] - 0.3) ** 2 + 1 / resource


def train(study, job):
    for resource in job.resources():
        if not study.report(job, resource, loss(job.config, resource)):
            return


def read_entries(path):
    with StudyFile(path, mode="read") as file:
        return file.log.study, list(file.read_from())


# -- decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize(
    "recipe",
    [
        rw.PASHA(max_resource=27),
        rw.PASHA(max_resource=27, variant="stopping"),
        rw.ASHA(max_resource=27),
        rw.SuccessiveHalving(max_resource=27, size=9),
        rw.AsyncHyperband(max_resource=27),
    ],
    ids=lambda recipe: f"{type(recipe).__name__}-{getattr(recipe, 'variant', '')}",
)
def test_the_decisions_are_those_of_the_simulator(recipe, workers):
    """The simulator's jobs, run by a loop that asks and tells in virtual time."""
    table = rw.power_laws(30, 27, seed=workers)
    expected = rw.simulate(table, recipe, trials=list(range(30)), workers=workers)
    rows = {"row": rw.Int(0, 29)}
    host = Simulator(table, workers=workers, rows=range(30))
    with rw.open_study(
        None,
        rows,
        metric="loss",
        goal=table.goal,
        scheduler=recipe,
        initial=[{"row": row} for row in range(30)],
        trials=30,
        auto_end=False,
    ) as study:

        def fill():
            while host.idle():
                job = study.ask()
                if not isinstance(job, rw.Job):
                    return
                host.start(Assignment(job.id, job.trial, job.config, job.start, job.until))

        fill()
        while not study.is_done:
            (message,) = host.poll()
            if isinstance(message, Reported):
                go_on = study.report(message.job, message.resource, message.value)
                host.answer(message.job, go_on)
            else:
                assert isinstance(message, Ended)
                study.ended(message.job)
            fill()
        engine = study.result.engine
    found = [(job.trial, int(job.start), int(job.until)) for job in engine.jobs]
    assert found == expected.jobs
    assert list(engine.scheduler.ceilings) == expected.ceilings
    assert study.result.best.config == {"row": expected.best.row}
    assert study.result.why == expected.why


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_threads_that_are_killed_again_and_again_lose_nothing(tmp_path, seed):
    """What was answered is in the log, and the log is what an engine decides on its events."""
    path, answers = tmp_path / "a.db", tmp_path / "answers"
    script = Path(__file__).with_name("ask_tell_killed.py")
    rng = np.random.default_rng(seed)
    answers.touch()
    for attempt in range(3):
        enough = answers.stat().st_size + int(rng.integers(3000))
        child = subprocess.Popen([sys.executable, script, path, answers, f"{seed} {attempt}"])
        while answers.stat().st_size < enough and child.poll() is None:
            pass
        child.kill()
        # The last may have ended the study before it was killed.
        assert child.wait(60) in ((-signal.SIGKILL,) if attempt == 0 else (-signal.SIGKILL, 0))
    subprocess.run([sys.executable, script, path, answers, f"{seed} 9"], check=True, timeout=60)
    study, entries = read_entries(path)
    again = Engine(study)
    assert [again.handle(event) for event, _ in entries] == [decision for _, decision in entries]
    assert again.ended is not None
    assert len(again.trials) == 150

    started = {
        decision.job.id: [
            "asked",
            decision.job.id,
            decision.job.trial,
            decision.job.start,
            decision.job.until,
        ]
        for _, decision in entries
        if isinstance(decision, StartJob)
    }
    decided = {
        (event.job, event.resource): (event.value, decision is CONTINUE)
        for event, decision in entries
        if isinstance(event, ReportedEvent)
    }
    # A line may have been cut off by the kill; each process begins a new one.
    text = answers.read_text(encoding="utf-8").splitlines()
    lines = [json.loads(line) for line in text if line.endswith("]")]
    kinds = [line[0] for line in lines]
    assert kinds.count("asked") > 150
    assert kinds.count("reported") > 150
    for line in lines:
        if line[0] == "asked":
            assert line == started[line[1]]
            continue
        _, job, resource, value, go_on = line
        if (job, resource) in decided:
            assert decided[job, resource] == (value, go_on)
        else:  # an earlier job of the trial had reported it
            assert go_on
            assert resource <= again.jobs[job].start


def test_threads_report_side_by_side():
    with opened(max_resource=27, trials=60) as study:
        threads = [
            threading.Thread(target=lambda: [train(study, job) for job in study.jobs()])
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert study.is_done
        assert study.result.trials == 60
        again = Engine(study.result.engine.study)
        study_of_file, entries = study.result.engine.study, study._opened.file.read_from()
        assert all(again.handle(event) == decision for event, decision in entries)
        assert study_of_file.limits.trials == 60


# -- jobs ----------------------------------------------------------------------------------------


def test_a_job_says_what_to_train():
    with opened(seed=3) as study:
        job = study.ask()
        assert (job.id, job.trial, job.start, job.until, job.max_resource) == (0, 0, 0, 1, 9)
        assert set(job.config) == {"x"}
        assert list(job.resources()) == [1]
        other = study.ask()
        assert other.seed != job.seed
        assert not study.report(job, 1, 0.5)
        assert study.result.view.trial(0).resource == 1


def test_resources_end_at_the_end_of_the_job():
    job = rw.Job(0, 0, {}, 3, 10)
    assert list(job.resources()) == [4, 5, 6, 7, 8, 9, 10]
    assert list(job.resources(3)) == [6, 9, 10]
    assert list(rw.Job(0, 0, {}, 0, 1).resources(0.1))[-2:] == [0.9, 1]
    with pytest.raises(rw.InvalidArgumentError, match="step is 0, but it must be above 0"):
        next(job.resources(0))


def test_with_nothing_to_do_it_says_wait_and_at_the_end_done():
    with opened(trials=1) as study:
        job = study.ask()
        assert study.ask() == rw.Wait()
        assert study.ask() == rw.Wait()
        study.report(job, 1, 0.5)
        answer = study.ask()
        assert isinstance(answer, rw.Done)
        assert answer.why.startswith("1 configuration was evaluated")
        assert study.is_done
        # Asking again and again costs the log nothing.
        before = len(study._opened.file.log)
        assert [study.ask() for _ in range(20)] == [answer] * 20
        assert len(study._opened.file.log) <= before + 20


def test_waiting_costs_the_log_nothing():
    with opened(trials=1) as study:
        study.ask()
        study.ask()
        before = len(study._opened.file.log)
        assert [study.ask() for _ in range(50)] == [rw.Wait()] * 50
        assert len(study._opened.file.log) == before


def test_ask_waits_for_what_another_thread_reports():
    with opened(trials=1) as study:
        job = study.ask()
        threading.Timer(0.2, lambda: study.report(job, 1, 0.5)).start()
        assert isinstance(study.ask(wait=30), rw.Done)


def test_ask_waits_no_longer_than_it_may():
    with opened(trials=1) as study:
        study.ask()
        assert study.ask(wait=0.05) == rw.Wait()
        with pytest.raises(rw.InvalidArgumentError, match="wait is -1"):
            study.ask(wait=-1)


def test_a_slow_searcher_is_asked_ahead():
    with opened(searcher="gp:startup=2", trials=8) as study:
        for job in study.jobs():
            train(study, job)
        assert study.result.trials == 8


def test_a_job_that_was_left_open_in_the_loop_has_ended():
    with opened(trials=2) as study:
        for job in study.jobs():
            if job.trial == 0:
                study.report(job, 0.5, 0.1)
        states = [study.result.view.trial(number).state for number in (0, 1)]
    assert states == ["ended", "failed"]
    assert study.result.failures[-1].reason == "the loop went on without a report of this job"


# -- telling -------------------------------------------------------------------------------------


def test_a_failure_is_retried_as_often_as_it_may():
    with opened(retries=2) as study:
        for attempt in range(3):
            job = study.ask()
            assert job.trial == 0, attempt
            study.failed(job, "out of memory", trace="Traceback …")
        assert study.ask().trial == 1
        assert study.result.view.trial(0).state == "failed"
        reasons = {failure.reason for failure in study.result.failures}
    assert reasons == {"out of memory"}
    assert study.result.failures[0].trace == "Traceback …"


def test_a_lost_job_costs_no_retry():
    with opened(retries=0) as study:
        for _ in range(5):
            job = study.ask()
            assert job.trial == 0
            study.lost(job)
        assert study.result.failures == ()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_fails_the_job(value):
    with opened(retries=0) as study:
        assert study.report(study.ask(), 1, value) is False
        assert study.result.view.trial(0).state == "failed"
        (failure,) = study.result.failures
    assert failure.reason.startswith("NotFiniteError: loss is ")


def test_nothing_counts_that_is_said_of_a_job_that_has_left():
    with opened() as study:
        job = study.ask()
        study.lost(job)
        before = len(study._opened.file.log)
        assert study.report(job, 1, 0.0) is False
        study.failed(job, "late")
        study.ended(job)
        study.lost(job.id)
        assert len(study._opened.file.log) == before
        assert study.result.view.trial(0).resource == 0


def test_what_was_reported_already_is_not_counted_again_but_costs():
    with opened(scheduler="asha", trials=3) as study:
        for _ in range(3):
            train(study, study.ask())
        job = study.ask()
        assert (job.start, job.until) == (1, 3)
        assert study.report(job, 1, 99.0)  # from scratch
        assert study.report(job, 2, 0.5)
        assert study.result.view.reports == 4
        assert study.result.resource_spent == 5


def test_with_auto_end_off_a_job_leaves_when_it_says_so():
    with opened(scheduler="asha", trials=3, auto_end=False) as study:
        jobs = [study.ask() for _ in range(3)]
        assert [study.report(job, 1, loss(job.config, 1)) for job in jobs] == [False] * 3
        assert study.ask() == rw.Wait()
        for job in jobs:
            study.ended(job)
        assert study.ask().start == 1


def test_other_metrics_are_kept():
    with opened() as study:
        study.report(study.ask(), 1, 0.5, accuracy=0.75)
        (event,) = [
            event for event, _ in study._opened.file.read_from() if isinstance(event, ReportedEvent)
        ]
    assert event.metrics == (("accuracy", 0.75),)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda study, job: study.report(7, 1, 0.5), "job is 7, but it must be a job of this"),
        (lambda study, job: study.report("0", 1, 0.5), "job is '0', but it must be a job of"),
        (lambda study, job: study.report(job, 0, 0.5), "resource is 0, but it must be above 0"),
        (lambda study, job: study.report(job, 1, "good"), "value is 'good', but it must be a num"),
        (lambda study, job: study.report(job, 1, 0.5, acc="x"), "acc is 'x', but it must be a"),
        (lambda study, job: study.ended(rw.Job(0, 5, {}, 0, 1)), "it is a job of another study"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(call, message):
    with opened() as study:
        job = study.ask()
        before = len(study._opened.file.log)
        with pytest.raises(rw.InvalidArgumentError, match=message):
            call(study, job)
        assert len(study._opened.file.log) == before
        assert study.report(job, 1, 0.5) is False


def test_resources_must_grow():
    with opened(scheduler=rw.FixedResource(9), max_resource=None) as study:
        job = study.ask()
        assert study.report(job, 4, 0.5)
        with pytest.raises(rw.InvalidArgumentError, match="must grow, and 4 was reported before"):
            study.report(job, 3, 0.5)


def test_a_report_beyond_the_maximum_is_said():
    with opened(trials=1, max_resource=3) as study:
        job = study.ask()
        with pytest.warns(rw.UsageWarning, match="but max_resource is 3"):
            study.report(job, 100, 0.5)


# -- limits --------------------------------------------------------------------------------------


def test_limits_end_it():
    with opened(target=0.5) as study:
        job, other = study.ask(), study.ask()
        assert study.report(job, 0.25, 0.4) is False
        assert isinstance(study.ask(), rw.Done)
        assert study.report(other, 0.5, 0.9) is False
    with opened(resource_budget=3, trials=None) as study:
        for job in study.jobs():
            train(study, job)
        assert "budget of 3 units" in study.result.rule
    with opened(seconds=0.2) as study:
        study.ask()
        time.sleep(0.25)
        assert "0.2 seconds" in study.ask().why


def test_a_job_that_hangs_is_given_to_another():
    noticed = []
    with opened(report_timeout=0.6, on_notice=noticed.append) as study:
        job = study.ask()
        deadline = time.monotonic() + 60
        while not study.result.failures:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert study.report(job, 1, 0.5) is False
        again = study.ask()
        assert (again.trial, again.id) == (job.trial, job.id + 1)
    assert "it sent no report for 0.6 s (report_timeout)" in noticed[0]


def test_an_on_notice_that_fails_does_no_harm():
    def fail(text):
        raise BrokenPipeError("nobody reads")

    with opened(on_notice=fail) as study:
        job = study.ask()
        with pytest.warns(rw.UsageWarning, match=r"on_notice failed \(BrokenPipe.*trial 0 failed"):
            study.failed(job, "bad luck")
        assert study.ask().trial == job.trial
        assert len(study.result.failures) == 1


def test_an_on_notice_may_ask_and_tell_itself_and_holds_nobody_up():
    held, reached = threading.Lock(), threading.Event()

    def ask(text):
        if threading.current_thread() is not threading.main_thread():
            reached.set()
            with held:
                pass
        told.append(study.ask().trial)

    told = []
    with opened(on_notice=ask) as study, held:
        job, other = study.ask(), study.ask()
        thread = threading.Thread(target=study.failed, args=(job, "bad luck"))
        thread.start()
        assert reached.wait(30)
        study.report(other, 1, 0.5)  # while the other thread waits for what this one holds
        held.release()
        thread.join(30)
        held.acquire()
    assert told == [job.trial]


def test_jobs_know_a_maximum_that_was_raised_meanwhile(tmp_path):
    path = tmp_path / "a.db"
    with opened(path, max_resource=9, trials=3, scheduler="asha") as study:
        train(study, study.ask())
        assert requests.extend(path, max_resource=27).state == "applied"
        assert study.ask().max_resource == 27


def test_a_file_that_was_damaged_meanwhile_is_closed_all_the_same(tmp_path):
    path = tmp_path / "a.db"
    study = opened(path)
    train(study, study.ask())
    database = sqlite3.connect(path)
    database.execute("UPDATE notes SET checksum = 1")
    database.commit()
    database.close()
    with pytest.raises(CorruptLogError, match="note 0 was altered"):
        study.close()
    study.close()
    for call in (study.ask, lambda: study.result):
        with pytest.raises(rw.StudyClosedError, match="it was closed"):
            call()
    with StudyFile(path) as file:  # nobody holds it
        assert file.begun


def test_an_outage_stops_it_and_spares_the_trials(tmp_path):
    path = tmp_path / "a.db"
    with opened(path, trials=60, retries=0) as study:
        train(study, study.ask())

        def fail_all():
            for _ in range(40):
                study.failed(study.ask(), "OSError: [Errno 28] No space left on device")

        with pytest.raises(rw.OutageError, match=r"the same call of rungwise\.open_study"):
            fail_all()
    assert sum(trial.failed for trial in rw.load(path).engine.trials) <= 3
    with opened(path, trials=60, retries=0) as study:
        for job in study.jobs():
            train(study, job)
        assert study.result.trials == 60


# -- files ---------------------------------------------------------------------------------------


def test_a_study_goes_on_where_it_was(tmp_path):
    path = tmp_path / "a.db"
    with opened(path) as study:
        train(study, study.ask())
        open_job = study.ask()
    assert rw.load(path).why.startswith("Interrupted: ")
    with opened(path) as study:
        again = study.ask()
        assert (again.trial, again.id) == (open_job.trial, open_job.id + 1)
        assert again.config == open_job.config
        assert study.report(open_job, 1, 0.0) is False  # a worker that knows nothing of it
        train(study, again)
        for job in study.jobs():
            train(study, job)
        value = study.result.best.value
    assert rw.load(path).best.value == value
    with opened(path) as study:
        assert isinstance(study.ask(), rw.Done)
    with opened(path, trials=12) as study:
        for job in study.jobs():
            train(study, job)
        assert study.result.trials == 12


def test_another_study_in_the_same_file_is_refused(tmp_path):
    path = tmp_path / "a.db"
    opened(path).close()
    with pytest.raises(rw.StudyDiffersError, match="metric: 'loss' in the file, 'mse' asked for"):
        opened(path, metric="mse")
    with opened(path), pytest.raises(rw.LogInUseError):
        opened(path)


def test_it_has_no_training_function_to_resume(tmp_path):
    path = tmp_path / "a.db"
    with opened(path) as study:
        train(study, study.ask())
    with pytest.raises(rw.InvalidArgumentError, match="is run by ask/tell, so there is no train"):
        rw.resume(path)

    def fit(config, run):
        for resource in run.resources():
            run.report(resource, loss=loss(config, resource))

    result = rw.resume(path, fit, backend="threads:1", show="quiet")
    assert result.trials == 9
    assert result.ended


def test_a_closed_study_says_so(tmp_path):
    study = opened(tmp_path / "a.db")
    job = study.ask()
    study.close()
    study.close()
    for call in (study.ask, lambda: study.report(job, 1, 0.5), lambda: study.lost(job)):
        with pytest.raises(rw.StudyClosedError, match="is not open: it was closed"):
            call()
    assert study.result.trials == 1
    assert repr(study).startswith("<ask/tell study of 1 trials, closed; ")


def test_a_thread_that_waits_hears_of_the_end():
    study, found = opened(trials=1), []

    def wait():
        try:
            study.ask(wait=60)
        except rw.StudyClosedError as error:
            found.append(error)

    study.ask()
    thread = threading.Thread(target=wait)
    thread.start()
    study.close()
    thread.join(10)
    assert not thread.is_alive()
    assert len(found) == 1


def test_a_child_process_cannot_ask():
    with opened() as study:
        pid = os.fork()
        if pid == 0:
            try:
                study.ask()
            except rw.StudyClosedError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert isinstance(study.ask(), rw.Job)


def test_a_call_that_could_not_be_stored_ends_it(tmp_path, monkeypatch):
    """The engine knows what the log does not: from then on nothing may be decided."""
    path = tmp_path / "a.db"
    study = opened(path)
    job = study.ask()

    def fail(entries, *, part=0):
        raise rw.LogUnavailableError("a.db", "disk full")

    with monkeypatch.context() as patched:
        patched.setattr(study._opened.file, "extend", fail)
        with pytest.raises(rw.LogUnavailableError):
            study.report(job, 1, 0.5)
    with pytest.raises(rw.StudyClosedError, match="an earlier call failed"):
        study.ask()
    study.close()
    with opened(path) as study:
        assert study.ask().trial == job.trial
        assert study.result.view.reports == 0


def test_a_study_without_a_file_goes_with_the_last_result():
    with opened() as study:
        train(study, study.ask())
    folder = study.result.path.parent
    assert folder.is_dir()
    result = study.result
    del study
    gc.collect()
    assert folder.is_dir()
    assert result.best.trial == 0
    del result
    gc.collect()
    assert not folder.exists()


def test_a_study_that_was_forgotten_releases_its_file(tmp_path):
    study = opened(tmp_path / "a.db")
    study.ask()
    del study
    deadline = time.monotonic() + 30
    while True:
        gc.collect()
        try:
            opened(tmp_path / "a.db").close()
        except rw.LogInUseError:
            assert time.monotonic() < deadline
            time.sleep(ask_tell.TICK)
        else:
            break


# -- requests ------------------------------------------------------------------------------------


def test_requests_are_applied_although_nothing_is_called(tmp_path):
    path = tmp_path / "a.db"
    with opened(path) as study:
        job = study.ask()
        assert requests.add(path, [{"x": 0.125}]).state == "applied"
        assert requests.label(path, tags=["mine"]).state == "applied"
        assert requests.stop(path, 0).state == "applied"
        assert study.report(job, 1, 0.5) is False
        assert study.ask().config == {"x": 0.125}
        assert study.result.labels[0] == ("mine",)
        assert requests.stop(path).state == "applied"
        answer = study.ask()
    assert answer.why == ask_tell.INTERRUPTED
    with opened(path) as study:
        assert isinstance(study.ask(), rw.Job)


def test_the_commands_read_it(tmp_path):
    path = tmp_path / "a.db"
    with opened(path) as study:
        train(study, study.ask())
        assert rw.load(path).running
    assert len(rw.load(path).leaderboard()) == 1


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_trials": 3}, r"open_study\(\) has no argument n_trials=: here it is trials="),
        ({"trials": 0}, "trials is 0"),
        ({"goal": "up"}, "goal is 'up'"),
        ({"auto_end": "no"}, "auto_end is 'no'"),
        ({"on_notice": 3}, "on_notice is 3"),
        ({"mirror": "elsewhere"}, "a study whose file is copied must have one"),
        ({"scheduler": "pashaa"}, "scheduler is 'pashaa'"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    with pytest.raises((rw.InvalidArgumentError, rw.UnknownArgumentError), match=message):
        opened(**changes)


def test_the_answers_are_the_engines_own():
    assert rw.Wait() == rw.Wait()
    assert {CONTINUE, PAUSE, STOP}
    assert rw.Done("x") == rw.Done("x")


def test_a_mirror_is_kept(tmp_path):
    with opened(tmp_path / "a.db", mirror=tmp_path / "copies", mirror_every=0.1) as study:
        train(study, study.ask())
    assert rw.load(tmp_path / "copies" / "a.db").trials == 1


def test_transfer_starts_from_an_earlier_study(tmp_path):
    with opened(tmp_path / "a.db") as study:
        for job in study.jobs():
            train(study, job)
        best = study.result.best.config
    with opened(tmp_path / "b.db", transfer=tmp_path / "a.db", leaders=1) as study:
        assert study.ask().config == best


# -- callbacks -----------------------------------------------------------------------------------


class Recorder(rw.callbacks.Callback):
    def __init__(self):
        self.told = []

    def begin(self, study):
        self.told.append(("begin", study.resumed))

    def started(self, job):
        self.told.append(("started", job.job))

    def reported(self, report):
        self.told.append(("reported", report.trial, report.resource, report.decision))

    def left(self, job):
        self.told.append(("left", job.job, job.state))

    def ended(self, result):
        self.told.append(("ended", result.how, result.reports))


def test_callbacks_are_told_what_happens(tmp_path):
    recorder = Recorder()
    with opened(tmp_path / "a.db", scheduler="asha", callbacks=[recorder]) as study:
        job = study.ask()
        study.report(job, 1, 0.5)
        study.ask()
    assert recorder.told == [
        ("begin", False),
        ("started", 0),
        ("reported", 0, 1, "Pause"),
        ("left", 0, "paused"),
        ("started", 1),
        ("left", 1, "lost"),
        ("ended", "interrupted", 1),
    ]
    with opened(tmp_path / "a.db", scheduler="asha", callbacks=[again := Recorder()]) as study:
        for job in study.jobs():
            train(study, job)
    assert again.told[0] == ("begin", True)
    assert again.told[-1][:2] == ("ended", "ended")


def test_a_callback_that_raises_ends_nothing():
    class Broken(rw.callbacks.Callback):
        def reported(self, report):
            raise ValueError("no room")

    noticed = []
    with opened(callbacks=[Broken()], on_notice=noticed.append) as study:
        train(study, study.ask())
        assert isinstance(study.ask(), rw.Job)
    assert any("no room" in text for text in noticed)


def test_the_safety_net_of_a_study_without_a_maximum_is_said(monkeypatch):
    monkeypatch.setattr(build, "SAFETY_RUNGS", 2)
    recipe = rw.PASHA(ranking="exact")

    def run():
        with opened(scheduler=recipe, max_resource=None, trials=60) as study:
            for number, job in enumerate(study.jobs()):
                for resource in job.resources():
                    if not study.report(job, resource, math.sin(resource * (number + 1))):
                        break

    with pytest.warns(rw.SafetyNetWarning):
        run()


def test_notices_are_kept_with_the_study(tmp_path):
    path = tmp_path / "a.db"
    with opened(path) as study:
        study.failed(study.ask(), "out of memory")
        study.lost(study.ask())
        train(study, study.ask())
    with StudyFile(path, mode="read") as file:
        assert [failure.reason for failure in file.failures()] == ["out of memory"]  # kept once
        (notice,) = file.notices()
        assert "its job was reported as lost; its job is issued again" in str(notice)
