"""What people ask of a study: configurations of their own, and trials that are to stop."""

import pytest
from core.stories import Story, curves, drive, snapshot

import rungwise as rw
from rungwise import ASHA, PASHA, Hyperband, RandomSearch, SuccessiveHalving
from rungwise.core.codec import event_from_json, event_to_json
from rungwise.core.decisions import Continue, Done, Noted, Stop, Wait
from rungwise.core.engine import Engine
from rungwise.core.events import ConfigurationsAdded, StudyExtended, TrialStopped
from rungwise.core.limits import Limits
from rungwise.core.replay import lost_jobs, replay
from rungwise.core.study import Study
from rungwise.core.trials import State
from rungwise.errors import IllegalEventError, SchemaError
from rungwise.searchers import Grid, RandomSearcher
from rungwise.storage import MemoryLog

SPACE = {"row": rw.Int(0, 999)}
VALUES = curves(30, 9, seed=4)


def study_with_space(recipe=None, *, trials=4, searcher=None, initial=(), **limits):
    space = rw.Space.parse(SPACE)
    return Study(
        recipe or ASHA(max_resource=9),
        Limits(trials=trials, **limits),
        space=space,
        searcher=searcher or RandomSearcher(),
        initial=initial,
    )


def added(*rows, request="r1"):
    return ConfigurationsAdded(tuple({"row": row} for row in rows), request)


def rows_of(engine):
    return [trial.config["row"] for trial in engine.trials]


def test_added_configurations_come_next_and_on_top_of_the_number_of_trials():
    study = study_with_space(initial=[{"row": 500}, {"row": 501}])
    plain = Story(None, study=study)
    plain.start(4)
    story = Story(None, study=study)
    story.start(1)
    assert story.send(added(7, 8)) == Noted()
    assert story.start(5) == [1, 2, 3, 4, 5]
    first, second, third, fourth = rows_of(plain.engine)
    # The initial ones still come first; the searcher proposes by the number of the trial.
    assert rows_of(story.engine)[:4] == [first, second, 7, 8]
    assert len(story.engine.trials) == 6
    assert isinstance(story.ask(), Wait)
    assert story.engine.study.limits.trials == 4  # what was asked for stays
    assert (third, fourth) != (7, 8)


def test_a_drained_study_goes_on_with_them_and_one_that_is_over_for_another_reason_does_not():
    story = Story(RandomSearch(1), study=study_with_space(RandomSearch(1), trials=1, target=-9.0))
    story.start(1)
    story.reach(1, {0: 0.5})
    assert isinstance(story.ask(), Done)
    story.send(added(7))
    assert story.ask() == (1, 0, 1)
    assert story.report(1, 1, -10.0) == Stop()
    story.end(1)
    assert "the target -9 was reached" in story.engine.ended
    story.send(added(8, request="r2"))
    assert isinstance(story.ask(), Done)
    story.send(StudyExtended(Limits(trials=1, target=-99.0)))
    assert story.ask() == (2, 0, 1)
    assert rows_of(story.engine)[1:] == [7, 8]


def test_after_a_space_that_is_used_up_they_are_still_drawn():
    study = study_with_space(RandomSearch(1), trials=9, searcher=Grid(2))
    story = Story(None, study=study)
    drawn = 0
    while not isinstance(decision := story.ask(), (Wait, Done)):
        drawn += 1
        assert decision
    assert drawn < 9
    story.send(added(7))
    assert story.ask() == (drawn, 0, 1)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (ConfigurationsAdded(({"row": 1000},)), "row"),
        (ConfigurationsAdded(({"lr": 7},)), "lr"),
        (ConfigurationsAdded(()), "must be a tuple of configurations"),
        (TrialStopped(9), "there is no trial 9; so far there are 2"),
        (TrialStopped(0, "gone"), "must be 'stopped' or 'failed'"),
    ],
)
def test_what_is_refused_changes_nothing(event, why):
    story = Story(None, study=study_with_space())
    story.start(2)
    before = snapshot(story.engine)
    with pytest.raises(IllegalEventError, match=why):
        story.send(event)
    assert snapshot(story.engine) == before


def test_a_request_is_applied_once():
    story = Story(None, study=study_with_space())
    story.send(added(7))
    with pytest.raises(IllegalEventError, match="applied already"):
        story.send(added(7))


