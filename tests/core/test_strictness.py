"""What the engine refuses: everything that a log could not hold, before anything has changed."""

import math

import numpy as np
import pytest

import rungwise as rw
from rungwise.core.decisions import Continue, Pause, StartJob, Wait
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.replay import replay
from rungwise.core.study import Study
from rungwise.errors import IllegalEventError, InvalidArgumentError, ReplayMismatchError
from rungwise.searchers import RandomSearcher
from rungwise.storage import MemoryLog


def study(**limits):
    rows = [{"row": row} for row in range(6)]
    return Study(rw.ASHA(max_resource=9), Limits(trials=6, **limits), initial=rows)


def running_engine(**limits):
    engine = Engine(study(**limits))
    engine.handle(JobRequested())
    return engine


FLAWED = [
    Reported(0, 1, np.float32(0.1)),
    Reported(0, 1, "0.1"),
    Reported(0, 1, None),
    Reported(0, 1, True),
    Reported(0, 1, np.array([0.1])),
    Reported(0, np.int64(1), 0.1),
    Reported(0, 0, 0.1),
    Reported(0, -1, 0.1),
    Reported(0, math.nan, 0.1),
    Reported(0, math.inf, 0.1),
    Reported(0, 10**400, 0.1),
    Reported(0, True, 0.1),
    Reported(0.0, 1, 0.1),
    Reported([0], 1, 0.1),
    Reported(np.int64(0), 1, 0.1),
    Reported(True, 1, 0.1),
    Reported(0, 1, 0.1, at=None),
    Reported(0, 1, 0.1, at=math.nan),
    Reported(0, 1, 0.1, cost=-1),
    Reported(0, 1, 0.1, cost=math.nan),
    Reported(0, 1, 0.1, cost=None),
    JobRequested(at=None),
    JobRequested(at=-1.0),
    JobEnded("0"),
    JobLost(None),
    JobFailed(0, reason=None),
    JobFailed(0, reason=ValueError("x")),
    JobEnded(0, at="now"),
    "not an event",
    None,
]


@pytest.mark.parametrize("event", FLAWED, ids=repr)
@pytest.mark.parametrize("limits", [{}, {"cost": 5, "seconds": 100}], ids=["plain", "budgets"])
def test_flawed_events_are_refused_and_change_nothing(event, limits):
    engine = running_engine(**limits)
    with pytest.raises(IllegalEventError):
        engine.handle(event)
    assert (engine.reports, engine.spent, engine.cost, engine.open_jobs) == (0, 0, 0, [0])
    assert list(engine.trials[0].resources) == []
    assert engine.handle(Reported(0, 1, 0.1, at=1.0, cost=1)) == Pause()


def test_a_refusal_tells_the_story_of_the_trial():
    with pytest.raises(IllegalEventError, match=r"trial 0 was drawn with \{'row': 0\}") as refused:
        running_engine().handle(Reported(0, -1, 0.1))
    assert refused.value.story


def test_stories_are_told_in_the_users_sign():
    rows = [{"row": 0}]
    engine = Engine(Study(rw.ASHA(max_resource=9), Limits(trials=1), goal="max", initial=rows))
    engine.handle(JobRequested())
    engine.handle(Reported(0, 0.5, 0.9))
    with pytest.raises(IllegalEventError, match=r"with value 0\.9"):
        engine.handle(Reported(0, -1, 0.1))


def test_a_whole_number_beyond_all_floats_ranks_last():
    engine = running_engine()
    engine.handle(Reported(0, 1, 10**400))
    assert list(engine.trials[0].losses) == [math.inf]
    assert engine.best is None


def test_a_repeated_report_after_the_end_is_told_to_pause():
    engine = running_engine(resource=0.5)
    engine.handle(JobRequested())
    assert engine.handle(Reported(0, 0.25, 0.1)) == Continue()
    assert engine.handle(Reported(1, 0.5, 0.1)) == Pause()  # the budget is used up
    assert engine.handle(Reported(0, 0.25, 0.1)) == Pause()


def test_whoever_trains_may_change_its_configuration():
    engine = Engine(study())
    job = engine.handle(JobRequested()).job
    job.config["row"] = 77
    assert engine.trials[0].config == {"row": 0}
    assert engine.study.initial[0] == {"row": 0}


def searching(trials=12):
    space = {"lr": rw.Float(1e-5, 1, log=True)}
    return Study(
        rw.ASHA(max_resource=9), Limits(trials=trials), space=space, searcher=RandomSearcher()
    )


