"""Early stopping: a trial ends with the first report that is ``patience`` after its best one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.core.decisions import CONTINUE, STOP, Done, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobLost, JobRequested, Reported, StudyExtended
from rungwise.core.limits import Limits
from rungwise.core.replay import replay
from rungwise.core.study import Study
from rungwise.core.trials import State
from rungwise.errors import InvalidArgumentError
from rungwise.schedulers import EarlyStopping

VALUES = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4, math.nan, math.inf, -math.inf])


def begin(patience, maximum, goal="min", trials=1):
    configs = [{"x": number} for number in range(trials)]
    study = Study(EarlyStopping(patience, maximum), Limits(trials=trials), goal, initial=configs)
    return Engine(study)


def find_end(curve, patience, maximum, goal):
    """Where a curve ends, written down as the rule says it."""
    sign = 1 if goal == "min" else -1
    for count, (resource, _) in enumerate(curve, 1):
        finite = [(at, sign * value) for at, value in curve[:count] if math.isfinite(value)]
        best = min((value for _, value in finite), default=math.inf)
        at = next((at for at, value in finite if value == best), 0)
        if resource >= maximum or resource - at >= patience:
            return resource
    return None


@given(
    st.lists(st.tuples(st.sampled_from([0.5, 1, 2, 3]), VALUES), min_size=1, max_size=30),
    st.integers(1, 8),
    st.integers(1, 30),
    st.sampled_from(["min", "max"]),
)
@pytest.mark.no_cover
def test_it_ends_where_the_rule_says(steps, patience, maximum, goal):
    """Sparse and dense reports, also between whole numbers and beyond the maximum."""
    curve, resource = [], 0.0
    for step, value in steps:
        resource += step
        curve.append((resource, value))
    end = find_end(curve, patience, maximum, goal)
    engine, entries = begin(patience, maximum, goal), []

    def handle(event):
        entries.append((event, engine.handle(event)))
        return entries[-1][1]

    handle(JobRequested(0.0))
    for at, (resource, value) in enumerate(curve, 1):
        decision = handle(Reported(0, resource, value, float(at)))
        assert decision == (STOP if resource == end else CONTINUE)
        if resource == end:
            handle(JobEnded(0, at + 0.5))
            handle(JobRequested(at + 0.6))
            assert engine.ended is not None
            assert engine.trials[0].state is State.STOPPED
            break
    again = replay(engine.study, entries)
    assert again.trials[0].resource == engine.trials[0].resource
    assert again.ended == engine.ended


def test_a_job_that_is_lost_goes_on_counting():
    engine = begin(3, 27)
    engine.handle(JobRequested(0.0))
    for at, value in enumerate([3.0, 1.0, 2.0], 1):
        assert engine.handle(Reported(0, at, value)) == CONTINUE
    engine.handle(JobLost(0, 4.0))
    assert isinstance(engine.handle(JobRequested(4.0)), StartJob)
    assert engine.handle(Reported(1, 2, 9.0, 5.0)) == CONTINUE  # known already
    assert engine.handle(Reported(1, 4, 2.0, 6.0)) == CONTINUE
    assert engine.handle(Reported(1, 5, 2.0, 7.0)) == STOP


def test_a_higher_maximum_revives_none_that_were_stopped_early():
    engine = begin(2, 4, trials=2)
    for job, values in enumerate([(0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3)]):
        engine.handle(JobRequested(0.0))
        for at, value in enumerate(values, 1):
            decision = engine.handle(Reported(job, at, value, 1.0))
        assert decision == STOP
        engine.handle(JobEnded(job, 2.0))
    engine.handle(JobRequested(3.0))
    assert engine.ended is not None
    engine.handle(StudyExtended(Limits(trials=2), 9, 4.0))
    job = engine.handle(JobRequested(5.0)).job
    assert (job.trial, job.start, job.until) == (0, 4, 9)
    assert engine.handle(Reported(job.id, 5, 0.1, 6.0)) == CONTINUE
    assert engine.handle(Reported(job.id, 6, 0.1, 7.0)) == STOP
    engine.handle(JobEnded(job.id, 8.0))
    assert engine.handle(JobRequested(9.0)) == Done(engine.ended)


@pytest.mark.parametrize("patience", [0, -1, 2.5, "x", None, True])
def test_patience_is_a_whole_number(patience):
    with pytest.raises(InvalidArgumentError, match="patience"):
        EarlyStopping(patience)


def test_it_needs_a_maximum():
    with pytest.raises(InvalidArgumentError, match="EarlyStopping needs a maximum"):
        EarlyStopping(2).build(trials=1)
    assert EarlyStopping(2).limited_to(9) == EarlyStopping(2, 9)
