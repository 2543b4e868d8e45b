"""A crash after every prefix of the log of a study that was extended, and late extensions.

With one worker nothing may differ from the study that never crashed; see ``test_crash.py``.
"""

from dataclasses import replace

import pytest
from core.stories import Story, curves, drive, snapshot
from core.test_crash import outcome

from rungwise import (
    ASHA,
    PASHA,
    AdaptiveHalving,
    AsyncHyperband,
    Hyperband,
    RandomSearch,
    Rush,
    SuccessiveHalving,
)
from rungwise.core.decisions import Done, Noted, Pause
from rungwise.core.engine import Engine
from rungwise.core.events import StudyExtended
from rungwise.core.limits import Limits
from rungwise.core.replay import lost_jobs, replay
from rungwise.core.scheduler import Scheduler
from rungwise.core.study import Study
from rungwise.core.trials import State
from rungwise.errors import IllegalEventError
from rungwise.rankings import Exact
from rungwise.storage import MemoryLog

VALUES = curves(22, 18, seed=4)
VALUES[6, 2:] = float("nan")  # one diverges
FIRST, MAXIMUM = 12, 4
RECIPES = {
    "pasha": PASHA(max_resource=MAXIMUM, eta=2, ranking=Exact()),
    "asha without pauses": ASHA(max_resource=MAXIMUM, eta=2, variant="stopping"),
    "asha": ASHA(max_resource=MAXIMUM, eta=2, promote="quantile"),
    "successive halving": SuccessiveHalving(max_resource=MAXIMUM, eta=2),
    "adaptive halving": AdaptiveHalving(max_resource=MAXIMUM, eta=2),
    "hyperband": Hyperband(max_resource=MAXIMUM, eta=2),
    "async hyperband": AsyncHyperband(max_resource=MAXIMUM, eta=2),
    "random": RandomSearch(MAXIMUM),
}
RUSH = {"rush": Rush(ASHA(max_resource=MAXIMUM, eta=2), priors=2)}
EXTENSION = StudyExtended(Limits(trials=len(VALUES)), 18)


def make_study(recipe, **limits):
    initial = [{"row": row} for row in range(len(VALUES))]
    return Study(recipe, Limits(**{"trials": FIRST, **limits}), initial=initial)


def finish(engine, log, extension=EXTENSION):
    """Drive a study to its end, extend it unless it was extended, and drive it on."""
    drive(engine, VALUES, log)
    if not engine.extensions:
        for event in lost_jobs(engine):
            log.append(event, engine.handle(event))
        log.append(extension, engine.handle(extension))
        drive(engine, VALUES, log)
    return engine


@pytest.mark.no_cover
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_crash_anywhere_changes_nothing(recipe):
    study, whole = make_study(recipe), MemoryLog()
    uncrashed = finish(Engine(study), whole)
    assert max(trial.resource for trial in uncrashed.trials) > MAXIMUM, "it went no further"
    assert len(uncrashed.trials) == len(VALUES)
    for prefix in range(0, len(whole) + 1, 2):
        log = MemoryLog(whole.entries[:prefix])
        engine = replay(study, log.read_from())
        for event in lost_jobs(engine):
            log.append(event, engine.handle(event))
        finish(engine, log)
        assert outcome(engine) == outcome(uncrashed), prefix
        assert snapshot(replay(study, log.read_from())) == snapshot(engine)


@pytest.mark.parametrize("recipe", (RECIPES | RUSH).values(), ids=RECIPES | RUSH)
def test_what_the_end_cut_short_goes_on(recipe):
    """A budget ends the study in the middle of jobs; a larger one lets them go on."""
    study, log = make_study(recipe, resource=11.0), MemoryLog()
    larger = StudyExtended(Limits(trials=FIRST, resource=500.0))
    engine = finish(Engine(study), log, larger)
    whole = drive(Engine(make_study(recipe)), VALUES, MemoryLog())
    assert {trial.state for trial in engine.trials} == {trial.state for trial in whole.trials}
    assert engine.spent == whole.spent
    assert engine.best.id == whole.best.id