def test_a_replay_from_recorded_proposals_goes_on_with_the_searcher():
    engine = Engine(searching())
    log = [(JobRequested(), engine.handle(JobRequested())) for _ in range(4)]
    resumed = replay(searching(), log, propose=False)
    for _ in range(4):
        assert resumed.handle(JobRequested()) == engine.handle(JobRequested())
    assert len({trial.config["lr"] for trial in resumed.trials}) == 8


def test_a_replay_from_recorded_proposals_notices_what_differs():
    with pytest.raises(ReplayMismatchError, match="entry 0"):
        replay(searching(), [(JobRequested(), Wait())], propose=False)
    engine = Engine(study())
    log = [(JobRequested(), engine.handle(JobRequested())) for _ in range(6)]
    assert replay(study(), log, propose=False).open_jobs == list(range(6))


def test_the_log_holds_its_study():
    log = MemoryLog()
    result = rw.simulate(rw.power_laws(20, 9), rw.PASHA(), trials=20, seed=3, log=log)
    again = MemoryLog.from_lines(log.to_lines())
    assert again.study == log.study
    assert rw.replay(again).reports == result.reports
    with pytest.raises(InvalidArgumentError, match="it already contains a study"):
        rw.simulate(rw.power_laws(20, 9), rw.PASHA(), trials=20, log=log)
    with pytest.raises(InvalidArgumentError, match="it contains no study"):
        rw.replay(MemoryLog())


def test_the_log_of_a_search_holds_space_and_searcher():
    engine, log = Engine(searching()), MemoryLog(study=searching())
    for _ in range(5):
        event = JobRequested()
        log.append(event, engine.handle(event))
    again = rw.replay(MemoryLog.from_lines(log.to_lines()))
    assert [trial.config for trial in again.trials] == [trial.config for trial in engine.trials]


ROWS = [{"row": 0}]
LIMITS = Limits(trials=1)
BAD_STUDIES = {
    "limits is None": lambda: Study(rw.PASHA(), None, initial=ROWS),
    "scheduler is <class": lambda: Study(rw.PASHA, LIMITS, initial=ROWS),
    "searcher is 'random'": lambda: Study(
        rw.PASHA(), LIMITS, space={"x": rw.Int(1, 2)}, searcher="random"
    ),
    "searcher is None, but space and searcher must be given together": lambda: Study(
        rw.PASHA(), LIMITS, space={"x": rw.Int(1, 2)}
    ),
    "space is None, but a study needs": lambda: Study(rw.PASHA(), LIMITS),
    "initial is 1": lambda: Study(rw.PASHA(), LIMITS, initial=[1]),
    "initial is {'x': nan}": lambda: Study(rw.PASHA(), LIMITS, initial=[{"x": math.nan}]),
    "initial is {'x': (1, 2)}": lambda: Study(rw.PASHA(), LIMITS, initial=[{"x": (1, 2)}]),
    "initial is {1: 2}": lambda: Study(rw.PASHA(), LIMITS, initial=[{1: 2}]),
    "x is 9": lambda: Study(
        rw.PASHA(), LIMITS, space={"x": rw.Int(1, 2)}, searcher=RandomSearcher(), initial=[{"x": 9}]
    ),
    "finish is 'paper', but": lambda: Limits(finish="paper", resource=5),
    "trials is None, but a study needs at least one limit": Limits,
    "seconds is -1": lambda: Limits(seconds=-1),
    "goal is 'least'": lambda: Study(rw.PASHA(), LIMITS, goal="least", initial=ROWS),
}


@pytest.mark.parametrize("message", BAD_STUDIES)
def test_bad_studies_are_refused_before_they_begin(message):
    with pytest.raises(InvalidArgumentError) as refused:
        BAD_STUDIES[message]()
    assert message in str(refused.value)


def test_recipes_hold_plain_numbers():
    recipe = rw.PASHA(
        np.int64(1), np.int64(9), np.int64(3), ranking=rw.rankings.Soft(np.float32(1))
    )
    assert {type(getattr(recipe, name)) for name in ("min_resource", "max_resource", "eta")} == {
        int
    }
    assert type(recipe.ranking.epsilon) is float
    assert type(rw.FixedResource(np.int64(3)).resource) is int
    limits = Limits(trials=np.int64(3), seconds=np.float32(1), target=np.float32(0.5))
    assert [type(x) for x in (limits.trials, limits.seconds, limits.target)] == [int, float, float]
    assert isinstance(Engine(study()).handle(JobRequested()), StartJob)


def test_costs_add_up_with_or_without_a_budget():
    engine = running_engine()
    engine.handle(Reported(0, 0.25, 0.1, cost=2))
    engine.handle(Reported(0, 0.5, 0.1, cost=0.5))
    assert engine.cost == 2.5
