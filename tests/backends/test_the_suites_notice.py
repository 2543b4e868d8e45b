"""Backends that break a promise, each in one way, and the check of the suites that finds out."""

import time
from contextlib import suppress
from dataclasses import replace

import pytest

import rungwise as rw
from rungwise.backends.messages import Crashed, Ended, Notice, Printed, Reported, Saved
from rungwise.backends.simulator import Simulator
from rungwise.backends.threads import ThreadBackend
from rungwise.backends.workers import WorkerBackend
from rungwise.benchmarks import Table
from rungwise.schedulers import PASHA
from rungwise.session.failures import Rules
from rungwise.testing import (
    BackendConformance,
    ProcessBackendConformance,
    TrainingBackendConformance,
)

# -- of any backend ------------------------------------------------------------------------------


class EndsTwice(Simulator):
    def poll(self):
        said = super().poll()
        return (*said, *(message for message in said if isinstance(message, Ended)))


class SkipsAReport(Simulator):
    def poll(self):
        return [message for message in super().poll() if getattr(message, "resource", 0) != 2]


class EndsByItself(Simulator):
    def _advance(self, time, running):
        message = super()._advance(time, running)
        if message.resource == 2:
            self._end(message.job)
        return message


class ClockFalls(Simulator):
    def poll(self):
        said = super().poll()
        self.now = self.now % 7
        return said


class ClockRuns(Simulator):
    """It does not stand still between two polls."""

    @property
    def now(self):
        return time.monotonic()

    @now.setter
    def now(self, value):
        pass


class OneAfterTheOther(Simulator):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.queue = []

    def start(self, assignment):
        self.queue.append(assignment)

    def idle(self):
        return super().idle() - len(self.queue)

    def poll(self):
        if not self._jobs and not self._ended and self.queue:
            super().start(self.queue.pop(0))
        return super().poll()


class SaysOtherValues(Simulator):
    def poll(self):
        said = super().poll()
        return [replace(m, value=-m.value) if isinstance(m, Reported) else m for m in said]


class AlwaysIdle(Simulator):
    def idle(self):
        return self.workers


class NeverIdleAgain(Simulator):
    used = 0

    def start(self, assignment):
        self.used += 1
        super().start(assignment)

    def idle(self):
        return self.workers - self.used


class StumblesOverStrangers(Simulator):
    def answer(self, job, go_on):
        self._jobs[job]
        super().answer(job, go_on)


class DoesNotLeave(Simulator):
    def ask_to_leave(self, job, why):
        pass

    def poll(self):
        return ()


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (EndsTwice, "test_a_job_that_must_leave_ends_once"),
        (SkipsAReport, "test_a_job_that_must_leave_ends_once"),
        (SkipsAReport, "test_a_whole_study"),
        (EndsByItself, "test_a_whole_study"),
        (ClockFalls, "test_a_whole_study"),
        (ClockRuns, "test_an_idle_backend_has_nothing_to_say"),
        (OneAfterTheOther, "test_workers_work_side_by_side"),
        (SaysOtherValues, "test_a_worker_takes_one_job_after_another"),
        (SaysOtherValues, "test_a_whole_study"),
        (AlwaysIdle, "test_slots_are_idle_until_they_are_given_a_job"),
        (AlwaysIdle, "test_a_whole_study"),
        (NeverIdleAgain, "test_slots_are_idle_until_they_are_given_a_job"),
        (StumblesOverStrangers, "test_jobs_that_are_unknown_or_have_left_are_ignored"),
        (DoesNotLeave, "test_a_job_leaves_in_the_middle_when_it_is_asked_to"),
    ],
)
def test_of_any_backend(kind, check):
    class Row(BackendConformance):
        timeout = 0.2

        def make_backend(self, curves, workers):
            return kind(Table(curves), workers=workers, rows=range(len(curves)))

    row = Row()
    row._made = []

    def judge():
        if check == "test_a_whole_study":
            row.test_a_whole_study(row._drive(PASHA(max_resource=9), 12, 2))
        else:
            getattr(row, check)()

    with pytest.raises((AssertionError, rw.IllegalEventError, ValueError, KeyError)):
        judge()


# -- of those that train -------------------------------------------------------------------------


class Filtered(ThreadBackend):
    """Says something else than what happened."""

    def poll(self):
        return [m for message in super().poll() for m in self.changed(message)]

    def changed(self, message):
        return [message]


class DropsMetrics(Filtered):
    def changed(self, message):
        return [replace(message, metrics=()) if isinstance(message, Reported) else message]