def test_a_running_trial_that_is_stopped_is_settled_at_once_and_ranks_last():
    story = Story(ASHA(max_resource=9), trials=6)
    story.start(4)
    story.report(0, 0.5, 0.1)
    assert story.send(TrialStopped(0, reason="too slow")) == Noted()
    assert story.report(0, 1, 0.0) == Stop()  # a late report changes nothing
    assert story.engine.trials[0].resource == 0.5
    with pytest.raises(IllegalEventError, match="is being stopped already"):
        story.send(TrialStopped(0))
    story.end(0)
    assert (story.state(0), story.engine.trials[0].note) == (State.STOPPED, "too slow")
    with pytest.raises(IllegalEventError, match="is stopped already"):
        story.send(TrialStopped(0, "failed"))
    assert story.rung(0) == {0: float("inf")}


def test_a_waiting_trial_that_is_stopped_is_not_promoted():
    story = Story(ASHA(max_resource=9), trials=8)
    story.start(6)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4, 4: 0.5, 5: 0.6})
    story.send(TrialStopped(0))
    assert story.ask() == (1, 1, 3)  # the next best
    assert story.state(0) is State.STOPPED
    story.send(TrialStopped(1, "failed", "wrong data"))
    story.lose(1)
    assert story.state(1) is State.FAILED
    assert story.engine.trials[1].failed
    assert story.ask()[0] == 6


def test_a_lost_trial_that_is_stopped_is_not_started_again():
    story = Story(ASHA(max_resource=9), trials=2)
    story.start(2)
    story.lose(0)
    story.send(TrialStopped(0))
    assert isinstance(story.ask(), Wait)
    assert story.state(0) is State.STOPPED


RECIPES = {
    "asha": ASHA(max_resource=9),
    "asha without pauses": ASHA(max_resource=9, variant="stopping"),
    "pasha": PASHA(max_resource=9, eta=2),
    "halving": SuccessiveHalving(max_resource=9),
    "hyperband": Hyperband(max_resource=9),
    "rush": rw.Rush(SuccessiveHalving(max_resource=9), priors=1),
    "random": RandomSearch(9),
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_whenever_trials_are_stopped_the_study_ends_and_its_log_replays(recipe):
    study = Study(recipe, Limits(trials=9), initial=[{"row": row} for row in range(30)])
    whole = MemoryLog()
    drive(Engine(study), VALUES, whole, workers=2)
    for prefix in range(1, len(whole), 3):
        log = MemoryLog(whole.entries[:prefix])
        engine = replay(study, log.read_from())
        stopped = []
        for trial, outcome in zip(list(engine.trials)[:4], ["stopped", "failed"] * 2, strict=False):
            event = TrialStopped(trial.id, outcome, request=f"{trial.id}")
            try:
                log.append(event, engine.handle(event))
                stopped.append((trial, trial.resource))
            except IllegalEventError:
                assert trial.state in (State.STOPPED, State.ENDED)
        for event in lost_jobs(engine):
            log.append(event, engine.handle(event))
        drive(engine, VALUES, log, workers=2)
        assert engine.ended is not None
        assert len(engine.trials) == 9
        assert all(trial.resource == reached for trial, reached in stopped)
        assert all(trial.state in (State.STOPPED, State.FAILED) for trial, _ in stopped)
        assert snapshot(replay(study, log.read_from())) == snapshot(engine)
        lines = MemoryLog.from_lines(MemoryLog(log.entries, study=study).to_lines())
        assert lines.entries == log.entries


@pytest.mark.parametrize(
    "change", [{"configs": 3}, {"configs": [3]}, {"request": 4}, {"at": None}, {"more": 1}]
)
def test_a_damaged_addition_is_refused(change):
    written = event_to_json(added(1, 2))
    assert event_from_json(written) == added(1, 2)
    with pytest.raises(SchemaError):
        event_from_json({**written, **change})


def test_a_stopped_trial_is_no_evidence_and_the_story_says_why():
    story = Story(PASHA(max_resource=9), trials=3)
    story.start(1)
    assert story.report(0, 0.5, 0.1) == Continue()
    story.send(TrialStopped(0, reason="looked wrong"))
    story.end(0)
    assert "looked wrong" in story.engine.trials[0].story()[-1]
