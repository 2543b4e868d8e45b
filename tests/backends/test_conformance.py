"""One row per backend."""

from functools import partial

from tcp_launcher import open_over_tcp

import rungwise as rw
from rungwise.backends.base import PreparedBackend
from rungwise.backends.shipping import pack
from rungwise.backends.simulator import Simulator
from rungwise.benchmarks import Table
from rungwise.testing import (
    BackendConformance,
    ProcessBackendConformance,
    TrainingBackendConformance,
)


class TestSimulator(BackendConformance):
    def make_backend(self, curves, workers):
        return Simulator(Table(curves), workers=workers, rows=range(len(curves)))


class TestThreads(TrainingBackendConformance):
    grace = 0.5

    def make_recipe(self, workers):
        return rw.Threads(workers)


class TestLocal(ProcessBackendConformance):
    """Real processes."""

    def make_recipe(self, workers):
        return rw.Local(workers=workers)


class OverTcp:
    """A backend whose workers connect by themselves, and which no signal reaches."""

    def __init__(self, workers):
        self.workers = workers

    def prepare(self, train):
        return PreparedBackend(self.workers, partial(open_over_tcp, pack(train), self.workers))


class TestOverTcp(ProcessBackendConformance):
    """What a launcher on other machines will do: workers that connect with a token."""

    def make_recipe(self, workers):
        return OverTcp(workers)


class TestLocalWithCheckpoints(TestLocal):
    """Jobs that go on where they were; only what checkpoints could change is tested."""

    def make_backend(self, curves, workers):
        def play(config, run):
            for resource in run.resources():
                with run.checkpoint(resource) as folder:
                    (folder / "at").write_text(str(resource))
                run.report(resource, loss=curves[run.trial][resource - 1])

        return self._opened(play, workers)


for name in dir(TestLocal):
    if name.startswith("test_") and name not in (
        "test_a_worker_takes_one_job_after_another",
        "test_a_whole_study",
        "test_trials_that_run_on_until_they_are_stopped",
    ):
        setattr(TestLocalWithCheckpoints, name, None)