class DropsCheckpoints(Filtered):
    def changed(self, message):
        return [] if isinstance(message, Saved) else [message]


class DropsNotices(Filtered):
    def changed(self, message):
        return [] if isinstance(message, Notice) else [message]


class CallsCrashesEnds(Filtered):
    def changed(self, message):
        return [Ended(message.job) if isinstance(message, Crashed) else message]


class BlamesTheWorker(Filtered):
    def changed(self, message):
        return [replace(message, fault="worker") if isinstance(message, Crashed) else message]


class ForgetsTraces(Filtered):
    def changed(self, message):
        return [replace(message, trace="") if isinstance(message, Crashed) else message]


class AnswersYes(ThreadBackend):
    def answer(self, job, go_on):
        super().answer(job, True)


class NeverUnwinds(ThreadBackend):
    def ask_to_leave(self, job, why):
        pass


class WaitsForTheUnwilling(ThreadBackend):
    """It asks, and then waits for ever."""

    def ask_to_leave(self, job, why):
        super().ask_to_leave(job, why)
        if job in self.jobs:
            self.jobs[job].deadline = 1e9


class SleepsThroughWakes(ThreadBackend):
    def wake(self):
        pass


class StartsItsOwnClock(ThreadBackend):
    def __init__(self, train, workers, workplace):
        super().__init__(train, workers, replace(workplace, since=0.0))


class LosesCheckpoints(ThreadBackend):
    def start(self, assignment):
        super().start(replace(assignment, place=f"{assignment.place}-{assignment.job}"))


class CutsConfigurations(ThreadBackend):
    def start(self, assignment):
        config = {name: value[:1_000_000] for name, value in assignment.config.items()}
        super().start(replace(assignment, config=config))


class ClosesAndLetsThemRun(ThreadBackend):
    def close(self):
        """Nothing is ended."""
        for job in self.jobs.values():
            job.answers.put(True)
            job.answers.put(True)


class DecidesItself(ThreadBackend):
    """It answers known ground and more without asking, as if it were the policy."""

    def poll(self):
        said = super().poll()
        for message in said:
            if isinstance(message, Reported) and message.resource > 1:
                self.answer(message.job, True)
        return [m for m in said if not (isinstance(m, Reported) and m.resource > 1)]


OF_TRAINING = [
    (DropsMetrics, "test_a_report_brings_all_its_metrics", ()),
    (DropsCheckpoints, "test_checkpoints_and_notices_are_reported", ()),
    (DropsNotices, "test_checkpoints_and_notices_are_reported", ()),
    (CallsCrashesEnds, "test_a_job_that_fails_says_why", ("1 / 0", "ZeroDivisionError")),
    (CallsCrashesEnds, "test_what_fails_is_retried_as_often_as_the_rules_say", ()),
    (BlamesTheWorker, "test_a_job_that_fails_says_why", ("1 / 0", "ZeroDivisionError")),
    (ForgetsTraces, "test_a_job_that_fails_says_why", ("1 / 0", "ZeroDivisionError")),
    (AnswersYes, "test_a_loop_of_ones_own_is_unwound", ()),
    (NeverUnwinds, "test_a_job_asked_to_leave_is_unwound_whatever_it_does", ()),
    (NeverUnwinds, "test_halted_jobs_leave_at_once_and_are_lost", ()),
    (WaitsForTheUnwilling, "test_a_job_that_does_not_leave_is_given_up", ()),
    (SleepsThroughWakes, "test_waking_makes_poll_return", ()),
    (StartsItsOwnClock, "test_the_clock_goes_on_where_the_study_stood", ()),
    (LosesCheckpoints, "test_a_job_goes_on_from_the_checkpoint_of_the_one_before", ()),
    (CutsConfigurations, "test_configurations_may_be_large", ()),
    (ClosesAndLetsThemRun, "test_closing_with_jobs_under_way_comes_back", ()),
    (DecidesItself, "test_what_fails_is_retried_as_often_as_the_rules_say", ()),
    (
        NeverUnwinds,
        "test_jobs_that_hang_fail",
        (Rules(report_timeout=0.6), "it sent no report for 0.6 s (report_timeout)"),
    ),
]


HANG = {
    "test_halted_jobs_leave_at_once_and_are_lost",
    "test_jobs_that_hang_fail",
    "test_a_slot_that_never_starts_is_never_given_a_job",
}
"""Checks that drive a study: without what they check for, it never ends."""


