"""Views: what they tell of a study at any moment, for every scheduler."""

import math

import pytest

import rungwise as rw
from rungwise import views
from rungwise.core.decisions import CONTINUE, NOTED, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study

RECIPES = [
    rw.PASHA(max_resource=27),
    rw.PASHA(),
    rw.PASHA(max_resource=27, variant="stopping"),
    rw.PASHA(variant="stopping"),
    rw.ASHA(max_resource=20, eta=2),
    rw.ASHA(max_resource=27, variant="stopping"),
    rw.SuccessiveHalving(max_resource=27),
    rw.Hyperband(max_resource=27),
    rw.AsyncHyperband(max_resource=27),
    rw.AdaptiveHalving(max_resource=27),
    rw.FixedResource(3),
    rw.RandomSearch(max_resource=27),
]


def drive(recipe, *, trials=40, goal="min", workers=5):
    """A study on noisy power laws without end; it is handed over after every event."""
    table = rw.power_laws(trials, 300, seed=1, noise=0.05).values
    engine = started(recipe, trials=trials, goal=goal)
    sign = 1 if goal == "min" else -1
    jobs = []
    while True:
        while len(jobs) < workers:
            decision = engine.handle(JobRequested())
            if not isinstance(decision, StartJob):
                break
            jobs.append([decision.job, decision.job.start])
            yield engine
        if not jobs:
            return
        job, resource = leg = jobs.pop(0)
        leg[1] = resource + 1
        value = sign * float(table[job.trial, int(resource) % 300])
        decision = engine.handle(Reported(job.id, leg[1], value))
        yield engine
        if decision == CONTINUE:
            jobs.append(leg)
        else:
            engine.handle(JobEnded(job.id))
            yield engine


def started(recipe=None, *, trials=9, goal="min"):
    initial = [{"x": number} for number in range(trials)]
    recipe = rw.ASHA(max_resource=9) if recipe is None else recipe
    return Engine(Study(recipe, Limits(trials=trials), goal=goal, initial=initial))


def play(engine, *values, failing=False):
    """One job: a report of each value at the next resource, then its end."""
    decision = engine.handle(JobRequested())
    assert isinstance(decision, StartJob)
    job = decision.job
    for step, value in enumerate(values, start=1):
        engine.handle(Reported(job.id, job.start + step, value))
    event = JobFailed(job.id, "boom") if failing else JobEnded(job.id)
    assert engine.handle(event) == NOTED
    return job


@pytest.mark.parametrize("recipe", RECIPES, ids=repr)
@pytest.mark.parametrize("goal", ["min", "max"])
def test_views_agree_with_the_engine_at_every_moment(recipe, goal):
    for index, engine in enumerate(drive(recipe, goal=goal)):
        if index % 13:
            continue
        rows = views.leaderboard(engine)
        assert sorted(row.trial for row in rows) == list(range(len(engine.trials)))
        assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
        if engine.best is not None:
            first = rows[0]
            assert (first.trial, first.value) == (engine.best.id, engine.best_value)
            assert first.resource == engine.best_resource
        check_rungs(engine, goal)
    assert engine.ended is not None
    assert index > 100


def check_rungs(engine, goal):
    """Against the definition, read off the curves the slow way."""
    better = min if goal == "min" else max
    running = [t for t in engine.trials if t.state.value == "running"]
    shown = views.rungs(engine)
    assert sum(rung.running_to for rung in shown) == len(running)
    for rung in shown:
        there = [
            next(value for resource, value in views.curve(trial, goal) if resource >= rung.level)
            for trial in engine.trials
            if trial.resource >= rung.level
        ]
        assert rung.entered == len(there)
        assert rung.best == (better(there) if there else None)
    waiting = [t for t in engine.trials if t.state.value in ("paused", "pausing")]
    paused = sum(trial.resource >= trial.until for trial in waiting)
    assert sum(rung.waiting for rung in shown) == paused
    ceiling = views.ceiling(engine)
    assert [rung.level for rung in shown] == [
        level for level in engine.scheduler.ladder.levels if level <= ceiling
    ]


