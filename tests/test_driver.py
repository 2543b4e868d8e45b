"""The loop between engine and backend."""

import pytest

import rungwise as rw
from rungwise.backends.messages import Crashed, Ended
from rungwise.backends.simulator import Simulator
from rungwise.core.decisions import CONTINUE, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobLost, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.replay import replay
from rungwise.core.study import Study
from rungwise.driver import Driver, Hooks
from rungwise.storage import MemoryLog


def study(trials):
    rows = [{"row": row} for row in range(trials)]
    return Study(rw.ASHA(max_resource=9), Limits(trials=trials), initial=rows)


class Recorder(Simulator):
    """Notes how long the log was when a job was started or stopped."""

    def __init__(self, log, *arguments, **options):
        super().__init__(*arguments, **options)
        self.log, self.acts, self.running, self.most = log, [], 0, 0

    def start(self, assignment):
        issued = [
            decision.job.id for _, decision in self.log.entries if isinstance(decision, StartJob)
        ]
        self.acts.append((assignment.job, assignment.job in issued))
        self.running += 1
        self.most = max(self.most, self.running)
        super().start(assignment)

    def poll(self):
        said = super().poll()
        self.running -= sum(isinstance(message, Ended) for message in said)
        return said


def test_a_decision_is_in_the_log_before_it_is_acted_on():
    log, table = MemoryLog(), rw.power_laws(20, 9)
    backend = Recorder(log, table, workers=3, rows=range(20))
    Driver(Engine(study(20)), backend, log=log).run()
    assert backend.acts
    assert all(logged for _, logged in backend.acts)
    assert backend.most == 3


def test_an_engine_with_open_jobs_is_refused():
    """No slot of the backend has them: they would never end."""
    engine = Engine(study(20))
    engine.handle(JobRequested())
    with pytest.raises(
        rw.InvalidArgumentError,
        match=r"engine\.open_jobs is .*, but they must be marked as lost first",
    ):
        Driver(engine, Simulator(rw.power_laws(20, 9), workers=2, rows=range(20)))


# -- several facts at once, recalling, winding down --------------------------------------------


class Batches(Simulator):
    """Tells what happens until a job leaves in one go, as workers that report together do."""

    def __init__(self, log, *arguments, **options):
        super().__init__(*arguments, **options)
        self.log, self.acts, self.told = log, [], 0

    def poll(self):
        said = []
        for _ in range(self.workers):
            said += super().poll()
            if any(isinstance(message, Ended) for message in said):
                break
        self.told += len(said)
        return said

    def answer(self, job, go_on):
        self.acts.append((len(self.log.entries), "answer", job, go_on))
        super().answer(job, go_on)

    def start(self, assignment):
        self.acts.append((len(self.log.entries), "start", assignment.job, None))
        super().start(assignment)


def is_logged(log, length, kind, job, go_on):
    """Whether what was done about a job had been decided in the first entries of a log."""
    for event, decision in log.entries[:length]:
        if kind == "start" and isinstance(decision, StartJob) and decision.job.id == job:
            return True
        told = kind == "answer" and isinstance(event, Reported) and event.job == job
        if told and (decision is CONTINUE) == go_on:
            return True
    return False


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
    assert all(is_logged(log, *act) for act in backend.acts)
    replay(engine.study, log.read_from())
    starts = [job for _, kind, job, _ in backend.acts if kind == "start"]
    assert starts == sorted(set(starts)) == list(range(len(engine.jobs)))


def test_every_report_is_answered_with_its_own_decision():
    log = CountingLog()
    backend = Batches(log, rw.power_laws(30, 9), workers=4, rows=range(30))
    Driver(Engine(study(30)), backend, log=log).run()
    decided = [(e.job, d is CONTINUE) for e, d in log.entries if isinstance(e, Reported)]
    answered = [(job, go_on) for _, kind, job, go_on in backend.acts if kind == "answer"]
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
    assert all(is_logged(log, *act) for act in backend.acts)


def test_steps_and_facts_are_told_after_they_were_acted_on():
    told, steps = [], []
    log = MemoryLog()
    backend = Batches(log, rw.power_laws(9, 9), workers=2, rows=range(9))

    def on_fact(fact, decision):
        assert (fact, decision) in log.entries
        if isinstance(fact, Reported):
            answered = [(job, go_on) for _, kind, job, go_on in backend.acts if kind == "answer"]
            assert (fact.job, decision is CONTINUE) in answered
        told.append(fact)

    driver = Driver(
        Engine(study(9)),
        backend,
        log=log,
        hooks=Hooks(on_fact=on_fact, on_step=lambda: steps.append(len(told))),
    )
    driver.run()
    assert len(told) == backend.told
    assert steps[-1] == len(told)
    assert len(steps) < len(told)


