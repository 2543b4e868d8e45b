"""The conformance suites of backends that run training functions, to subclass in a test module.

Example::

    class TestMine(TrainingBackendConformance):
        def make_recipe(self, workers):
            return Mine(workers)

:mod:`rungwise.testing.process_backends` adds what is promised where every worker is a process of
its own.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rungwise.backends.base import Backend, BackendRecipe, Workplace
from rungwise.backends.messages import Crashed, Ended, Message, Notice, Reported, Saved
from rungwise.checkpoints import FolderStore
from rungwise.core.engine import Engine
from rungwise.core.events import JobFailed, JobLost
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.driver import Driver, Hooks
from rungwise.policy import Listeners, Policy
from rungwise.run import Assignment
from rungwise.schedulers import FixedResource
from rungwise.session.failures import Rules
from rungwise.storage.memory import MemoryLog
from rungwise.testing.backends import BackendConformance, Curves, RecordingBackend

Train = Callable[[dict[str, Any], Any], Any]


def do(config: Mapping[str, Any], run: Any) -> None:
    """Does what its configuration says."""
    names = {"run": run, "os": os, "time": time, "signal": signal, "config": config}
    exec(config["code"], names)  # noqa: S102 - it is the test's own code


def make_player(curves: Curves) -> Train:
    """A training function that reports the curve of its trial."""

    def play(config: Mapping[str, Any], run: Any) -> None:  # noqa: ARG001 - a training function
        for resource in run.resources():
            run.report(resource, loss=curves[run.trial][resource - 1])

    return play


class TrainingBackendConformance(BackendConformance):
    """Subclass it and give :meth:`make_recipe`.

    Attributes:
        grace: how long a job has to leave, in seconds.
    """

    grace: ClassVar[float] = 2.0

    def make_recipe(self, workers: int) -> BackendRecipe:
        """The backend, as a value."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def open(self, train: Train, workers: int = 1) -> RecordingBackend:
        """A backend that runs a training function, with all slots ready."""
        return self._watched(self._opened(train, workers), workers)

    def _opened(self, train: Train, workers: int) -> Backend:
        store = FolderStore(str(self.folder / "store"))
        prepared = self.make_recipe(workers).prepare(train)
        assert prepared.workers == workers
        return prepared.open(Workplace(store, since=7.0, grace=self.grace))

    def make_backend(self, curves: Curves, workers: int) -> Backend:
        return self._opened(make_player(curves), workers)

    def start(self, backend: RecordingBackend, code: str, job: int = 0, **more: Any) -> None:
        """Start a job that runs a piece of code."""
        fields = {"start": 0, "until": 9, "place": f"trial-{job}", **more}
        backend.start(Assignment(job, fields.pop("trial", job), {"code": code}, **fields))

    def follow(self, backend: RecordingBackend, *, until: float = 1) -> list[Message]:
        """All messages of a job until it has left; its report at ``until`` is answered False."""
        said: list[Message] = []
        while not (said and isinstance(said[-1], (Ended, Crashed))):
            for message in self._next(backend):
                said.append(message)
                if isinstance(message, Reported):
                    backend.answer(message.job, go_on=message.resource < until)
        return said

    # -- what a job says -----------------------------------------------------------------------

    def test_the_clock_goes_on_where_the_study_stood(self) -> None:
        """A study that is resumed has one clock."""
        assert 7.0 <= self.open(do).now < 7.0 + self.timeout

    def test_a_report_brings_all_its_metrics(self) -> None:
        """Those besides the study's own travel with it."""
        backend = self.open(do)
        self.start(backend, "run.report(1, loss=0.5, accuracy=0.25, seconds=3)")
        (report, ended) = self.follow(backend)
        assert report == Reported(0, 1, 0.5, (("accuracy", 0.25), ("seconds", 3)))
        assert ended == Ended(0)

    def test_checkpoints_and_notices_are_reported(self) -> None:
        """In the order in which they happened."""
        backend = self.open(do)
        code = (
            "with run.checkpoint(1) as folder:\n    (folder / 'm').write_bytes(b'x' * 100)\n"
            "run.report(1, loss=0.5)\n"
            "with run.checkpoint(2) as folder:\n    raise OSError(28, 'full')\n"
            "run.report(2, loss=0.25)"
        )
        self.start(backend, code)
        saved, _, notice, _, _ = self.follow(backend, until=2)
        assert saved == Saved(0, 1, 100)
        assert isinstance(notice, Notice)
        assert "the disk is full: the checkpoint at 2 was not saved" in notice.text

    def test_a_job_goes_on_from_the_checkpoint_of_the_one_before(self) -> None:
        """Wherever in the backend that one ran."""
        backend = self.open(do, workers=2)
        save = "with run.checkpoint(3) as f:\n    (f / 'm').write_text('three')\n"
        self.start(backend, save + "run.report(3, loss=1)", trial=5, place="here")
        self.follow(backend)
        found = "run.report(run.start + 1, loss=len((run.latest / 'm').read_text()))"
        self.start(backend, found, job=1, trial=5, start=3, place="here")
        assert self.follow(backend)[0] == Reported(1, 4, 5)

    def test_configurations_may_be_large(self) -> None:
        """A megabyte and more."""
        backend = self.open(do)
        for job in range(2):
            config = {"code": "run.report(1, loss=len(config['much']))", "much": "x" * 1_200_000}
            backend.start(Assignment(job, job, config, 0, 9, place="t"))
            assert self.follow(backend) == [Reported(job, 1, 1_200_000), Ended(job)]

    # -- jobs that fail ------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("raise SystemExit(3)", "it called exit(3)"),
            ("pass", "the function returned without a report of 'loss'"),
            ("run.report(1, loss=float('nan'))", "NotFiniteError: loss is nan at resource 1"),
        ],
    )
    def test_a_job_that_fails_says_why(self, code: str, reason: str) -> None:
        """The fault is the trial's, and its slot takes the next job."""
        backend = self.open(do)
        self.start(backend, code)
        (crashed,) = self.follow(backend)
        assert isinstance(crashed, Crashed)
        assert crashed.reason.startswith(reason)
        assert crashed.fault == "trial"
        assert ("Traceback (most recent call last)" in crashed.trace) == (code != "pass")
        self._until(backend, lambda: backend.idle() == 1)
        self.start(backend, "run.report(1, loss=4)", job=1)
        assert self.follow(backend) == [Reported(1, 1, 4), Ended(1)]

    def test_a_loop_of_ones_own_is_unwound(self) -> None:
        """At the report after the one that was answered: enough."""
        backend = self.open(do)
        mark = self.folder / "left"
        code = (
            "try:\n    for n in range(1, 99):\n        run.report(n, loss=n)\n"
            "except Exception:\n    raise AssertionError('this must not catch it')\n"
            f"finally:\n    with open({str(mark)!r}, 'w') as file:\n        file.write(str(n))"
        )
        self.start(backend, code)
        assert self.follow(backend) == [Reported(0, 1, 1), Ended(0)]
        assert mark.read_text() == "2"

    def _study(
        self, train: Train, rules: Rules, trials: int = 2, workers: int = 1, **limits: Any
    ) -> Any:
        """A study of trials to resource 3, driven with a policy; (engine, log, driver)."""
        initial = [{"x": number} for number in range(trials)]
        study = Study(FixedResource(3), Limits(trials=trials, **limits), initial=initial)
        engine, log = Engine(study), MemoryLog(study=study)
        self.failures: list[Any] = []
        told = Listeners(on_failure=lambda *seen: self.failures.append(seen))
        policy = Policy(engine, rules, listeners=told)
        backend = self.open(train, workers)
        driver = Driver(
            engine, backend, log=log, policy=policy, hooks=Hooks(assign=make_assignment)
        )
        return engine, log, driver, backend

    def test_what_fails_is_retried_as_often_as_the_rules_say(self) -> None:
        """A trial that failed once goes on from where it was; one that always fails is dropped."""
        marks = str(self.folder)

        def flaky(config: Mapping[str, Any], run: Any) -> None:
            for resource in run.resources():
                mark = Path(marks, f"{run.trial}-{resource}")
                if run.trial == 1 or (resource == 2 and not mark.exists()):
                    mark.touch()
                    raise RuntimeError(f"at {resource}")
                run.report(resource, loss=config["x"])

        engine, log, driver, _ = self._study(flaky, Rules(retries=1))
        driver.run()
        assert engine.ended is not None
        kinds = [type(event) for event, _ in log.entries]
        assert (kinds.count(JobLost), kinds.count(JobFailed)) == (2, 1)
        assert engine.trials[0].resource == 3
        assert engine.trials[1].note == "RuntimeError: at 1"
        seen = [(f.trial, f.resource, f.reason, again) for f, again in self.failures]
        assert seen == [
            (0, 1, "RuntimeError: at 2", True),
            (1, 0, "RuntimeError: at 1", True),
            (1, 0, "RuntimeError: at 1", False),
        ]

    # -- leaving -------------------------------------------------------------------------------

    def test_recalled_jobs_leave_at_their_next_report_and_are_lost(self) -> None:
        """So that a study that was interrupted can be resumed."""

        def slow(config: Mapping[str, Any], run: Any) -> None:
            for resource in run.resources():
                time.sleep(0.05)
                run.report(resource, loss=config["x"])

        engine, log, driver, backend = self._study(slow, Rules(), trials=9, workers=2)
        threading.Timer(0.3, lambda: (driver.recall(), backend.wake())).start()
        driver.run()
        assert engine.ended is None
        assert engine.open_jobs == []
        kinds = [type(event) for event, _ in log.entries]
        assert kinds.count(JobLost) in (0, 1, 2)
        assert JobFailed not in kinds
        assert backend.idle() == 2

    def test_halted_jobs_leave_at_once_and_are_lost(self) -> None:
        """In the middle of whatever they do, and their slots are free then."""

        def endless(config: Mapping[str, Any], run: Any) -> None:
            run.report(1, loss=config["x"])
            for _ in range(6000):
                time.sleep(0.01)

        engine, log, driver, backend = self._study(endless, Rules(), workers=2, target=0)
        driver.run()
        assert engine.ended is not None
        begun = time.monotonic()
        driver.halt()
        assert time.monotonic() - begun < 20
        assert engine.open_jobs == []
        assert JobFailed not in [type(event) for event, _ in log.entries]
        assert self.failures == []
        self._until(backend, lambda: backend.idle() == 2)

    def test_a_job_asked_to_leave_is_unwound_whatever_it_does(self) -> None:
        """Its last lines are run, and its slot takes the next job."""
        backend = self.open(do)
        mark = self.folder / "left"
        code = (
            "run.report(1, loss=1)\ntry:\n    for _ in range(6000):\n        time.sleep(0.01)\n"
            f"finally:\n    open({str(mark)!r}, 'w').close()"
        )
        self.start(backend, code)
        assert self._next(backend) == [Reported(0, 1, 1)]
        backend.answer(0, go_on=True)
        backend.poll()
        backend.ask_to_leave(0, "enough")
        assert self.follow(backend) == [Ended(0)]
        assert mark.exists()
        self.start(backend, "run.report(1, loss=2)", job=1)
        assert self.follow(backend) == [Reported(1, 1, 2), Ended(1)]

    def test_a_job_that_does_not_leave_is_given_up(self) -> None:
        """After the grace; the slot is as good as new."""
        backend = self.open(do)
        code = (
            "end = time.monotonic() + 12\nwhile time.monotonic() < end:\n"
            "    try:\n        time.sleep(0.1)\n    except BaseException:\n        pass"
        )
        self.start(backend, code)
        backend.poll()
        backend.ask_to_leave(0, "enough")
        begun = time.monotonic()
        said = self.follow(backend)
        assert isinstance(said[-1], (Ended, Crashed))
        assert time.monotonic() - begun < 12
        self._until(backend, lambda: backend.idle() == 1)
        self.start(backend, "run.report(1, loss=2)", job=1)
        assert self.follow(backend) == [Reported(1, 1, 2), Ended(1)]

    @pytest.mark.parametrize(
        ("rules", "reason"),
        [
            (Rules(report_timeout=0.6), "it sent no report for 0.6 s (report_timeout)"),
            (Rules(trial_timeout=0.6), "it ran longer than 0.6 s (trial_timeout)"),
        ],
        ids=["silent", "long"],
    )
    def test_jobs_that_hang_fail(self, rules: Rules, reason: str) -> None:
        """The rest of the study goes on."""

        def hangs(config: Mapping[str, Any], run: Any) -> None:
            while run.trial == 0:
                time.sleep(0.02)
            for resource in run.resources():
                run.report(resource, loss=config["x"])

        engine, _, driver, _ = self._study(hangs, rules)
        driver.run()
        assert engine.trials[0].note == reason
        assert engine.trials[1].resource == 3
        assert [failure.reason for failure, _ in self.failures] == [reason]

    def test_waking_makes_poll_return(self) -> None:
        """From another thread, though nothing has happened; and it is not lost before."""
        backend = self.open(do)
        begun = time.monotonic()
        for _ in range(40):
            backend.wake()
            assert len(backend.poll()) == 0
            assert time.monotonic() - begun < min(5, self.timeout)

    def test_closing_with_jobs_under_way_comes_back(self) -> None:
        """And they say nothing more."""
        backend = self._opened(do, 2)
        recording = RecordingBackend(backend)
        self._wait_until_ready(recording, 2)
        mark = self.folder / "mark"
        code = (
            "run.report(1, loss=1)\ntime.sleep(0.2)\nrun.report(2, loss=1)\n"
            f"os.mkdir({str(mark)!r})"
        )
        for job in range(2):
            self.start(recording, code, job=job)
        self._next(recording)
        begun = time.monotonic()
        backend.close()
        assert time.monotonic() - begun < 3 * self.grace + 5
        time.sleep(0.5)
        assert not mark.exists()


def make_assignment(job: Any) -> Assignment:
    """The assignment of a job of the engine."""
    place = f"trial-{job.trial}"
    return Assignment(job.id, job.trial, job.config, job.start, job.until, 3, place=place)