def test_the_leaderboard_ranks_by_the_best_value_anywhere():
    engine = started(rw.RandomSearch(3), goal="max")
    play(engine, 0.1, 0.9, 0.2)
    play(engine, 0.5, 0.6, 0.7)
    play(engine, math.nan, math.inf, -math.inf)
    play(engine, 0.9, 0.9, 0.9)
    play(engine, 0.3, failing=True)
    play(engine, failing=True)
    rows = views.leaderboard(engine)
    assert [row.trial for row in rows] == [0, 3, 1, 4, 2, 5]
    assert [row.value for row in rows] == [0.9, 0.9, 0.7, 0.3, None, None]
    assert [row.resource for row in rows] == [2, 1, 3, 1, None, None]
    assert [row.reached for row in rows] == [3, 3, 3, 1, 3, 0]
    assert [row.rung for row in rows] == [3, 3, 3, None, 3, None]
    assert [row.state for row in rows] == [*["completed"] * 3, "failed", "diverged", "failed"]
    assert [row.note for row in rows] == ["", "", "", "boom", "", "boom"]
    assert rows[0].config == {"x": 0}
    assert views.leaderboard(engine, 2) == rows[:2]


def test_rungs_count_who_came_who_waits_and_who_is_on_the_way():
    engine = started()
    for value in (0.3, 0.1, 0.2):
        play(engine, value)
    play(engine, failing=True)  # promoted and lost: it stays at 1, where it was
    engine.handle(JobRequested())
    first, second, third = views.rungs(engine)
    assert (first.level, first.entered, first.waiting, first.running_to) == (1, 3, 2, 1)
    assert (second.level, second.entered, second.waiting, second.running_to) == (3, 0, 0, 0)
    assert (third.level, third.best, first.best) == (9, None, 0.1)


def test_a_job_of_a_bracket_is_on_its_way_to_the_bracket_s_own_rung():
    engine = started(rw.AsyncHyperband(max_resource=9), trials=30)
    goals = [engine.handle(JobRequested()).job.until for _ in range(20)]
    assert set(goals) == {1, 3, 9}
    assert [rung.running_to for rung in views.rungs(engine)] == [goals.count(k) for k in (1, 3, 9)]


def test_where_trials_run_on_the_next_rung_counts_not_the_far_end():
    engine = started(rw.PASHA(variant="stopping"))
    job = engine.handle(JobRequested()).job
    assert job.until == 2**53
    assert [rung.running_to for rung in views.rungs(engine)] == [1, 0]
    assert engine.handle(Reported(job.id, 1, 0.5)) == CONTINUE
    assert [rung.running_to for rung in views.rungs(engine)] == [0, 1]


def test_sparse_reports_beyond_the_ceiling_are_shown():
    engine = started(rw.PASHA(max_resource=81))
    job = engine.handle(JobRequested()).job
    engine.handle(Reported(job.id, 30, 0.5))
    shown = views.rungs(engine)
    assert [rung.level for rung in shown] == [1, 3, 9, 27]
    assert [rung.entered for rung in shown] == [1, 1, 1, 1]
    assert [rung.waiting for rung in shown] == [0, 0, 0, 1]


def test_a_trial_paused_between_rungs_because_the_study_ended_waits_for_nothing():
    engine = Engine(Study(rw.ASHA(max_resource=9), Limits(resource=4), initial=[{"x": 0}] * 3))
    for _ in range(3):
        play(engine, 0.5)
    play(engine, 0.4)  # promoted from 1 to 3, told to pause at 2
    assert engine.trials[0].resource == 2
    assert [rung.waiting for rung in views.rungs(engine)] == [2, 0, 0]


def test_a_lost_job_runs_to_nowhere():
    engine = started()
    job = engine.handle(JobRequested()).job
    engine.handle(JobLost(job.id))
    assert [rung.running_to for rung in views.rungs(engine)] == [0, 0, 0]


def test_schedulers_without_a_ladder_have_the_levels_their_jobs_went_to():
    engine = started()
    play(engine, 0.5)
    del engine.scheduler.ladder
    assert [rung.level for rung in views.rungs(engine)] == [1]


def test_nothing_drawn_is_nothing_to_see():
    engine = started(rw.PASHA())
    assert views.leaderboard(engine) == []
    assert [(rung.level, rung.entered) for rung in views.rungs(engine)] == [(1, 0), (3, 0)]
    assert (views.ceiling(engine), views.epsilon(engine)) == (3, None)


def test_ceiling_and_epsilon_are_the_last_ones():
    *_, engine = drive(rw.PASHA(max_resource=27))
    assert len(engine.scheduler.ceilings) > 1
    assert views.ceiling(engine) == engine.scheduler.ceilings[-1][1]
    assert views.epsilon(engine) == engine.scheduler.epsilons[-1][1]


def test_curves_have_the_user_s_sign():
    engine = started(rw.RandomSearch(3), goal="max")
    play(engine, 0.0, 0.7, math.nan)
    (first, second, third) = views.curve(engine.trials[0], "max")
    assert (first, second) == ((1, 0.0), (2, 0.7))
    assert third[0] == 3
    assert math.isnan(third[1])
