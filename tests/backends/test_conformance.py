"""One row a backend."""

from dataclasses import replace

import pytest

from rungwise.backends import hardware, local
from rungwise.backends.simulator import Simulator
from rungwise.benchmarks import Table
from rungwise.core.decisions import PAUSE
from rungwise.core.events import JobEnded, Reported
from rungwise.errors import IllegalEventError
from rungwise.run import Leg
from rungwise.schedulers import PASHA
from rungwise.testing import BackendConformance
from rungwise.tuning import functions


class TestSimulator(BackendConformance):
    def make_backend(self, curves, workers):
        return Simulator(Table(curves), workers=workers, rows=range(len(curves)))


def player(curves):
    """A training function that plays the curve of its trial."""

    def play(config, run):
        for resource in run.resources():
            run.report(resource, loss=curves[run.trial][resource - 1])

    return play


class TestLocalBackend(BackendConformance):
    """Real processes, without checkpoints: every leg begins at the beginning."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def leg(self, job):
        folder = str(self.folder / f"trial-{job.trial}")
        return Leg(job.id, job.trial, job.start, job.until, None, "loss", "tune", 0, folder)

    def make_backend(self, curves, workers):
        hooks = local.Hooks(leg=self.leg, may_retry=lambda failure: False)
        shares = hardware.share_out(workers, None, devices=())
        function = functions.pack(player(curves))
        return local.LocalBackend(function, hooks, local.Options(shares=shares))


class TestLocalBackendWithCheckpoints(TestLocalBackend):
    """Real processes that go on where they were; only what checkpoints could change is tested."""

    test_it_has_as_many_workers_as_it_was_given = None
    test_an_idle_backend_has_nothing_to_tell = None
    test_a_job_told_to_leave_ends_once = None
    test_workers_work_side_by_side = None

    def make_backend(self, curves, workers):
        def play(config, run):
            for resource in run.resources():
                with run.checkpoint(resource) as folder:
                    (folder / "at").write_text(str(resource))
                run.report(resource, loss=curves[run.trial][resource - 1])

        hooks = local.Hooks(leg=self.leg, may_retry=lambda failure: False)
        shares = hardware.share_out(workers, None, devices=())
        return local.LocalBackend(functions.pack(play), hooks, local.Options(shares=shares))


# -- the suite itself: backends that break a promise, and the check that finds out ---------------


class EndsTwice(Simulator):
    def poll(self):
        facts = super().poll()
        return (*facts, *(fact for fact in facts if isinstance(fact, JobEnded)))


class SkipsAReport(Simulator):
    def poll(self):
        facts = super().poll()
        return [fact for fact in facts if getattr(fact, "resource", 0) != 2]


class EndsByItself(Simulator):
    def _advance(self, time, leg):
        fact = super()._advance(time, leg)
        if fact.resource == 2:
            self._end(fact.job)
        return fact


class ClockFalls(Simulator):
    def poll(self):
        facts = super().poll()
        self.now = self.now % 7
        return facts


class OneAfterTheOther(Simulator):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.queue = []

    def start(self, job):
        self.queue.append(job)

    def poll(self):
        if not self._legs and not self._ended and self.queue:
            super().start(self.queue.pop(0))
        return super().poll()


class TellsOtherValues(Simulator):
    def poll(self):
        facts = super().poll()
        return [replace(f, value=-f.value) if isinstance(f, Reported) else f for f in facts]


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (EndsTwice, "test_a_job_told_to_leave_ends_once"),
        (SkipsAReport, "test_a_job_told_to_leave_ends_once"),
        (SkipsAReport, "test_a_whole_study"),
        (EndsByItself, "test_a_whole_study"),
        (ClockFalls, "test_a_whole_study"),
        (OneAfterTheOther, "test_workers_work_side_by_side"),
        (TellsOtherValues, "test_a_worker_takes_one_job_after_another"),
        (TellsOtherValues, "test_a_whole_study"),
    ],
)
def test_the_suite_notices(kind, check):
    class Row(BackendConformance):
        patience = 0.2

        def make_backend(self, curves, workers):
            return kind(Table(curves), workers=workers, rows=range(len(curves)))

    row = Row()
    row._made = []
    arguments = {"test_a_job_told_to_leave_ends_once": [PAUSE]}.get(check, [])

    def judge():
        if check == "test_a_whole_study":
            row.test_a_whole_study(row._drive(PASHA(max_resource=9), 12, 2))
        else:
            getattr(row, check)(*arguments)

    with pytest.raises((AssertionError, IllegalEventError, ValueError)):
        judge()
