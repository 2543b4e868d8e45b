"""The conformance suite of backends, to subclass in a test module.

Example::

    class TestMyBackend(BackendConformance):
        def make_backend(self, curves, workers):
            return MyBackend(Playing(curves), workers)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from rungwise.backends.base import Backend, Fact
from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table
from rungwise.core.decisions import CONTINUE, PAUSE, STOP, Decision, Job
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, Reported
from rungwise.core.limits import Limits
from rungwise.core.replay import replay
from rungwise.core.scheduling import Recipe
from rungwise.core.study import Study
from rungwise.driver import Driver
from rungwise.schedulers import ASHA, PASHA
from rungwise.simulation import simulate
from rungwise.storage.memory import MemoryLog

Curves = Sequence[Sequence[float]]

RESOURCES = 9
IDLE_POLLS = 2
"""How often an idle backend is asked whether it has made something up."""


class Witness:
    """Stands between a driver and a backend, and writes down what both say.

    Args:
        backend: whom to watch.

    Attributes:
        facts: all that the backend told, in order.
        jobs: all that it was given, by number.
        answers: what was answered, in order: (job, decision).
        clock: what its clock showed, whenever somebody looked.
        most: how many jobs were with it at a time, at most.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.facts: list[Fact] = []
        self.jobs: dict[int, Job] = {}
        self.answers: list[tuple[int, Decision]] = []
        self.clock: list[float] = []
        self.most = self._running = 0

    @property
    def workers(self) -> int:
        """How many jobs run at a time."""
        return self._backend.workers

    @property
    def now(self) -> float:
        """Seconds since the study began."""
        self.clock.append(self._backend.now)
        return self.clock[-1]

    def start(self, job: Job) -> None:
        """Run a job on a free worker."""
        self.jobs[job.id] = job
        self._running += 1
        self.most = max(self.most, self._running)
        self._backend.start(job)

    def answer(self, job: int, decision: Decision) -> None:
        """Tell a job what was decided on its report."""
        self.answers.append((job, decision))
        self._backend.answer(job, decision)

    def poll(self) -> Sequence[Fact]:
        """What happened since."""
        facts = self._backend.poll()
        self.facts += facts
        self._running -= sum(not isinstance(fact, Reported) for fact in facts)
        _ = self.now
        return facts


