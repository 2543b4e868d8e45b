"""Rush: nobody passes a level at which a configuration known to be good has done better."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_against_oracle import random_table

import rungwise as rw
from rungwise import views
from rungwise.core.decisions import Continue, StartJob, Stop
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError
from rungwise.schedulers import codec

INNER = {
    "pasha": rw.PASHA(max_resource=27),
    "pasha, eta 2, stopping": rw.PASHA(max_resource=27, eta=2, variant="stopping"),
    "pasha of the authors": rw.PASHA(max_resource=27, promote="quantile", check="report"),
    "asha": rw.ASHA(max_resource=27),
    "asha, stopping": rw.ASHA(max_resource=27, eta=2, variant="stopping"),
    "halving": rw.SuccessiveHalving(max_resource=27, eta=2),
    "hyperband": rw.Hyperband(max_resource=27),
    "async hyperband": rw.AsyncHyperband(max_resource=27),
    "random search": rw.RandomSearch(max_resource=27),
}


def loss(value):
    return value if math.isfinite(value) else math.inf


def levels_of(recipe, bracket):
    """The rungs that trials of a bracket stop at, by the definition of each scheduler."""
    if isinstance(recipe, rw.RandomSearch):
        return (27,)
    levels = recipe.ladder.levels
    if isinstance(recipe, rw.Hyperband):
        return levels[bracket % len(levels) :]
    return levels[bracket:] if isinstance(recipe, rw.AsyncHyperband) else levels


class Watch:
    """Reads a log from outside, knowing nothing but the rule."""

    def __init__(self, recipe, brackets, priors):
        self.recipe, self.brackets, self.priors = recipe, brackets, priors
        self.curves, self.trials = {}, {}

    def bar(self, level):
        seen = [self.curves.get(prior, {}).get(level, math.inf) for prior in range(self.priors)]
        return min(seen, default=math.inf)

    def standing(self, trial):
        """The loss and the bar at the rung where a trial stands, if it stands at one."""
        reached = max(self.curves.get(trial, {0: 0}))
        if reached not in levels_of(self.recipe, self.brackets[trial]):
            return None
        return self.curves[trial][reached], self.bar(reached)

    def see(self, event, decision):
        if isinstance(decision, StartJob):
            trial = self.trials[decision.job.id] = decision.job.trial
            self.goes_on(trial)
        if isinstance(event, Reported):
            trial = self.trials[event.job]
            self.curves.setdefault(trial, {})[int(event.resource)] = loss(event.value)
            if isinstance(decision, Continue):
                self.goes_on(trial)
            elif trial >= self.priors:
                assert self.standing(trial) is not None, "nobody is stopped between rungs"

    def goes_on(self, trial):
        stands = self.standing(trial)
        if trial >= self.priors and stands is not None:
            assert stands[0] <= stands[1], f"trial {trial} goes on below the bar: {stands}"


@pytest.mark.no_cover
@settings(max_examples=120)
@given(
    st.sampled_from(sorted(INNER)),
    st.integers(0, 2**32 - 1),
    st.integers(0, 6),
    st.sampled_from(["plain", "ties", "diverged"]),
    st.integers(1, 8),
)
def test_nobody_goes_on_below_the_bar(name, seed, priors, style, workers):
    inner, rows = INNER[name], 40
    values = random_table(np.random.default_rng(seed), rows, 27, style)
    log = rw.MemoryLog()
    recipe = rw.Rush(inner, priors=priors)
    rw.simulate(rw.Table(values), recipe, trials=range(rows), workers=workers, log=log)
    brackets = [trial.bracket for trial in rw.replay(log).trials]
    watch = Watch(inner, brackets, priors)
    for event, decision in log.read_from():
        watch.see(event, decision)


@pytest.mark.no_cover
@settings(max_examples=60)
@given(
    st.sampled_from(sorted(INNER)),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["plain", "ties", "diverged"]),
    st.integers(1, 8),
)
def test_without_priors_it_is_the_inner_scheduler(name, seed, style, workers):
    values = random_table(np.random.default_rng(seed), 40, 27, style)
    logs = []
    for recipe in (INNER[name], rw.Rush(INNER[name], priors=0)):
        logs.append(rw.MemoryLog())
        rw.simulate(rw.Table(values), recipe, trials=range(40), workers=workers, log=logs[-1])
    first, second = ([*log.to_lines()][1:] for log in logs)  # without the study itself
    assert first == second


@pytest.mark.parametrize("name", [name for name in INNER if name != "random search"])
def test_good_priors_save_and_are_followed_as_any_trial(name):
    """The oracle alone would pass a scheduler that promotes nobody."""
    quality = np.random.default_rng(1).permutation(np.arange(60)) / 60
    values = quality[:, None] + 1 / np.arange(1, 28)  # curves that never cross
    priors = np.argsort(quality)[:3].tolist()
    order = [*priors, *sorted(set(range(60)) - set(priors))]
    plain = rw.simulate(rw.Table(values), INNER[name], trials=order)
    rush = rw.simulate(rw.Table(values), rw.Rush(INNER[name], priors=3), trials=order)
    assert rush.rows == plain.rows  # everything is tried all the same
    assert rush.best.row in priors
    if "stopping" in name:
        assert rush.resource_spent <= plain.resource_spent
    else:
        assert {row for row, start, _ in rush.jobs if start > 0} <= set(priors)
        assert any(start > 0 for _, start, _ in rush.jobs)
        assert rush.resource_spent < plain.resource_spent


def test_bad_priors_do_no_harm():
    table = rw.power_laws(60, 27, seed=3)
    order = np.argsort(-table.values[:, 0], kind="stable").tolist()  # the worst first
    plain, rush = (
        rw.simulate(table, recipe, trials=order)
        for recipe in (INNER["pasha"], rw.Rush(INNER["pasha"], priors=3))
    )
    assert rush.jobs == plain.jobs


# -- one move at a time ------------------------------------------------------------------------


def engine_of(recipe, trials=12):
    rows = [{"row": row} for row in range(trials)]
    return Engine(Study(recipe, Limits(trials=trials), initial=rows))


def leg(engine, value, at=None):
    """The next job, with one report where it is to end (or elsewhere)."""
    job = engine.handle(JobRequested()).job
    decision = engine.handle(Reported(job.id, job.until if at is None else at, value))
    if not isinstance(decision, Continue):
        engine.handle(JobEnded(job.id))
    return job, decision


@pytest.mark.parametrize(("value", "promoted"), [(0.5, True), (0.5000001, False)])
def test_equal_to_the_bar_is_good_enough_and_worse_is_not(value, promoted):
    table = rw.Table([[0.5, 0.4], [value, 0.4], [0.9, 0.9], [0.9, 0.9]])
    recipe = rw.Rush(rw.ASHA(max_resource=2, eta=2), priors=1)
    result = rw.simulate(table, recipe, trials=range(4), workers=1)
    assert [row for row, start, _ in result.jobs if start] == ([0, 1] if promoted else [0])
    free = "; no configuration was stopped by comparison with the prior configurations."
    held = (
        "; 1 configuration was not trained further, at levels up to 1, because the prior "
        "configuration had been better"
    )
    assert (free in result.rule, held in result.rule) == (promoted, not promoted)


def test_where_no_prior_has_been_there_is_no_bar():
    engine = engine_of(rw.Rush(rw.ASHA(max_resource=2, eta=2), priors=1), trials=5)
    slow = engine.handle(JobRequested()).job  # the prior, still under way
    leg(engine, 0.9)
    leg(engine, 0.8)
    job, _ = leg(engine, 0.7)
    assert (job.trial, job.until) == (2, 2)
    engine.handle(Reported(slow.id, 1, 0.1))
    engine.handle(JobEnded(slow.id))
    assert engine.handle(JobRequested()).job.trial == 0


def test_a_prior_that_failed_or_diverged_sets_no_bar():
    engine = engine_of(rw.Rush(rw.ASHA(max_resource=2, eta=2), priors=2), trials=6)
    engine.handle(JobFailed(engine.handle(JobRequested()).job.id, "no reason"))
    leg(engine, math.nan)
    leg(engine, 0.9)
    job, _ = leg(engine, 0.8)
    assert (job.trial, job.until) == (2, 2)


def test_where_trials_run_on_they_are_stopped_at_the_rung():
    engine = engine_of(rw.Rush(rw.ASHA(max_resource=9, variant="stopping"), priors=2), trials=4)
    prior, late = (engine.handle(JobRequested()).job for _ in range(2))
    assert isinstance(engine.handle(Reported(prior.id, 1, 0.5)), Continue)
    job, decision = leg(engine, 0.4, at=1)  # the best so far
    assert isinstance(decision, Continue)
    assert isinstance(engine.handle(Reported(prior.id, 3, 0.1)), Continue)
    assert isinstance(engine.handle(Reported(late.id, 1, 0.1)), Continue)
    # Between rungs it does not matter that the bar behind has risen.
    assert isinstance(engine.handle(Reported(job.id, 2, 0.3)), Continue)
    assert isinstance(engine.handle(Reported(job.id, 3, 0.2)), Stop)
    assert isinstance(engine.handle(Reported(prior.id, 9, 0.1)), Stop)


def test_reports_sparser_than_rungs_are_judged_where_they_stand():
    values = [0.5, 0.6, *[0.9] * 5, 0.4, 0.9]
    engine = engine_of(rw.Rush(rw.ASHA(max_resource=27), priors=1), trials=9)
    while isinstance(run := engine.handle(JobRequested()), StartJob):
        job = run.job  # a report at 10 reaches the rungs 1, 3 and 9
        engine.handle(Reported(job.id, job.start + 10, values[job.trial]))
        if job.until > 20:
            engine.handle(Reported(job.id, 27, values[job.trial]))
        engine.handle(JobEnded(job.id))
    assert [job.trial for job in engine.jobs if job.until == 27] == [0, 7]
    assert "1 configuration was not trained further, at levels up to 9" in engine.why()


def test_whoever_waits_for_a_whole_rung_does_not_wait_for_those_held_back():
    engine = engine_of(rw.Rush(rw.SuccessiveHalving(max_resource=9), priors=1), trials=9)
    for number in range(9):
        leg(engine, 0.5 if number == 0 else 0.1 * number)
    # Of 1, 2 and 3 (losses 0.1, 0.2, 0.3) all are better than the prior, which stays behind.
    assert [leg(engine, 0.3)[0].trial for _ in range(3)] == [1, 2, 3]
    assert engine.handle(JobRequested()).job.until == 9
    again = engine_of(rw.Rush(rw.SuccessiveHalving(max_resource=9), priors=1), trials=9)
    for number in range(9):
        leg(again, 0.05 if number == 0 else 0.1 * number)
    job, _ = leg(again, 0.3)
    assert (job.trial, job.until) == (0, 3)
    assert leg(again, 0.2)[0].until == 9
    assert again.handle(JobRequested()).why.startswith("9 configurations were evaluated")
    assert [trial.resource for trial in again.trials] == [9, *[1] * 8]
    assert "2 configurations were not trained further, at levels up to 1" in again.why()


def test_views_see_through_it():
    for inner in (INNER["asha"], INNER["hyperband"]):
        log = rw.MemoryLog()
        recipe = rw.Rush(inner, priors=2)
        rw.simulate(rw.power_laws(20, 27), recipe, trials=range(20), workers=2, log=log)
        engine = rw.replay(log)
        assert [view.level for view in views.rungs(engine)] == [1, 3, 9, 27]
        assert all(views.next_level(engine, trial) != trial.resource for trial in engine.trials)
    assert engine.scheduler.brackets


# -- the recipe --------------------------------------------------------------------------------


def test_it_is_as_long_as_what_it_wraps():
    assert rw.Rush(priors=1).scheduler == rw.PASHA()
    assert rw.Rush(priors=1).max_resource is None
    recipe = rw.Rush(rw.ASHA(min_resource=2, eta=4), priors=1).limited_to(32)
    assert recipe == rw.Rush(rw.ASHA(2, 32, 4), priors=1)
    assert (recipe.min_resource, recipe.eta, recipe.max_resource) == (2, 4, 32)
    plain = rw.Rush(rw.RandomSearch(5), priors=1)
    assert (plain.min_resource, plain.eta) == (1, 3)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"priors": -1}, "priors is -1"),
        ({"priors": 1.5}, "priors is 1.5"),
        ({"priors": True}, "priors is True"),
        ({"scheduler": "asha", "priors": 1}, "a recipe such as"),
        ({"scheduler": rw.ASHA, "priors": 1}, "a recipe such as"),
    ],
)
def test_what_it_does_not_take(arguments, told):
    with pytest.raises(InvalidArgumentError, match=told):
        rw.Rush(**arguments)


def test_it_objects_to_what_the_scheduler_objects_to():
    with pytest.raises(InvalidArgumentError, match="ASHA needs a maximum"):
        rw.Rush(rw.ASHA(), priors=1).build(trials=5)


def test_a_prior_that_fails_sets_no_bar():
    """It looked better than anything can be, and then it failed for good."""

    def furthest(*, fails):
        limits = Limits(trials=12)
        configs = [{"x": number} for number in range(12)]
        study = Study(rw.Rush(rw.ASHA(max_resource=9), priors=1), limits, initial=configs)
        engine, now = Engine(study), 0.0
        while isinstance(decision := engine.handle(JobRequested(now)), StartJob):
            job = decision.job
            for resource in range(int(job.start) + 1, int(job.until) + 1):
                now += 1
                if fails and job.trial == 0 and resource > 1:
                    engine.handle(JobFailed(job.id, "out of memory", now))
                    break
                value = -1.0 if job.trial == 0 else job.trial + 1 / resource
                engine.handle(Reported(job.id, resource, value, now))
            else:
                engine.handle(JobEnded(job.id, now))
        return max(trial.resource for trial in engine.trials[1:])

    assert furthest(fails=False) == 1  # nobody is as good as it was
    assert furthest(fails=True) > 1


@dataclass(frozen=True)
class Ours(rw.rankings.Exact):
    """A criterion of one's own."""


def test_all_that_is_within_is_written_and_read():
    recipe = rw.Rush(rw.Rush(rw.PASHA(ranking=Ours()), priors=1), priors=2)
    document = codec.recipe_to_json(recipe)
    assert document["scheduler"]["scheduler"]["ranking"] == {"type": "Ours"}
    assert codec.list_recipe_types(recipe) == (rw.Rush, rw.Rush, rw.PASHA, Ours)
    assert codec.recipe_from_json(document, types=codec.list_recipe_types(recipe)) == recipe
