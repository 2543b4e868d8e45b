"""Studies that are extended, against the brute-force oracle: job by job."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_against_oracle import CRITERIA, random_table

import rungwise as rw
from rungwise.backends.simulator import Simulator
from rungwise.core.engine import Engine
from rungwise.core.events import StudyExtended
from rungwise.core.limits import Limits
from rungwise.core.replay import replay
from rungwise.core.study import Study
from rungwise.driver import Driver
from rungwise.views import StudyView

FURTHEST = 40


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    style = draw(st.sampled_from(["plain", "ties", "diverged"]))
    first = draw(st.integers(1, 24))
    maxima = sorted(draw(st.sets(st.integers(1, FURTHEST), min_size=1, max_size=3)))
    more = [draw(st.sampled_from([0, 1, 9, 20])) for _ in range(3)]
    # Each extension has more trials, a higher maximum, or both.
    extensions = [
        (number, maximum)
        for number, maximum in zip(more, [*maxima[1:], None], strict=False)
        if number or maximum
    ]
    return {
        "values": random_table(rng, first + sum(more), FURTHEST, style),
        "first": first,
        "extensions": extensions,
        "workers": draw(st.sampled_from([1, 2, 3, 8])),
        "goal": draw(st.sampled_from(["min", "max"])),
        "max_resource": maxima[0],
        "eta": draw(st.sampled_from([2, 3, 4])),
    }


def run_extended(case, recipe):
    """The engine of a study that was extended whenever it had ended, and its log."""
    rows = list(range(len(case["values"])))
    initial = [{"row": row} for row in rows]
    study = Study(recipe, Limits(trials=case["first"]), goal=case["goal"], initial=initial)
    engine, log, trials = Engine(study), rw.MemoryLog(study=study), case["first"]
    table = rw.Table(case["values"], goal=case["goal"])
    for extension in [None, *case["extensions"]]:
        if extension is not None:
            assert engine.ended is not None
            trials += extension[0]
            event = StudyExtended(Limits(trials=trials), extension[1])
            log.append(event, engine.handle(event))
        Driver(engine, Simulator(table, workers=case["workers"], rows=rows), log=log).run()
    return engine, log


def expect(case, kind, **extra):
    numbers = iter(range(len(case["values"])))
    first = [next(numbers) for _ in range(case["first"])]
    extensions = [
        ([next(numbers) for _ in range(number)], maximum) for number, maximum in case["extensions"]
    ]
    shared = {key: case[key] for key in ("workers", "goal", "max_resource", "eta")}
    values = case["values"].tolist()
    return oracle.run(values, first, kind=kind, extensions=extensions, **shared, **extra)


def check(case, kind, recipe, **extra):
    engine, log = run_extended(case, recipe)
    expected = expect(case, kind, **extra)
    assert [(job.trial, job.start, job.until) for job in engine.jobs] == expected.jobs
    assert list(engine.scheduler.ceilings) == expected.ceilings
    assert [rung.losses for rung in engine.scheduler.rungs] == expected.rungs
    best = StudyView(engine, winner="best").best
    assert (best and (best.trial, best.value, best.resource)) == expected.best
    assert engine.spent == expected.resource_spent
    # Nothing was trained twice: every report brought something new.
    assert engine.spent == sum(trial.resource for trial in engine.trials)
    again = replay(log.study, rw.MemoryLog.from_lines(log.to_lines()).read_from())
    assert again.jobs == engine.jobs
    assert again.why() == engine.why()


def family(case, **more):
    return {"max_resource": case["max_resource"], "eta": case["eta"], **more}


@pytest.mark.no_cover
@given(cases(), st.sampled_from(["floor", "quantile"]), st.sampled_from(["promotion", "stopping"]))
@settings(deadline=None, max_examples=60)
def test_asha_extended(case, promote, variant):
    kinds = {"promote": promote, "variant": variant}
    check(case, "asha", rw.ASHA(**family(case, **kinds)), **kinds)


@pytest.mark.no_cover
@given(
    cases(),
    st.sampled_from(sorted(CRITERIA, key=str)),
    st.sampled_from(["rung", "report"]),
    st.sampled_from(["promotion", "stopping"]),
)
@settings(deadline=None, max_examples=120)
def test_pasha_extended(case, criterion, when, variant):
    kinds = {"check": when, "variant": variant}
    recipe = rw.PASHA(**family(case, ranking=CRITERIA[criterion], **kinds))
    check(case, "pasha", recipe, criterion=criterion, **kinds)


@pytest.mark.no_cover
@given(cases())
@settings(deadline=None, max_examples=60)
def test_successive_halving_extended(case):
    check(case, "sh", rw.SuccessiveHalving(**family(case)))


@given(cases())
@settings(deadline=None, max_examples=30)
def test_fixed_resource_extended(case):
    check(case, "fixed", rw.FixedResource(case["max_resource"]))


def test_a_study_extended_by_trials_is_the_study_that_had_them_from_the_start():
    """With one worker ASHA does not know its last trial before it comes."""
    table = rw.power_laws(27, 9, seed=3)
    case = {"values": table.values, "goal": "min", "workers": 1}
    case |= {"first": 26, "extensions": [(1, None)]}
    engine, _ = run_extended(case, rw.RandomSearch(9))
    whole = rw.simulate(table, rw.RandomSearch(9), trials=list(range(27)), workers=1)
    assert [(job.trial, job.start, job.until) for job in engine.jobs] == whole.jobs
    assert math.isclose(engine.spent, whole.resource_spent)
