"""One row per backend."""

import rungwise as rw
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