def test_a_recalled_driver_starts_nothing_more_and_goes_home():
    log = MemoryLog()
    backend = Recorder(log, rw.power_laws(30, 9), workers=3, rows=range(30))
    engine = Engine(study(30))
    recall = Hooks(on_step=lambda: engine.reports >= 5 and driver.recall())
    driver = Driver(engine, backend, log=log, hooks=recall)
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


# -- slots that come and go ----------------------------------------------------------------------


class Elastic(Simulator):
    """Slots appear and vanish as a list says: so many there are after so many polls."""

    def __init__(self, sizes, *arguments, **options):
        super().__init__(*arguments, workers=0, **options)
        self.sizes, self.polls, self.most, self.starts = sizes, 0, 0, []

    def poll(self):
        self.polls += 1
        self.workers = [size for polls, size in self.sizes if polls <= self.polls][-1]
        return super().poll()

    def start(self, assignment):
        assert self.idle() > 0, "a job is only given to a slot that is ready and free"
        super().start(assignment)
        self.most = max(self.most, len(self._jobs))
        self.starts.append(self.polls)


def test_slots_may_appear_and_vanish():
    sizes = [(0, 0), (5, 1), (20, 4), (60, 2), (120, 3)]
    log = MemoryLog()
    backend = Elastic(sizes, rw.power_laws(40, 9), rows=range(40))
    engine = Engine(study(40))
    Driver(engine, backend, log=log).run()
    assert engine.ended is not None
    assert backend.most == 4
    assert backend.starts[0] == 5  # a slot that appears is given a job at once
    assert backend.starts.count(20) == 3
    replay(engine.study, log.read_from())


def test_who_is_promoted_does_not_depend_on_slots_that_appear_together():
    """All slots at once, or one after the other before anything has happened: the same study."""
    logs = []
    for sizes in ([(0, 3)], [(0, 1), (2, 2), (3, 3)]):
        logs.append(MemoryLog())

        class Silent(Elastic):
            """Nothing happens before all slots are there."""

            def poll(self):
                said = Elastic.poll(self) if self.polls >= 4 else ()
                if self.polls < 4:
                    self.polls += 1
                    self.workers = [n for polls, n in self.sizes if polls <= self.polls][-1]
                return said

        backend = Silent(sizes, rw.power_laws(20, 9), rows=range(20))
        Driver(Engine(study(20)), backend, log=logs[-1]).run()
    assert logs[0].entries == logs[1].entries


def test_a_slot_that_vanishes_with_its_job_costs_the_trial_nothing():
    """Its job is issued again, on whatever slot there is."""

    class Preempted(Simulator):
        gone = False

        def poll(self):
            said = super().poll()
            if not self.gone and self.now > 3 and self._jobs:
                self.gone = True
                job = next(iter(self._jobs))
                del self._jobs[job]
                self.workers -= 1
                return [m for m in said if m.job != job] + [
                    Crashed(job, "its node was preempted", fault="worker")
                ]
            return said

    log = MemoryLog()
    backend = Preempted(rw.power_laws(20, 9), workers=3, rows=range(20))
    engine = Engine(study(20))
    Driver(engine, backend, log=log).run()
    assert engine.ended is not None
    assert [type(event) for event, _ in log.entries].count(JobLost) == 1
    assert all(trial.note == "" for trial in engine.trials)
    replay(engine.study, log.read_from())


def test_a_failure_that_is_held_back_does_not_hold_up_the_end_when_all_slots_have_vanished():
    """Nothing will show any more whether other trials succeed: it is settled as it is."""

    class Vanishing(Simulator):
        polls = 0

        def poll(self):
            self.polls += 1
            assert self.polls < 100, "it waits for a slot that never comes"
            if self.polls != 2:
                return super().poll()
            del self._jobs[2]
            self.workers = 0
            return [Crashed(2, "OSError: [Errno 5] Input/output error")]

    table = rw.power_laws(20, 9)
    limits = Limits(trials=20, target=table.leg(0, 0, 9)[0][4])
    engine = Engine(Study(rw.RandomSearch(9), limits, initial=[{"row": n} for n in range(20)]))
    driver = Driver(engine, Vanishing(table, workers=3, rows=range(20)))
    driver.run()
    assert 2 in engine.open_jobs  # it may be an outage
    driver.halt()
    assert not engine.open_jobs