def test_a_trial_that_is_still_leaving_is_started_again_when_it_has_left():
    story = Story(ASHA(max_resource=9), trials=2, resource=2.0)
    assert story.start(2) == [0, 1]
    assert story.report(0, 0.5, 1.0) != Pause()
    assert story.report(1, 1.5, 1.0) == Pause()  # at its rung; the budget is used up
    assert story.report(0, 0.75, 1.0) == Pause()  # between rungs
    assert story.send(StudyExtended(Limits(trials=2, resource=20.0))) == Noted()
    story.end(0)
    assert story.state(0) is State.LOST
    assert story.ask() == (0, 0.75, 1)


@pytest.mark.parametrize(
    ("limits", "maximum", "why"),
    [
        ({"trials": 26}, None, "trials: 27 so far, 26 asked for"),
        ({"trials": 27}, None, "it changes nothing"),
        ({"trials": 27, "seconds": 9.0}, None, "seconds: no limit so far, 9 asked for"),
        ({"trials": 27}, 9, "the maximum so far is 9, and a new one must be above it"),
        ({"trials": 30, "finish": "paper"}, None, "finish: 'drain' so far, 'paper' asked for"),
    ],
)
def test_what_is_refused(limits, maximum, why):
    story = Story(ASHA(max_resource=9))
    before = snapshot(story.engine)
    with pytest.raises(IllegalEventError, match=why):
        story.send(StudyExtended(Limits(**limits), maximum))
    assert snapshot(story.engine) == before


def test_a_maximum_is_raised_between_jobs_only():
    story = Story(ASHA(max_resource=9))
    story.start(1)
    with pytest.raises(IllegalEventError, match="only while no job is open"):
        story.send(StudyExtended(Limits(trials=27), 27))
    story.lose(0)
    story.send(StudyExtended(Limits(trials=27), 27))
    assert story.engine.scheduler.levels == (1, 3, 9, 27)


def test_an_extension_after_which_the_study_would_still_be_over_is_refused():
    story = Story(ASHA(max_resource=9), trials=1, pool=9, target=0.5)
    story.start(1)
    story.report(0, 1, 0.4)
    story.end(0)
    assert isinstance(story.ask(), Done)
    with pytest.raises(IllegalEventError, match=r"still be over, because the target 0\.5"):
        story.send(StudyExtended(Limits(trials=9, target=0.5)))
    with pytest.raises(IllegalEventError, match=r"target: 0\.5 so far, 0\.6 asked for"):
        story.send(StudyExtended(Limits(trials=9, target=0.6)))
    story.send(StudyExtended(Limits(trials=9, target=0.3)))
    assert story.ask() == (1, 0, 1)


def test_a_scheduler_without_extend_can_have_more_trials_but_no_higher_maximum():
    class Plain(Scheduler):
        """A scheduler of a user, with what it must have."""

        def __init__(self, inner):
            self.next_move, self.reported = inner.next_move, inner.reported
            self.levels, self.ceilings = inner.levels, inner.ceilings

        next_move = reported = released = dropped = explain = None

    study = make_study(ASHA(max_resource=9))
    engine = Engine(study)
    engine.scheduler = Plain(engine.scheduler)
    engine.handle(StudyExtended(Limits(trials=15)))
    assert engine.study.limits.trials == 15
    with pytest.raises(IllegalEventError, match="ASHA has no method extend"):
        engine.handle(StudyExtended(Limits(trials=15), 27))


def test_the_first_maximum_stays_in_the_study_of_the_log():
    study, log = make_study(RECIPES["asha"]), MemoryLog()
    engine = finish(Engine(study), log)
    assert engine.study == replace(
        study, limits=Limits(trials=22), scheduler=replace(study.scheduler, max_resource=18)
    )
    assert "it had been extended (trials 12 → 22, max_resource 4 → 18)" in engine.why()
    assert [str(each) for each in engine.extensions] == ["trials 12 → 22, max_resource 4 → 18"]
