"""An illegal event raises, changes nothing, and tells the trial's story."""

import math

import pytest
from core.stories import Story, snapshot

from rungwise import ASHA, PASHA, Hyperband
from rungwise.core.decisions import Pause
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported
from rungwise.core.trials import MEANING, State
from rungwise.errors import IllegalEventError

RECIPES = [
    PASHA(max_resource=9),
    ASHA(max_resource=9, variant="stopping"),
    Hyperband(max_resource=9),
]


def refused(story, event):
    """The error, after checking that nothing has changed."""
    before = snapshot(story.engine)
    with pytest.raises(IllegalEventError) as caught:
        story.engine.handle(event)
    assert snapshot(story.engine) == before
    assert caught.value.event is event
    assert repr(event) in str(caught.value)
    return caught.value


def under_way(recipe):
    """Trial 0 reported half of its way, the job of trial 1 has left, trial 2 was lost."""
    story = Story(recipe)
    story.start(3)
    story.report(0, 0.5, 0.25)
    story.fail(1, "no disk")
    story.lose(2)
    return story


def events_for(job):
    return [Reported(job, 1, 0.5), JobEnded(job), JobFailed(job, "again"), JobLost(job)]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
@pytest.mark.parametrize("event", events_for(99) + events_for(-1), ids=repr)
def test_a_job_that_was_never_issued(recipe, event):
    error = refused(under_way(recipe), event)
    assert f"no job {event.job} was ever issued" in str(error)
    assert error.story == ()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
@pytest.mark.parametrize("event", events_for(1), ids=repr)
def test_a_job_that_has_failed(recipe, event):
    error = refused(under_way(recipe), event)
    assert "job 1 has left its worker" in str(error)
    assert error.story[0] == "trial 1 was drawn with {'x': 1}"
    assert error.story[-1] == f"it is now failed: {MEANING[State.FAILED]} (no disk)"
    assert all(sentence in str(error) for sentence in error.story)


@pytest.mark.parametrize("event", events_for(2), ids=repr)
def test_a_job_that_was_lost_even_after_its_trial_runs_again(event):
    story = under_way(PASHA(max_resource=9))
    assert "it is now lost" in str(refused(story, event))
    assert story.ask() == (2, 0, 1)  # as job 3
    error = refused(story, event)
    assert "job 2 has left its worker" in str(error)
    assert error.story[1:3] == (
        "job 2 was started to train it from 0 to 1",
        "job 3 was started to train it from 0 to 1",
    )


@pytest.mark.parametrize("event", events_for(0), ids=repr)
def test_a_job_that_has_ended_in_good_order(event):
    story = Story(ASHA(max_resource=9))
    story.start(1)
    assert story.report(0, 1, 0.25) == Pause()
    story.end(0)
    error = refused(story, event)
    assert "it reported once, at resource 1 with value 0.25" in error.story
    assert "it is now paused" in error.story[-1]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
@pytest.mark.parametrize("resource", [0, -1, -0.5, math.nan, math.inf, -math.inf, None, "3"])
def test_a_resource_that_is_no_positive_number(recipe, resource):
    error = refused(under_way(recipe), Reported(0, resource, 0.5))
    assert "resource must be a plain number above 0" in str(error)
    assert "it is now running" in error.story[-1]


@pytest.mark.parametrize("value", [None, "0.5", [0.5], {}, 1j])
def test_a_value_that_is_no_number(value):
    assert "its value must be a plain number" in str(
        refused(under_way(PASHA(max_resource=9)), Reported(0, 1, value))
    )


@pytest.mark.parametrize("resource", [0, math.nan, None])
def test_even_a_settled_job_must_report_numbers(resource):
    story = Story(ASHA(max_resource=9))
    story.start(1)
    story.report(0, 1, 0.25)
    refused(story, Reported(0, resource, 0.5))
    refused(story, Reported(0, 2, "good"))


@pytest.mark.parametrize("event", [None, "JobEnded", 3, JobEnded, object], ids=repr)
def test_what_is_no_event(event):
    assert "unknown event type" in str(refused(under_way(PASHA(max_resource=9)), event))


def test_the_study_goes_on_after_an_illegal_event_as_if_it_had_not_been():
    told = []
    for disturb in (False, True):
        story = Story(ASHA(max_resource=9), trials=3)
        story.start(3)
        for trial, value in enumerate([0.3, 0.1, 0.2]):
            if disturb:
                refused(story, Reported(trial, math.nan, 0.0))
                refused(story, JobEnded(50 + trial))
            story.reach(1, {trial: value})
            if disturb:
                refused(story, JobEnded(trial))
        told.append((story.ask(), story.log, snapshot(story.engine)))
    assert told[0] == told[1]
