"""The conformance suite of backends, to subclass in a test module.

Example::

    class TestMyBackend(BackendConformance):
        def make_backend(self, curves, workers):
            return MyBackend(make_player(curves), workers)

A backend that runs training functions has a larger one, :class:`TrainingBackendConformance` in
:mod:`rungwise.testing.training_backends`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from rungwise.backends.base import Backend, WorkerView
from rungwise.backends.messages import Crashed, Ended, Message, Reported
from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table
from rungwise.core.decisions import Decision
from rungwise.core.engine import Engine
from rungwise.core.limits import Limits
from rungwise.core.replay import replay
from rungwise.core.scheduler import Recipe
from rungwise.core.study import Study
from rungwise.driver import Driver
from rungwise.policy import Policy
from rungwise.run import Assignment
from rungwise.schedulers import ASHA, PASHA
from rungwise.simulation import simulate
from rungwise.storage.memory import MemoryLog

Curves = Sequence[Sequence[float]]

RESOURCES = 9
IDLE_POLLS = 2
"""How often an idle backend is polled to check that it returns no messages."""


class RecordingBackend:
    """Stands between a driver and a backend, and records the messages and calls of both.

    Args:
        backend: the backend to record.

    Attributes:
        said: all messages of the backend, in order.
        jobs: all jobs that it was given, by number.
        answers: the answers to reports, in order: (job, whether to train on).
        clock: what its clock showed each time that it was read.
        most: the largest number of jobs that it had at a time.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.said: list[Message] = []
        self.times: list[float] = []
        self.jobs: dict[int, Assignment] = {}
        self.answers: list[tuple[int, bool]] = []
        self.clock: list[float] = []
        self.most = self._running = 0

    @property
    def now(self) -> float:
        """Seconds since the study began."""
        self.clock.append(self.backend.now)
        return self.clock[-1]

    def idle(self) -> int:
        """How many jobs may be started; never more than there are slots free."""
        return self.backend.idle()

    def start(self, assignment: Assignment) -> None:
        """Run a job."""
        assert self.backend.idle() >= 1, "a job is given to a slot that is ready and free"
        self.jobs[assignment.job] = assignment
        self._running += 1
        self.most = max(self.most, self._running)
        self.backend.start(assignment)

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        """Answer a report."""
        self.answers.append((job, go_on))
        self.backend.answer(job, go_on)

    def poll(self) -> Sequence[Message]:
        """The messages since the last poll."""
        said = self.backend.poll()
        now = self.now
        for message in said:
            self.said.append(message)
            self.times.append(now)
            self._running -= isinstance(message, (Ended, Crashed))
        assert self.backend.now == now, "the clock stands still between two polls"
        return said

    def ask_to_leave(self, job: int, why: str) -> None:
        """Unwind a job."""
        self.backend.ask_to_leave(job, why)

    def wake(self) -> None:
        """Make poll() return."""
        self.backend.wake()

    def views(self) -> Sequence[WorkerView]:
        """The workers."""
        return self.backend.views()

    def close(self) -> None:
        """End everything."""
        self.backend.close()