@pytest.mark.parametrize(
    ("kind", "check", "arguments"),
    OF_TRAINING,
    ids=[f"{kind.__name__}-{check}" for kind, check, _ in OF_TRAINING],
)
def test_of_backends_that_train(kind, check, arguments, tmp_path, monkeypatch):
    monkeypatch.setattr("rungwise.backends.threads.ThreadBackend", kind)

    class Row(Hasty, TrainingBackendConformance):
        grace = 0.2

        def make_recipe(self, workers):
            return rw.Threads(workers)

    run_row(Row, check, arguments, tmp_path)


class Hasty:
    """Waits long for workers to start, which is not what is broken, and then only for a second."""

    timeout = 1.0

    def _wait_until_ready(self, backend, workers):
        self.timeout = 60.0
        super()._wait_until_ready(backend, workers)
        self.timeout = 1.0


def run_row(kind, check, arguments, folder):
    row = kind()
    row._made, row.folder = [], folder
    # The checks wait for a second; a study that hangs has no end of its own, and takes as long.
    seconds = 3 if check in HANG else 60
    try:
        with pytest.raises((AssertionError, rw.IllegalEventError, ValueError, TimeoutError)):
            within(seconds, lambda: getattr(row, check)(*arguments), row._made)
    finally:
        for backend in row._made:
            backend.close()


def within(seconds, work, backends):
    """Do something in a thread; too slow is a failure as well, and ends with its next poll."""
    import threading  # noqa: PLC0415

    errors = []

    def run():
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        for backend in backends:
            backend.poll = give_up
        thread.join(60)
        raise TimeoutError
    if errors:
        raise errors[0]


def give_up():
    raise TimeoutError


# -- of worker processes -------------------------------------------------------------------------


class DoesNotReplace(WorkerBackend):
    def _launch(self, number):
        if getattr(self, "launched", 0) >= self._size:
            raise ConnectionError("no more")
        self.launched = getattr(self, "launched", 0) + 1
        return super()._launch(number)

    def _died(self, worker):
        with suppress(ConnectionError):
            super()._died(worker)


class CountsTheUnready(WorkerBackend):
    def idle(self):
        return sum(worker.assignment is None for worker in self._workers)

    def start(self, assignment):
        for worker in reversed(self._workers):
            if worker.assignment is None:
                worker.ready = True
                self._idle.add(worker)
                break
        super().start(assignment)


class SwallowsOutput(WorkerBackend):
    def poll(self):
        return [message for message in super().poll() if not isinstance(message, Printed)]


class MournsTheIdle(WorkerBackend):
    """It says that a job crashed where there was none."""

    def _died(self, worker):
        idle = worker.assignment is None
        super()._died(worker)
        if idle:
            self._messages.append(Crashed(99, "gone"))


class BlamesTheTrial(WorkerBackend):
    """It holds a job responsible for the death of a worker that never had it."""

    def poll(self):
        said = super().poll()
        return [replace(m, fault="trial") if isinstance(m, Crashed) else m for m in said]


class LeavesOrphans(WorkerBackend):
    def close(self):
        import os  # noqa: PLC0415
        import signal  # noqa: PLC0415

        for worker in self._workers:
            if not hasattr(worker.handle, "spared"):
                worker.handle.spared = True
                worker.handle.kill = lambda pid=worker.handle.pid: os.kill(pid, signal.SIGKILL)
        super().close()


OF_PROCESSES = [
    (DoesNotReplace, "test_a_worker_that_dies_is_replaced", ("os._exit(7)", "exited with 7")),
    (DoesNotReplace, "test_a_slot_that_vanishes_while_idle_costs_nothing", ()),
    (MournsTheIdle, "test_a_slot_that_vanishes_while_idle_costs_nothing", ()),
    (BlamesTheTrial, "test_a_job_given_to_a_slot_that_has_vanished_is_not_to_blame", ()),
    (CountsTheUnready, "test_a_slot_that_never_starts_is_never_given_a_job", ()),
    (SwallowsOutput, "test_output_is_reported_per_job", ()),
    (LeavesOrphans, "test_closing_leaves_no_process_behind", ()),
]


@pytest.mark.parametrize(
    ("kind", "check", "arguments"),
    OF_PROCESSES,
    ids=[f"{kind.__name__}-{check}" for kind, check, _ in OF_PROCESSES],
)
def test_of_worker_processes(kind, check, arguments, tmp_path, monkeypatch):
    monkeypatch.setattr("rungwise.backends.local.WorkerBackend", kind)

    class Row(Hasty, ProcessBackendConformance):
        grace = 0.2

        def make_recipe(self, workers):
            return rw.Local(workers=workers)

    run_row(Row, check, arguments, tmp_path)