class BackendConformance:
    """Subclass it and give :meth:`make_backend`.

    Attributes:
        patience: how many seconds a backend may take over what it is asked.
    """

    patience: ClassVar[float] = 60.0

    def make_backend(self, curves: Curves, workers: int) -> Backend:
        """A backend on which trial k yields ``curves[k][r - 1]`` after resource r = 1, 2, ….

        A trial is trained as far as its curve goes, unless it is told to leave before. If the
        backend has a ``close`` method it is called in the end.
        """
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _close_afterwards(self) -> Iterator[None]:
        self._made: list[Any] = []
        yield
        for backend in self._made:
            if hasattr(backend, "close"):
                backend.close()

    def _new(self, curves: Curves, workers: int) -> Witness:
        self._made.append(self.make_backend(curves, workers))
        return Witness(self._made[-1])

    # -- jobs by hand --------------------------------------------------------------------------

    def test_it_has_as_many_workers_as_it_was_given(self) -> None:
        """What it says of itself."""
        assert self._new(_curves(3), 3).workers == 3

    def test_an_idle_backend_has_nothing_to_tell(self) -> None:
        """Asking comes back, empty-handed."""
        backend = self._new(_curves(3), 1)
        self._hear_nothing_more(backend)
        assert backend.clock[0] >= 0

    @pytest.mark.parametrize("decision", [PAUSE, STOP], ids=["pause", "stop"])
    def test_a_job_told_to_leave_ends_once(self, decision: Decision) -> None:
        """Not before it was told to, and nothing comes after."""
        curves = _curves(2)
        backend = self._new(curves, 1)
        backend.start(Job(0, 1, {"row": 1}, 0, RESOURCES))
        for resource in (1, 2, 3):
            (fact,) = self._next(backend)
            assert replace(fact, at=0.0) == Reported(0, resource, curves[1][resource - 1])
            backend.answer(0, decision if resource == 3 else CONTINUE)
        (fact,) = self._next(backend)
        assert isinstance(fact, JobEnded)
        assert fact.job == 0
        self._hear_nothing_more(backend)

    def test_a_worker_takes_one_job_after_another(self) -> None:
        """The next leg of the same trial tells what lies beyond the last one."""
        curves = _curves(1)
        backend = self._new(curves, 1)
        for number, (start, until) in enumerate([(0, 2), (2, 3), (3, 5)]):
            backend.start(Job(number, 0, {"row": 0}, start, until))
            for resource in range(start + 1, until + 1):
                (fact,) = self._next(backend)
                assert replace(fact, at=0.0) == Reported(number, resource, curves[0][resource - 1])
                backend.answer(number, PAUSE if resource == until else CONTINUE)
            (fact,) = self._next(backend)
            assert isinstance(fact, JobEnded)
            assert fact.job == number

    def test_workers_work_side_by_side(self) -> None:
        """Nobody waits for the end of another's job."""
        backend = self._new(_curves(3), 3)
        for number in range(3):
            backend.start(Job(number, number, {"row": number}, 0, RESOURCES))
        first: set[int] = set()
        while len(first) < 3:
            first |= {fact.job for fact in self._next(backend)}
            assert not any(isinstance(fact, JobEnded) for fact in backend.facts)
        for number in range(3):
            backend.answer(number, PAUSE)
        ended: list[int] = []
        while len(ended) < 3:
            ended += [fact.job for fact in self._next(backend) if isinstance(fact, JobEnded)]
        assert sorted(ended) == [0, 1, 2]

    # -- whole studies -------------------------------------------------------------------------

    @pytest.fixture(params=[1, 2], ids=["one worker", "two workers"])
    def driven(self, request: pytest.FixtureRequest) -> tuple[Witness, MemoryLog]:
        """A study that was run to its end."""
        return self._drive(PASHA(max_resource=RESOURCES), 12, request.param)

    def test_a_whole_study(self, driven: tuple[Witness, MemoryLog]) -> None:
        """All that must be true of one, looked at in one go since backends may be slow."""
        backend, log = driven
        self._reports_come_in_order(backend)
        self._jobs_end_once_and_for_all(backend)
        self._time_does_not_fall(backend)
        assert 1 <= backend.most <= backend.workers
        self._decisions_are_the_engines(backend, log)

    def test_trials_that_run_on_until_they_are_stopped(self) -> None:
        """The same of the variant for hosts that cannot pause."""
        recipe = ASHA(max_resource=RESOURCES, variant="stopping")
        backend, log = self._drive(recipe, 9, 1)
        self._reports_come_in_order(backend)
        self._jobs_end_once_and_for_all(backend)
        self._decisions_are_the_engines(backend, log)
        assert STOP in [decision for _, decision in backend.answers]

    def _drive(self, recipe: Recipe, trials: int, workers: int) -> tuple[Witness, MemoryLog]:
        study = Study(
            recipe, Limits(trials=trials), initial=[{"row": row} for row in range(trials)]
        )
        engine, log = Engine(study), MemoryLog(study=study)
        backend = self._new(_curves(trials), workers)
        Driver(engine, backend, log=log).run()
        assert engine.ended is not None
        return backend, log

    def _reports_come_in_order(self, backend: Witness) -> None:
        curves = _curves(1 + max(job.trial for job in backend.jobs.values()))
        for job in backend.jobs.values():
            reports = [
                (fact.resource, fact.value)
                for fact in backend.facts
                if isinstance(fact, Reported) and fact.job == job.id
            ]
            start = int(job.start)
            values = curves[job.trial][start : start + len(reports)]
            assert reports == list(enumerate(values, start=start + 1)), f"of job {job.id}"

    def _jobs_end_once_and_for_all(self, backend: Witness) -> None:
        told = {job: decision for job, decision in backend.answers if decision != CONTINUE}
        assert len(told) == sum(decision != CONTINUE for _, decision in backend.answers)
        for number in backend.jobs:
            facts = [fact for fact in backend.facts if getattr(fact, "job", None) == number]
            kinds = [type(fact) for fact in facts]
            assert kinds.count(JobEnded) == 1, f"job {number}"
            assert kinds[-1] is JobEnded, f"job {number}"
            assert set(kinds) == {Reported, JobEnded}, f"job {number}"
            assert number in told, f"job {number} left before it was told to"

    def _time_does_not_fall(self, backend: Witness) -> None:
        assert backend.clock == sorted(backend.clock)
        times = [fact.at for fact in backend.facts]
        assert times == sorted(times)
        assert times[0] >= 0
        assert times[-1] <= backend.clock[-1]

    def _decisions_are_the_engines(self, backend: Witness, log: MemoryLog) -> None:
        """A replay, a bare engine, and the simulator where there is one order of events only."""
        replay(log.study, log.read_from())
        engine = Engine(log.study)
        again = [engine.handle(event) for event, _ in log.entries]
        assert again == [decision for _, decision in log.entries]
        if backend.workers == 1:
            trials = len(log.study.initial)
            simulated = MemoryLog()
            table = Table(_curves(trials))
            recipe = log.study.scheduler
            simulate(table, recipe, trials=range(trials), workers=1, log=simulated)
            assert _timeless(log) == _timeless(simulated)

    # -- waiting -------------------------------------------------------------------------------

    def _next(self, backend: Witness) -> Sequence[Fact]:
        """What the backend tells next, waited for."""
        deadline = time.monotonic() + self.patience
        while time.monotonic() < deadline:
            facts = backend.poll()
            if facts:
                return facts
        raise AssertionError(f"nothing was heard of the backend for {self.patience} s")

    def _hear_nothing_more(self, backend: Witness) -> None:
        for _ in range(IDLE_POLLS):
            assert len(backend.poll()) == 0


def _curves(trials: int) -> list[list[float]]:
    """Curves that cross, so that rankings change and ceilings rise."""
    curves: list[list[float]] = power_laws(trials, RESOURCES, seed=3).values.tolist()
    return curves


def _timeless(log: MemoryLog) -> list[tuple[object, Decision]]:
    return [(replace(event, at=0.0), decision) for event, decision in log.entries]