class BackendConformance:
    """Subclass it and give :meth:`make_backend`.

    Attributes:
        timeout: how many seconds a backend may take for each thing that it is asked.
    """

    timeout: ClassVar[float] = 60.0

    def make_backend(self, curves: Curves, workers: int) -> Backend:
        """A backend on which trial k yields ``curves[k][r - 1]`` after resource r = 1, 2, ….

        A trial is trained as far as its curve goes, unless a report is answered False before. The
        backend is closed in the end.
        """
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _close_afterwards(self) -> Iterator[None]:
        self._made: list[Backend] = []
        yield
        for backend in self._made:
            backend.close()

    def _new(self, curves: Curves, workers: int) -> RecordingBackend:
        return self._watched(self.make_backend(curves, workers), workers)

    def _watched(self, backend: Backend, workers: int) -> RecordingBackend:
        """A backend all of whose slots are ready."""
        self._made.append(backend)
        recording = RecordingBackend(backend)
        self._wait_until_ready(recording, workers)
        return recording

    def _wait_until_ready(self, backend: RecordingBackend, workers: int) -> None:
        self._until(backend, lambda: backend.idle() == workers)

    # -- jobs by hand --------------------------------------------------------------------------

    def test_slots_are_idle_until_they_are_given_a_job(self) -> None:
        """As many as it was made for; a job takes one, and gives it back when it has left."""
        backend = self._new(_curves(3), 3)
        assert len(backend.views()) <= 3
        backend.start(Assignment(0, 1, {"row": 1}, 0, RESOURCES))
        assert backend.idle() == 2
        assert [view.trial for view in backend.views() if view.trial is not None] == [1]
        self._next(backend)
        assert backend.idle() == 2
        backend.answer(0, go_on=False)
        assert self._next(backend) == [Ended(0)]
        assert backend.idle() == 3
        assert all(view.trial is None for view in backend.views())

    def test_an_idle_backend_has_nothing_to_say(self) -> None:
        """poll() returns without a message."""
        backend = self._new(_curves(3), 1)
        self._expect_silence(backend)
        assert backend.clock[0] >= 0

    def test_a_job_that_must_leave_ends_once(self) -> None:
        """Not before its report was answered False, and no message follows."""
        curves = _curves(2)
        backend = self._new(curves, 1)
        backend.start(Assignment(0, 1, {"row": 1}, 0, RESOURCES))
        for resource in (1, 2, 3):
            assert self._next(backend) == [Reported(0, resource, curves[1][resource - 1])]
            backend.answer(0, go_on=resource < 3)
        assert self._next(backend) == [Ended(0)]
        self._expect_silence(backend)

    def test_jobs_that_are_unknown_or_have_left_are_ignored(self) -> None:
        """Answers and requests to leave may come too late."""
        backend = self._new(_curves(2), 1)
        backend.start(Assignment(0, 1, {"row": 1}, 0, RESOURCES))
        self._next(backend)
        backend.answer(0, go_on=False)
        assert self._next(backend) == [Ended(0)]
        for job in (0, 17):
            backend.answer(job, go_on=True)
            backend.ask_to_leave(job, "too late")
        self._expect_silence(backend)
        assert backend.idle() == 1

    def test_a_job_leaves_in_the_middle_when_it_is_asked_to(self) -> None:
        """Once, and its slot is free again."""
        backend = self._new(_curves(2), 1)
        backend.start(Assignment(0, 1, {"row": 1}, 0, RESOURCES))
        self._next(backend)
        backend.ask_to_leave(0, "enough")
        said = list(self._next(backend))
        while not any(isinstance(message, (Ended, Crashed)) for message in said):
            said += self._next(backend)
        assert isinstance(said[-1], (Ended, Crashed))
        self._until(backend, lambda: backend.idle() == 1)
        self._expect_silence(backend)

    def test_a_worker_takes_one_job_after_another(self) -> None:
        """The next job of the same trial reports what lies beyond the last one."""
        curves = _curves(1)
        backend = self._new(curves, 1)
        for number, (start, until) in enumerate([(0, 2), (2, 3), (3, 5)]):
            backend.start(Assignment(number, 0, {"row": 0}, start, until, place="trial-0"))
            for resource in range(start + 1, until + 1):
                value = curves[0][resource - 1]
                assert self._next_new(backend, start) == Reported(number, resource, value)
                backend.answer(number, go_on=resource < until)
            assert self._next_new(backend, start) == Ended(number)

    def test_workers_work_side_by_side(self) -> None:
        """No worker waits for the end of another one's job."""
        backend = self._new(_curves(3), 3)
        for number in range(3):
            backend.start(Assignment(number, number, {"row": number}, 0, RESOURCES))
        first: set[int | None] = set()
        while len(first) < 3:
            first |= {message.job for message in self._next(backend)}
            assert not any(isinstance(message, Ended) for message in backend.said)
        for number in range(3):
            backend.answer(number, go_on=False)
        ended: list[int] = []
        while len(ended) < 3:
            ended += [each.job for each in self._next(backend) if isinstance(each, Ended)]
        assert sorted(ended) == [0, 1, 2]

    def test_being_woken_is_harmless(self) -> None:
        """However often, and whether or not poll() is waiting."""
        backend = self._new(_curves(1), 1)
        for _ in range(1000):
            backend.wake()
        self._expect_silence(backend)

    # -- whole studies -------------------------------------------------------------------------

    @pytest.fixture(params=[1, 2], ids=["one worker", "two workers"])
    def driven(self, request: pytest.FixtureRequest) -> tuple[RecordingBackend, MemoryLog]:
        """A study that was run to its end."""
        return self._drive(PASHA(max_resource=RESOURCES), 12, request.param)

    def test_a_whole_study(self, driven: tuple[RecordingBackend, MemoryLog]) -> None:
        """All that must be true of one, checked in one test since backends may be slow."""
        backend, log = driven
        self._reports_come_in_order(backend)
        self._jobs_end_once_and_for_all(backend)
        self._time_does_not_fall(backend, log)
        assert backend.most >= 1
        self._decisions_are_the_engines(log)

    def test_trials_that_run_on_until_they_are_stopped(self) -> None:
        """The same of the variant for hosts that cannot pause."""
        recipe = ASHA(max_resource=RESOURCES, variant="stopping")
        backend, log = self._drive(recipe, 9, 1)
        self._reports_come_in_order(backend)
        self._jobs_end_once_and_for_all(backend)
        self._decisions_are_the_engines(log)
        assert any(not go_on for _, go_on in backend.answers)

    def _drive(
        self, recipe: Recipe, trials: int, workers: int
    ) -> tuple[RecordingBackend, MemoryLog]:
        study = Study(
            recipe, Limits(trials=trials), initial=[{"row": row} for row in range(trials)]
        )
        engine, log = Engine(study), MemoryLog(study=study)
        backend = self._new(_curves(trials), workers)
        self._workers = workers
        Driver(engine, backend, log=log, policy=Policy(engine)).run()
        assert engine.ended is not None
        assert backend.most <= workers
        return backend, log

    def _reports_come_in_order(self, backend: RecordingBackend) -> None:
        curves = _curves(1 + max(job.trial for job in backend.jobs.values()))
        for job in backend.jobs.values():
            start = int(job.start)
            reports = [
                (message.resource, message.value)
                for message in backend.said
                if isinstance(message, Reported)
                and message.job == job.job
                and message.resource > start
            ]
            values = curves[job.trial][start : start + len(reports)]
            assert reports == list(enumerate(values, start=start + 1)), f"of job {job.job}"

    def _jobs_end_once_and_for_all(self, backend: RecordingBackend) -> None:
        asked = [job for job, go_on in backend.answers if not go_on]
        assert len(asked) == len(set(asked))
        for number in backend.jobs:
            kinds = [type(message) for message in backend.said if message.job == number]
            kinds = [kind for kind in kinds if kind in (Reported, Ended, Crashed)]
            assert kinds.count(Ended) == 1, f"job {number}"
            assert kinds[-1] is Ended, f"job {number}"
            assert set(kinds) == {Reported, Ended}, f"job {number}"
            assert number in asked, f"job {number} left before its report was answered False"

    def _time_does_not_fall(self, backend: RecordingBackend, log: MemoryLog) -> None:
        assert backend.clock == sorted(backend.clock)
        times = [event.at for event, _ in log.entries]
        assert times == sorted(times)
        assert times[0] >= 0
        assert times[-1] <= backend.clock[-1]

    def _decisions_are_the_engines(self, log: MemoryLog) -> None:
        """A replay, a bare engine, and the simulator where there is one order of events only."""
        replay(log.study, log.read_from())
        engine = Engine(log.study)
        again = [engine.handle(event) for event, _ in log.entries]
        assert again == [decision for _, decision in log.entries]
        if self._workers == 1:
            trials = len(log.study.initial)
            simulated = MemoryLog()
            table = Table(_curves(trials))
            recipe = log.study.scheduler
            simulate(table, recipe, trials=range(trials), workers=1, log=simulated)
            assert _timeless(log) == _timeless(simulated)

    # -- waiting -------------------------------------------------------------------------------

    def _next(self, backend: RecordingBackend) -> Sequence[Message]:
        """Wait for the next messages of the backend."""
        deadline = time.monotonic() + self.timeout
        while time.monotonic() < deadline:
            said = backend.poll()
            if said:
                return list(said)
        raise AssertionError(f"the backend sent no message for {self.timeout} s")

    def _next_new(self, backend: RecordingBackend, start: float) -> Message:
        """The same, without the reports that a job without a checkpoint repeats."""
        while True:
            for message in self._next(backend):
                if isinstance(message, Reported) and message.resource <= start:
                    backend.answer(message.job, go_on=True)
                elif isinstance(message, (Reported, Ended, Crashed)):
                    return message

    def _until(self, backend: RecordingBackend, holds: Callable[[], bool]) -> None:
        """Poll until a condition holds; no message may arrive meanwhile."""
        deadline = time.monotonic() + self.timeout
        while not holds():
            assert time.monotonic() < deadline, f"it took longer than {self.timeout} s"
            assert len(backend.poll()) == 0

    def _expect_silence(self, backend: RecordingBackend) -> None:
        for _ in range(IDLE_POLLS):
            assert len(backend.poll()) == 0


def _curves(trials: int) -> list[list[float]]:
    """Curves that cross, so that rankings change and ceilings rise."""
    curves: list[list[float]] = power_laws(trials, RESOURCES, seed=3).values.tolist()
    return curves


def _timeless(log: MemoryLog) -> list[tuple[object, Decision]]:
    return [(replace(event, at=0.0), decision) for event, decision in log.entries]
