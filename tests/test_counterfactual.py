"""Counterfactuals: the simulator is the oracle wherever the curves are known to their ends."""

import functools
import time

import pytest

import rungwise as rw
from rungwise.core.decisions import StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.counterfactual import Counterfactual, _Player, saving, simulate_spending

OTHERS = [
    rw.ASHA(max_resource=60),
    rw.ASHA(max_resource=60, eta=2, min_resource=2),
    rw.ASHA(max_resource=60, promote="quantile"),
    rw.ASHA(max_resource=60, variant="stopping"),
    rw.SuccessiveHalving(max_resource=60),
    rw.Hyperband(max_resource=60),
    rw.AsyncHyperband(max_resource=60),
    rw.RandomSearch(60),
    rw.FixedResource(4),
]


def played(table, recipe, *, workers=4):
    """A study on every row of a table, in order."""
    log = rw.MemoryLog()
    rw.simulate(table, recipe, trials=range(table.rows), workers=workers, log=log)
    return rw.replay(log)


@functools.cache
def whole_curves(seed):
    """A table, and a study that has trained every row of it to the end; nobody changes either."""
    table = rw.Table(rw.power_laws(50, 60, seed=seed, noise=0.05).values)
    return table, played(table, rw.RandomSearch(60))


def engine_with(curves, recipe, *, failing=()):
    """A study whose trials reported the given (resource, value) pairs, run one after another."""
    initial = [{"x": number} for number in range(len(curves))]
    engine = Engine(Study(recipe, Limits(trials=len(curves)), initial=initial))
    for number, curve in enumerate(curves):
        decision = engine.handle(JobRequested())
        assert isinstance(decision, StartJob)
        assert decision.job.trial == number
        job = decision.job.id
        for resource, value in curve:
            engine.handle(Reported(job, resource, value))
        engine.handle(JobFailed(job, "boom") if number in failing else JobEnded(job))
    return engine


@pytest.mark.no_cover
@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize("workers", [1, 4, 9])
def test_on_whole_curves_it_is_the_simulation(other, workers):
    """Rows all take a second a unit, so that the two differ in nothing."""
    for seed in range(4):
        table = rw.Table(rw.power_laws(50, 60, seed=seed, noise=0.05).values)
        engine = played(table, rw.RandomSearch(60))
        there = simulate_spending(engine, other, workers=workers)
        result = rw.simulate(table, other, trials=range(50), workers=workers)
        assert (there.resource, there.seconds) == (result.resource_spent, result.seconds)
        assert there.held == 0
        assert there.reports <= result.reports


@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_job_for_job_it_is_the_simulation(other):
    """Equal totals may hide another order of workers: so every job is compared."""
    for seed in range(3):
        table, finished = whole_curves(seed)
        initial = [{"trial": number} for number in range(50)]
        engine = Engine(Study(other, Limits(trials=50), initial=initial))
        _Player(engine, finished.trials, 7).run()
        result = rw.simulate(table, other, trials=range(50), workers=7)
        assert [(job.trial, job.start, job.until) for job in engine.jobs] == result.jobs


def test_it_plays_values_that_are_maximised():
    values = rw.power_laws(50, 60, seed=3, noise=0.05).values
    up = played(rw.Table(-values, goal="max"), rw.RandomSearch(60))
    down = played(rw.Table(values), rw.RandomSearch(60))
    assert simulate_spending(up, OTHERS[0], workers=3) == simulate_spending(
        down, OTHERS[0], workers=3
    )


def test_a_study_of_pasha_knows_enough_of_its_curves_to_tell_what_asha_spends():
    """Order in the top rungs is guessed there, but not how many go up."""
    for seed in range(5):
        table = rw.Table(rw.power_laws(243, 81, seed=seed, noise=0.002).values)
        engine = played(table, rw.PASHA(max_resource=81))
        there = simulate_spending(engine, rw.ASHA(max_resource=81), workers=4)
        real = rw.simulate(table, rw.ASHA(max_resource=81), trials=range(243), workers=4)
        assert there.resource == pytest.approx(real.resource_spent, rel=0.25)
        furthest = max(trial.resource for trial in engine.trials)
        assert there.held > 0 or furthest == 81


def test_the_time_of_a_unit_is_given():
    engine = played(rw.power_laws(9, 9), rw.RandomSearch(9))
    one, three = (
        simulate_spending(engine, rw.FixedResource(2), workers=2, seconds_per_unit=s)
        for s in (1, 3)
    )
    assert (one.seconds, three.seconds) == (10, 30)  # five rounds of two units
    assert one.resource == three.resource == 18


def test_values_beyond_the_end_of_a_curve_are_held_and_counted():
    # ⌊3/3⌋ of the first rung goes on: trial 1, whose curve ends at 1, to 3. ⌊1/3⌋ of that is 0.
    engine = engine_with([[(1, 0.3)], [(1, 0.1)], [(1, 0.2)]], rw.FixedResource(1))
    there = simulate_spending(engine, rw.ASHA(max_resource=9), workers=1)
    assert there == Counterfactual(resource=5.0, seconds=5.0, held=1, reports=4)


def test_failed_trials_fail_where_their_curves_end():
    # Trial 1 leads, and fails at 2 of 3: it is not promoted again, nobody else is.
    curves = [[(1, 0.3), (2, 0.3), (3, 0.3)], [(1, 0.1), (2, 0.1)], [(1, 0.2), (2, 0.2), (3, 0.2)]]
    engine = engine_with(curves, rw.RandomSearch(3), failing={1})
    there = simulate_spending(engine, rw.ASHA(max_resource=9), workers=1)
    assert there == Counterfactual(resource=4.0, seconds=4.0, held=0, reports=4)


