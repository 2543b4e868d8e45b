"""The loop between engine and backend."""

import pytest

import rungwise as rw
from rungwise.backends.simulator import Simulator
from rungwise.core.decisions import Run
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.replay import replay
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


# -- several facts at once, recalling, winding down --------------------------------------------


class Batches(Simulator):
    """Tells what happens until a job leaves in one go, as workers that report together do."""

    def __init__(self, log, *arguments, **options):
        super().__init__(*arguments, **options)
        self.log, self.acts, self.told = log, [], 0

    def poll(self):
        facts = []
        for _ in range(self.workers):
            facts += super().poll()
            if any(isinstance(fact, JobEnded) for fact in facts):
                break
        self.told += len(facts)
        return facts

    def answer(self, job, decision):
        self.acts.append((len(self.log.entries), "answer", job, decision))
        super().answer(job, decision)

    def start(self, job):
        self.acts.append((len(self.log.entries), "start", job.id, Run(job)))
        super().start(job)


class CountingLog(MemoryLog):
    """Counts how often it was written to."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def extend(self, entries):
        entries = list(entries)
        self.sizes.append(len(entries))
        super().extend(entries)


def test_what_is_told_at_once_is_appended_at_once_and_then_acted_on():
    log = CountingLog()
    backend = Batches(log, rw.power_laws(30, 9), workers=4, rows=range(30))
    engine = Engine(study(30))
    Driver(engine, backend, log=log).run()
    assert engine.ended is not None
    assert max(log.sizes) >= 4
    assert 0 not in log.sizes
    for length, kind, job, decision in backend.acts:
        known = log.entries[:length]
        assert decision in [answer for _, answer in known], (kind, job)
    replay(engine.study, log.read_from())
    starts = [job for _, kind, job, _ in backend.acts if kind == "start"]
    assert starts == sorted(set(starts)) == list(range(len(engine.jobs)))


def test_every_report_is_answered_with_its_own_decision():
    log = CountingLog()
    backend = Batches(log, rw.power_laws(30, 9), workers=4, rows=range(30))
    Driver(Engine(study(30)), backend, log=log).run()
    decided = [(e.job, d) for e, d in log.entries if isinstance(e, Reported)]
    answered = [(job, d) for _, kind, job, d in backend.acts if kind == "answer"]
    assert answered == decided


def test_a_log_that_cannot_be_written_stops_everything_before_it_is_acted_on():
    class Full(MemoryLog):
        def extend(self, entries):
            if len(self) > 20:
                raise OSError("full")
            super().extend(entries)

    log = Full()
    backend = Batches(log, rw.power_laws(30, 9), workers=2, rows=range(30))
    with pytest.raises(OSError, match="full"):
        Driver(Engine(study(30)), backend, log=log).run()
    decisions = [decision for _, decision in log.entries]
    assert all(decision in decisions for *_, decision in backend.acts)


def test_steps_and_facts_are_told_after_they_were_acted_on():
    told, steps = [], []
    log = MemoryLog()
    backend = Batches(log, rw.power_laws(9, 9), workers=2, rows=range(9))

    def on_fact(fact, decision):
        assert (fact, decision) in log.entries
        if isinstance(fact, Reported):
            assert (fact.job, decision) in [(job, d) for _, _, job, d in backend.acts]
        told.append(fact)

    driver = Driver(
        Engine(study(9)), backend, log=log, on_fact=on_fact, on_step=lambda: steps.append(len(told))
    )
    driver.run()
    assert len(told) == backend.told
    assert steps[-1] == len(told)
    assert len(steps) < len(told)


def test_a_recalled_driver_starts_nothing_more_and_goes_home():
    log = MemoryLog()
    backend = Recorder(log, rw.power_laws(30, 9), workers=3, rows=range(30))
    engine = Engine(study(30))
    driver = Driver(
        engine, backend, log=log, on_step=lambda: engine.reports >= 5 and driver.recall()
    )
    driver.run()
    assert engine.ended is None
    assert engine.open_jobs == []
    requests = [n for n, (event, _) in enumerate(log.entries) if isinstance(event, JobRequested)]
    reports = [n for n, (event, _) in enumerate(log.entries) if isinstance(event, Reported)]
    assert max(requests) < reports[5]


def test_winding_down_takes_in_what_is_still_under_way():
    log = MemoryLog()
    limits = Limits(trials=20, target=10.0)  # the first report is good enough
    rows = [{"row": row} for row in range(20)]
    engine = Engine(Study(rw.RandomSearch(9), limits, initial=rows))
    backend = Recorder(log, rw.power_laws(20, 9), workers=3, rows=range(20))
    driver = Driver(engine, backend, log=log)
    driver.run()
    assert (engine.reports, len(engine.open_jobs)) == (1, 3)
    driver.wind_down()
    assert engine.open_jobs == []
    assert len(backend.acts) == 3
    replay(engine.study, log.read_from())


def test_polls_that_come_back_empty_change_nothing():
    class Drowsy(Simulator):
        naps = 0

        def poll(self):
            self.naps += 1
            return () if self.naps % 2 else super().poll()

    logs = []
    for kind in (Simulator, Drowsy):
        logs.append(MemoryLog())
        backend = kind(rw.power_laws(20, 9), workers=3, rows=range(20))
        Driver(Engine(study(20)), backend, log=logs[-1]).run()
    assert logs[0].entries == logs[1].entries
