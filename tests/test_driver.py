"""The loop between engine and backend."""

import rungwise as rw
from rungwise.backends.simulator import Simulator
from rungwise.core.decisions import Run
from rungwise.core.engine import Engine
from rungwise.core.events import JobRequested
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.driver import Driver
from rungwise.storage import MemoryLog


def study(trials):
    rows = [{"row": row} for row in range(trials)]
    return Study(rw.ASHA(max_resource=9), Limits(trials=trials), initial=rows)


class Recorder(Simulator):
    """Notes how long the log was when a job was started or stopped."""

    def __init__(self, log, *arguments, **options):
        super().__init__(*arguments, **options)
        self.log, self.acts, self.running, self.most = log, [], 0, 0

    def start(self, job):
        logged = any(decision == Run(job) for _, decision in self.log.entries)
        self.acts.append((job.id, logged))
        self.running += 1
        self.most = max(self.most, self.running)
        super().start(job)

    def poll(self):
        facts = super().poll()
        self.running -= sum(type(fact).__name__ == "JobEnded" for fact in facts)
        return facts


def test_a_decision_is_in_the_log_before_it_is_acted_on():
    log, table = MemoryLog(), rw.power_laws(20, 9)
    backend = Recorder(log, table, workers=3, rows=range(20))
    Driver(Engine(study(20)), backend, log=log).run()
    assert backend.acts
    assert all(logged for _, logged in backend.acts)
    assert backend.most == 3


def test_open_jobs_beyond_the_workers_start_nothing_more():
    engine, log = Engine(study(20)), MemoryLog()
    for _ in range(4):
        engine.handle(JobRequested())
    backend = Recorder(log, rw.power_laws(20, 9), workers=2, rows=range(20))
    Driver(engine, backend, log=log).run()
    assert backend.acts == []