def test_trials_without_a_report_fail_at_once():
    engine = engine_with([[], [], []], rw.RandomSearch(3), failing={0, 1, 2})
    there = simulate_spending(engine, rw.RandomSearch(3), workers=2)
    assert there == Counterfactual(resource=0.0, seconds=0.0, held=0, reports=0)
    assert saving(engine, workers=2).ratio == 1


def test_trials_still_running_are_held_where_they_are():
    engine = Engine(Study(rw.PASHA(max_resource=9), Limits(trials=9), initial=[{"x": 0}]))
    job = engine.handle(JobRequested()).job
    assert simulate_spending(engine, rw.RandomSearch(9), workers=1).resource == 0
    engine.handle(Reported(job.id, 1, 0.5))
    assert simulate_spending(engine, rw.RandomSearch(9), workers=1) == Counterfactual(
        9.0, 9.0, 1, 1
    )


def test_sparse_reports_cost_what_they_cost():
    """Whoever reports every fifth unit cannot be stopped at the first."""
    curve = [(5, 0.4), (10, 0.3)]
    engine = engine_with([curve] * 3, rw.RandomSearch(10))
    there = simulate_spending(engine, rw.FixedResource(1), workers=1)
    assert (there.resource, there.held) == (15, 0)
    # To 3: all are there with their report at 5. To 9: one, with its report at 10.
    there = simulate_spending(engine, rw.ASHA(3, 10), workers=1)
    assert (there.resource, there.held) == (3 * 5 + 5, 0)


def test_nothing_drawn_costs_nothing():
    engine = Engine(Study(rw.PASHA(max_resource=9), Limits(trials=1), initial=[{}]))
    assert simulate_spending(engine, rw.ASHA(max_resource=9), workers=1) == Counterfactual(
        0.0, 0.0, 0, 0
    )
    assert saving(engine, workers=1).ratio == 1


def test_the_study_is_left_as_it_is():
    engine = played(rw.power_laws(40, 27), rw.PASHA(max_resource=27))
    before = (engine.version, engine.reports, [str(trial) for trial in engine.trials])
    simulate_spending(engine, rw.ASHA(max_resource=27), workers=4)
    assert before == (engine.version, engine.reports, [str(trial) for trial in engine.trials])


def test_savings_by_name_take_what_they_can_from_the_study():
    table = rw.Table(rw.power_laws(60, 64, seed=2, noise=0.0, crossings=False).values)
    engine = played(table, rw.PASHA(2, 64, 4, promote="quantile"))
    recipes = {
        "asha": rw.ASHA(2, 64, 4, promote="quantile"),
        "random": rw.RandomSearch(64),
        "halving": rw.SuccessiveHalving(2, 64, 4),
        "hyperband": rw.Hyperband(2, 64, 4),
    }
    for name, recipe in recipes.items():
        there = simulate_spending(engine, recipe, workers=3)
        found = saving(engine, name, workers=3)
        assert (found.resource, found.other) == (engine.spent, there.resource)
        assert (found.held, found.reports) == (there.held, there.reports)
        assert found.ratio == there.resource / engine.spent
    stopping = played(table, rw.PASHA(2, 64, 4, variant="stopping"))
    there = simulate_spending(stopping, rw.ASHA(2, 64, 4, variant="stopping"), workers=3)
    assert saving(stopping, workers=3).other == there.resource


def test_a_saving_says_where_it_comes_from():
    engine = played(rw.Table(rw.power_laws(9, 9).values), rw.FixedResource(1))
    found = saving(engine, "random", workers=2, max_resource=9)
    assert str(found) == "9 spent; random search would have spent 81, 9.00 times as much"
    assert found.how == (
        "random search up to resource 9 was simulated on this study's own curves with 2 workers; "
        "9 of 9 values are estimated: the trial was not trained that far, so its last value was "
        "used."
    )


def test_open_ended_studies_need_a_maximum_to_compare_with():
    engine = played(rw.power_laws(27, 27, noise=0), rw.RandomSearch(27))
    open_ended = Engine(Study(rw.PASHA(), Limits(trials=1), initial=[{}]))
    with pytest.raises(rw.InvalidArgumentError, match="give the maximum up to which ASHA trains"):
        saving(open_ended, workers=1)
    assert saving(open_ended, workers=1, max_resource=9).other == 0
    assert saving(engine, workers=1, max_resource=9).other < saving(engine, workers=1).other


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("scheduler is 'pasha'", lambda engine: saving(engine, "pasha", workers=1)),
        ("workers is 0", lambda engine: saving(engine, workers=0)),
        ("max_resource is 0", lambda engine: saving(engine, workers=1, max_resource=0)),
        (
            "seconds_per_unit is -1",
            lambda engine: simulate_spending(engine, OTHERS[0], workers=1, seconds_per_unit=-1),
        ),
    ],
)
def test_bad_input_is_refused(words, call):
    engine = played(rw.power_laws(3, 3), rw.RandomSearch(3))
    with pytest.raises(rw.InvalidArgumentError, match=words):
        call(engine)


@pytest.mark.no_cover
def test_ten_thousand_trials_take_a_moment():
    engine = played(rw.power_laws(10_000, 27), rw.PASHA(max_resource=27))
    begun = time.process_time()
    there = simulate_spending(engine, rw.ASHA(max_resource=200), workers=16)
    assert time.process_time() - begun < 3
    assert there.resource > 10_000
