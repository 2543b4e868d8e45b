"""When what happened: rises of the ceiling, jobs on workers, and requests."""

from itertools import pairwise

from core.stories import curves, recorded, study_of

import rungwise as rw
from rungwise.core.engine import Engine
from rungwise.core.events import (
    ConfigurationsAdded,
    JobEnded,
    JobFailed,
    JobLost,
    JobRequested,
    Reported,
    StudyExtended,
    TrialStopped,
)
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.core.timeline import AppliedRequest, Rise
from rungwise.searchers import RandomSearcher

VALUES = curves(12, 9)


def test_every_rise_of_the_ceiling_is_kept_with_its_time_and_its_reason():
    study, engine, log = recorded(rw.PASHA(max_resource=9), VALUES)
    rises = engine.timeline.rises
    assert [(rise.reports, rise.level) for rise in rises] == list(engine.scheduler.ceilings)
    assert len(rises) > 1
    assert rises[0] == Rise(0, engine.scheduler.ceilings[0][1], 0.0, 0, "")
    again = Engine(study)
    for event, _ in log.read_from(0):
        known = len(again.timeline.rises)
        again.handle(event)
        for rise in again.timeline.rises[known:]:
            assert (rise.at, rise.spent) == (event.at, again.spent)
            assert rise.why == again.scheduler.explain()
    assert again.timeline.rises == rises


def test_a_higher_maximum_is_a_rise():
    _, engine, _ = recorded(rw.ASHA(max_resource=9), VALUES)
    engine.handle(StudyExtended(engine.study.limits, max_resource=27, at=99.0))
    why = "the ceiling is fixed at 27"
    assert engine.timeline.rises[1:] == [Rise(engine.reports, 27, 99.0, engine.spent, why)]


def test_a_job_is_drawn_on_the_first_worker_that_is_free_with_what_became_of_it():
    engine = Engine(study_of(rw.ASHA(max_resource=9, min_resource=3), VALUES))
    for job in range(4):
        engine.handle(JobRequested(float(job)))
    engine.handle(Reported(1, 3, 0.5, 5.0))
    events = [JobEnded(1, 6.0), JobFailed(0, "it broke", 6.0), JobLost(2, 7.0), JobEnded(3, 8.0)]
    for event in events:
        engine.handle(event)
    timeline = engine.timeline
    outcomes = [timeline.outcome(job) for job in range(4)]
    assert outcomes == ["failed", "paused", "lost", "ended"]
    engine.handle(JobRequested(9.0))
    engine.handle(JobRequested(9.0))
    assert timeline.slots.tolist() == [0, 1, 2, 3, 0, 1]
    assert timeline.workers == 4
    assert timeline.outcome(5) == ""
    engine.handle(TrialStopped(2, "failed", "seen enough", at=10.0))
    engine.handle(JobEnded(4, 11.0))
    assert engine.jobs[4].trial == 2  # it was lost, so it is started again first
    assert timeline.outcome(4) == "failed"
    assert timeline.has_jobs(6)
    assert not timeline.has_jobs(5)


def test_a_job_is_on_no_worker_that_has_one():
    _, engine, _ = recorded(rw.PASHA(max_resource=9), VALUES, workers=4)
    timeline = engine.timeline
    assert timeline.workers == 4
    lines = {}
    for job in engine.jobs:
        number = job.id
        lines.setdefault(timeline.slots[number], []).append(number)
    for line in lines.values():
        for before, after in pairwise(line):
            assert timeline.ends[before] <= timeline.starts[after]


def test_what_people_asked_for_is_kept():
    space, searcher = rw.Space.parse({"x": rw.Float(0, 1)}), RandomSearcher()
    study = Study(rw.ASHA(max_resource=9), Limits(trials=2), space=space, searcher=searcher)
    engine = Engine(study)
    engine.handle(JobRequested(0.0))
    engine.handle(ConfigurationsAdded(({"x": 0.5}, {"x": 0.25}), at=1.0))
    engine.handle(TrialStopped(0, reason="seen enough", at=2.0))
    engine.handle(StudyExtended(Limits(trials=9), at=3.0))
    assert engine.timeline.requests == [
        AppliedRequest(1.0, "added", 2),
        AppliedRequest(2.0, "stopped", 0, "seen enough"),
        AppliedRequest(3.0, "extended", 0),
    ]
