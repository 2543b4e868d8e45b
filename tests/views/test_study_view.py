"""A view of a study: it answers what the engine knows, and cannot be used to change it."""

import copy
import pickle

import pytest

import rungwise as rw
from rungwise import views
from rungwise.core.decisions import StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobRequested
from rungwise.core.trials import State
from rungwise.views.ended import EndedStudy
from rungwise.views.study_view import StudyView, TrialView, find_view

RECIPES = [
    rw.PASHA(max_resource=27),
    rw.PASHA(max_resource=27, variant="stopping"),
    rw.ASHA(max_resource=20, eta=2),
    rw.Hyperband(max_resource=27),
    rw.AsyncHyperband(max_resource=27),
    rw.Rush(rw.PASHA(max_resource=27), priors=2),
    rw.Rush(rw.AsyncHyperband(max_resource=27), priors=2),
    rw.RandomSearch(max_resource=27),
]
READ = (
    "goal", "recipe", "limits", "trials", "reports", "resource_spent", "cost", "max_resource",
    "ended", "state", "ending", "why", "numbers", "rule", "way_on", "savings", "explanation",
    "best", "leads", "levels", "common_ladder", "ceilings",
    "ceiling", "epsilons", "epsilon",
)  # fmt: skip
CALLED = ("leaderboard", "rungs", "curves", "jobs")


def played(recipe, *, goal="min", finish="drain", trials=40):
    table = rw.power_laws(trials, 27, seed=1, noise=0.05)
    table = rw.Table(table.values if goal == "min" else -table.values, goal=goal)
    log = rw.MemoryLog()
    rw.simulate(table, recipe, trials=trials, workers=3, log=log, finish=finish)
    return rw.replay(log)


def answers(view):
    told = {name: getattr(view, name) for name in READ}
    told |= {name: getattr(view, name)() for name in CALLED}
    for number in range(view.trials):
        trial = view.trial(number)
        told[number] = (
            trial.id, trial.config, trial.state, trial.resource, trial.note, trial.next_level,
            trial.curve(), trial.story(), view.curve(number),
        )  # fmt: skip
    return told


@pytest.mark.parametrize("goal", ["min", "max"])
@pytest.mark.parametrize("recipe", RECIPES, ids=repr)
def test_a_view_answers_what_the_engine_knows(recipe, goal):
    engine = played(recipe, goal=goal)
    view = StudyView(engine, "error")
    assert (view.metric, view.goal, view.recipe) == ("error", goal, recipe)
    assert (view.trials, view.reports) == (len(engine.trials), engine.reports)
    assert (view.resource_spent, view.cost) == (engine.spent, engine.cost)
    assert view.ended
    assert view.rule.startswith(engine.why())
    assert view.explanation == engine.scheduler.explain()
    best = view.best
    assert (best.trial, best.config) == (engine.best.id, engine.best.config)
    assert (best.value, best.resource) == (engine.best_value, engine.best_resource)
    assert best.checkpoint is None
    assert view.leads == engine.leads
    assert view.ceilings == list(engine.scheduler.ceilings)
    assert view.epsilons == list(engine.scheduler.epsilons)
    assert view.leaderboard(3) == views.leaderboard(engine, 3) == view.leaderboard()[:3]
    assert view.rungs() == views.rungs(engine)
    assert view.levels == tuple(views.list_levels(engine))
    assert view.jobs() == [(job.trial, job.start, job.until) for job in engine.jobs]
    sign = 1 if goal == "min" else -1
    for trial in engine.trials:
        assert view.curve(trial.id) == views.curve(trial, goal) == view.curves()[trial.id]
        told, known = view.trial(trial.id).story(), trial.story(engine.list_jobs(trial.id), sign)
        assert told[:-1] == known[:-1]
        completed = trial.state is State.STOPPED and trial.resource == recipe.max_resource
        assert view.trial(trial.id).state == ("completed" if completed else trial.state.value)
        if trial.state is State.STOPPED:
            end = "completed: trained to the maximum"
            known[-1] = (
                f"it is now {end if completed else 'stopped: by the scheduler or on request'}"
            )
        assert told[-1] == known[-1]
        assert view.trial(trial.id).next_level == views.next_level(engine, trial)
    assert view.max_resource == max(trial.resource for trial in engine.trials)


@pytest.mark.parametrize("finish", ["drain", "paper"])
@pytest.mark.parametrize("recipe", RECIPES, ids=repr)
def test_the_record_of_a_study_answers_as_its_engine_does(recipe, finish):
    engine = played(recipe, finish=finish)
    record = StudyView(EndedStudy.record(engine))
    expected = answers(StudyView(engine))
    assert answers(record) == expected
    again = pickle.loads(pickle.dumps(record))  # noqa: S301 - our own
    assert answers(again) == expected
    assert record.saved_versus("random", workers=2) == again.saved_versus("random", workers=2)


def test_nothing_that_a_view_hands_out_changes_the_study():
    engine = played(rw.PASHA(max_resource=27))
    view = StudyView(engine)
    before = copy.deepcopy(answers(view))
    for told in answers(view).values():
        spoil(told)
    spoil(view.best.config)
    spoil(view.trial(0).config)
    assert answers(view) == before


def spoil(told):
    """Change all that can be changed."""
    if isinstance(told, list):
        for part in told:
            spoil(part)
        told.clear()
    elif isinstance(told, tuple):
        for part in told:
            spoil(part)
    elif isinstance(told, dict):
        for part in told.values():
            spoil(part)
        told["row"] = "spoilt"
    elif isinstance(told, views.Row):
        spoil(told.config)


@pytest.mark.parametrize("kind", [StudyView, TrialView])
def test_a_view_has_no_way_to_act(kind):
    public = {name for name in dir(kind) if not name.startswith("_")}
    assert not public & {"handle", "engine", "scheduler", "study", "proposer"}
    for name in public:
        found = getattr(kind, name)
        assert not isinstance(found, property) or found.fset is None
    engine = played(rw.PASHA(max_resource=27))
    view = StudyView(engine) if kind is StudyView else StudyView(engine).trial(0)
    with pytest.raises(AttributeError):
        view.anything = 1


def test_a_view_follows_a_running_study():
    engine = Engine(played(rw.ASHA(max_resource=9)).study)
    view = StudyView(engine)
    assert (view.trials, view.ended, view.best, view.curves()) == (0, False, None, {})
    decision = engine.handle(JobRequested())
    assert isinstance(decision, StartJob)
    assert (view.trials, view.trial(0).state, view.trial(0).next_level) == (1, "running", 1)
    engine.handle(JobEnded(decision.job.id))
    assert view.trial(0).state == "ended"


def test_curves_that_no_engine_has_run_are_read_alike():
    nan = float("nan")
    curves = [({"row": 3}, [0.5, 0.2]), ({"row": 1}, []), ({"row": 2}, [nan, 0.9])]
    view = StudyView(EndedStudy.from_curves(curves, "max", "It was a test."))
    assert [row.trial for row in view.leaderboard()] == [2, 0, 1]
    assert (view.best.trial, view.best.value, view.best.resource) == (2, 0.9, 2)
    assert view.curve(0) == [(1, 0.5), (2, 0.2)]
    assert (view.curve(1), view.trial(1).state, view.trial(0).state) == ([], "new", "stopped")
    assert str(view.curve(2)) == "[(1.0, nan), (2.0, 0.9)]"
    assert (view.reports, view.resource_spent, view.max_resource) == (4, 4, 2)
    assert (view.rungs(), view.ceilings, view.why) == ([], [], "It was a test.")
    nothing = StudyView(EndedStudy.from_curves([], "min"))
    assert (nothing.trials, nothing.best, nothing.leaderboard()) == (0, None, [])
    with pytest.raises(rw.InvalidArgumentError, match="open-ended"):
        view.saved_versus(workers=1)
    with pytest.raises(TypeError, match="none can be built"):
        view.recipe.build(trials=3)
    assert view.recipe.limited_to(9).max_resource == 9


def test_views_are_found_in_whatever_came_of_a_study():
    engine = played(rw.PASHA(max_resource=27))
    view = StudyView(engine)
    assert find_view(view) is view
    assert find_view(engine).jobs() == view.jobs()
    result = rw.simulate(rw.power_laws(9, 9), rw.ASHA(), trials=9)
    assert find_view(result) is result.view
    assert find_view("study.db") is find_view(None) is find_view(object()) is None


def test_views_say_what_they_are_of():
    view = StudyView(played(rw.PASHA(max_resource=27)), "error")
    assert repr(view) == f"<view of 40 trials: {view.reports} reports of error>"
    assert repr(view.trial(3)).startswith("<trial 3: ")
