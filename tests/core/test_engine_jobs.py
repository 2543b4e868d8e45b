"""Given events, expect decisions: failures, losses, settled jobs, configurations, ends."""

import math
import zlib

import numpy as np
import pytest
from core.stories import Story, snapshot

from rungwise import ASHA, PASHA, FixedResource, Space, SpaceError, SuccessiveHalving
from rungwise.core.decisions import Continue, Done, Noted, Pause, StartJob, Stop, Wait
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.core.trials import State
from rungwise.errors import InvalidArgumentError
from rungwise.searchers import Searcher

INF = math.inf
ASHA9 = ASHA(max_resource=9)  # levels 1, 3, 9


# ---- failures and losses -------------------------------------------------------------------------


def test_a_failed_trial_counts_last_in_the_rung_it_was_heading_for():
    story = Story(ASHA9)
    story.start(3)
    story.reach(1, {0: 0.3, 1: 0.2})
    story.report(2, 0.5, 0.001)
    assert story.fail(2, "out of memory") == Noted()
    assert (story.state(2), story.engine.trials[2].note) == (State.FAILED, "out of memory")
    assert story.rung(0) == {0: 0.3, 1: 0.2, 2: INF}
    assert story.ask() == (1, 1, 3)  # ⌊3/3⌋ = 1 with the failed one
    assert story.fail(1) == Noted()
    assert (story.rung(0)[1], story.rung(1)) == (0.2, {1: INF})


def test_a_trial_that_ends_by_itself_before_its_goal_counts_last_there():
    story = Story(ASHA9)
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    story.ask()
    story.report(0, 2, 0.05)
    assert story.end(0) == Noted()
    assert (story.state(0), story.rung(1)) == (State.ENDED, {0: INF})
    assert story.ask() == (3, 0, 1)


@pytest.mark.parametrize("leave", [Story.end, Story.fail], ids=["ends", "fails"])
def test_without_pauses_who_leaves_early_counts_last_in_the_next_rung(leave):
    story = Story(ASHA(max_resource=9, variant="stopping"))
    story.start(2)
    story.report(0, 1, 0.5)
    leave(story, 0)
    assert [story.rung(k) for k in range(3)] == [{0: 0.5}, {0: INF}, {}]
    assert story.report(1, 1, 0.1) == Continue()
    assert story.report(1, 3, 0.9) == Continue()  # better than one that failed


def test_a_lost_job_is_issued_again_before_anything_else_and_from_the_last_report():
    story = Story(ASHA9)
    story.start(5)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    story.report(4, 0.5, 0.4)
    story.lose(4)
    story.lose(3)
    assert story.ask() == (4, 0.5, 1)  # in the order in which they were lost
    assert story.ask() == (3, 0, 1)
    assert story.ask() == (0, 1, 3)  # only then the best of the rung
    assert [job.id for job in story.engine.list_jobs(4)] == [4, 5]
    assert story.state(4) is State.RUNNING


def test_a_job_lost_twice_still_has_its_goal():
    story = Story(ASHA9)
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    assert story.ask() == (0, 1, 3)
    story.lose(0)
    assert story.ask() == (0, 1, 3)
    assert story.report(0, 1, 0.7) == Continue()  # without a checkpoint it covers 0…1 again
    assert story.report(0, 2, 0.1) == Continue()
    story.lose(0)
    assert story.ask() == (0, 2, 3)
    assert story.reach(3, {0: 0.1}) == [Pause()]


@pytest.mark.parametrize("leave", [Story.end, Story.fail, Story.lose])
def test_a_job_told_to_pause_owes_nothing_however_it_ends(leave):
    story = Story(ASHA9)
    story.start(3)
    story.reach(1, {1: 0.2, 2: 0.3})
    assert story.report(0, 1, 0.1) == Pause()
    assert leave(story, 0) == Noted()
    assert story.state(0) is State.PAUSED
    assert story.rung(0) == {0: 0.1, 1: 0.2, 2: 0.3}
    assert story.ask() == (0, 1, 3)  # promoted, not issued again
    assert story.ask() == (3, 0, 1)


@pytest.mark.parametrize("leave", [Story.end, Story.fail, Story.lose])
def test_a_job_told_to_stop_owes_nothing_however_it_ends(leave):
    story = Story(FixedResource(2), trials=2)
    story.start(1)
    assert story.report(0, 2, 0.1) == Stop()
    leave(story, 0)
    assert (story.state(0), story.rung(0)) == (State.STOPPED, {0: 0.1})
    assert story.ask() == (1, 0, 2)
    assert story.ask() == Wait()


# ---- waiting and the end -------------------------------------------------------------------------


def test_with_all_drawn_workers_wait_for_those_who_train_and_then_are_done():
    story = Story(ASHA9, trials=2)
    assert story.start(2) == [0, 1]
    assert story.ask() == Wait()
    story.reach(1, {0: 0.1})
    assert story.ask() == Wait()
    assert story.report(1, 1, 0.2) == Pause()
    assert story.ask() == Wait()  # its job is still on the worker
    story.end(1)
    assert story.engine.ended is None
    done = Done("2 configurations were evaluated and nothing more was promotable")
    assert [story.ask(), story.ask()] == [done, done]
    assert story.engine.ended == done.why
    assert story.engine.why().startswith(f"The study ended because {done.why}; ")


def test_the_version_grows_when_a_waiting_worker_should_ask_again():
    story = Story(SuccessiveHalving(max_resource=3, eta=3), trials=3)
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.2})
    assert story.ask() == Wait()
    waiting = story.engine.version
    assert story.report(2, 0.5, 0.4) == Continue()
    assert story.engine.version == waiting
    story.reach(1, {2: 0.3})
    assert story.engine.version > waiting
    assert story.ask() == (0, 1, 3)


def test_in_the_papers_manner_the_study_ends_as_soon_as_the_last_has_started():
    story = Story(ASHA9, trials=3, finish="paper")
    story.start(2)
    assert story.engine.ended is None
    assert story.ask() == (2, 0, 1)
    assert story.ask() == Done("the last of 3 configurations to be drawn was started")
    assert story.report(0, 0.5, 0.1) == Pause()  # whoever still trains may go home
    story.lose(1)
    assert isinstance(story.ask(), Done)


def test_a_budget_of_seconds_ends_the_study_at_a_request_or_a_report():
    story = Story(ASHA9, seconds=60)
    assert story.ask(at=59.5) == (0, 0, 1)
    assert story.ask(at=60) == Done("the budget of 60 seconds is used up")

    story = Story(ASHA9, seconds=60)
    story.start(2)
    assert story.report(0, 0.5, 0.1, at=59) == Continue()
    assert story.report(0, 0.75, 0.1, at=60) == Pause()
    assert story.report(1, 0.25, 0.1, at=60) == Pause()  # everyone else as well
    assert [story.end(0), story.state(0)] == [Noted(), State.PAUSED]
    assert story.rung(0) == {}  # it has reached no level, and waits for nothing
    assert isinstance(story.ask(at=61), Done)


def test_a_budget_of_resource_counts_what_was_trained_in_all():
    story = Story(ASHA9, resource=2)
    story.start(3)
    story.reach(1, {0: 0.1})
    assert story.report(1, 0.5, 0.1) == Continue()
    assert story.report(1, 0.5, 0.1) == Continue()  # repeated: nothing was added
    assert story.report(2, 0.5, 0.1) == Pause()
    assert story.ask() == Done("the budget of 2 units of resource is used up")


def test_a_budget_of_cost_adds_up_what_reports_say():
    story = Story(ASHA9, cost=1.5)
    story.start(2)
    assert story.report(0, 0.5, 0.1, cost=1.0) == Continue()
    assert story.report(1, 0.5, 0.1, cost=0.25) == Continue()
    assert story.report(0, 0.75, 0.1, cost=0.25) == Pause()
    assert story.ask() == Done("the budget of 1.5 in cost is used up")


@pytest.mark.parametrize(("goal", "near", "there"), [("min", 0.26, 0.25), ("max", 0.24, 0.25)])
def test_a_value_as_good_as_the_target_ends_the_study(goal, near, there):
    story = Story(FixedResource(3), goal=goal, target=0.25)
    story.start(2)
    assert story.report(0, 1, near) == Continue()
    assert story.report(0, 2, math.nan) == Continue()
    assert story.report(1, 1, there) == Pause()
    assert story.ask() == Done("the target 0.25 was reached")
    assert story.report(0, 3, near) == Stop()  # it has reached its own goal all the same


@pytest.mark.parametrize(
    "limits", [{}, {"trials": 0}, {"seconds": -1}, {"cost": math.nan}, {"finish": "never"}]
)
def test_limits_must_make_an_end(limits):
    with pytest.raises(InvalidArgumentError):
        Limits(**limits)


# ---- configurations ------------------------------------------------------------------------------


class Scripted(Searcher):
    """A searcher that proposes x = 5, 6, … so many times, and remembers being asked."""

    def __init__(self, times):
        self.times = times
        self.asked = []

    def propose(self, space, history, rng):
        self.asked.append((len(history), rng.random()))
        return {"x": 4 + len(self.asked)} if len(self.asked) <= self.times else None


def searched(searcher, *, trials=9, initial=({"x": 2}, {"x": 7}), seed=0, recipe=ASHA9):
    space = Space.parse({"x": list(range(10))})
    limits = Limits(trials=trials)
    study = Study(recipe, limits, space=space, searcher=searcher, initial=initial, seed=seed)
    return Story(None, study=study)


def test_initial_configurations_come_first_and_then_the_searchers():
    searcher = Scripted(times=9)
    story = searched(searcher)
    story.start(4)
    assert [trial.config for trial in story.engine.trials] == [{"x": x} for x in (2, 7, 5, 6)]
    assert [number for number, _ in searcher.asked] == [2, 3]


def test_the_searchers_randomness_depends_on_seed_and_trial_alone():
    alike, other, busy = (Scripted(times=9) for _ in range(3))
    searched(alike).start(5)
    searched(other, seed=1).start(5)
    story = searched(busy)
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    assert story.start(3) == [0, 3, 4]
    draws = [[draw for _, draw in searcher.asked] for searcher in (alike, busy, other)]
    assert (
        draws[0]
        == draws[1]
        == [
            np.random.default_rng([0, zlib.crc32(b"searcher"), number]).random()
            for number in (2, 3, 4)
        ]
    )
    assert set(draws[0]).isdisjoint(draws[2])


def test_a_searcher_with_nothing_left_ends_the_drawing_and_is_not_asked_again():
    searcher = Scripted(times=1)
    story = searched(searcher)
    assert story.start(3) == [0, 1, 2]
    assert [story.ask(), story.ask()] == [Wait(), Wait()]
    assert len(searcher.asked) == 2
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    assert story.ask() == (0, 1, 3)
    story.reach(3, {0: 0.1})
    assert "3 configurations were evaluated (there are no others)" in story.ask().why


def test_a_rung_closes_when_the_searcher_has_nothing_left():
    story = searched(Scripted(times=1), recipe=SuccessiveHalving(max_resource=3))
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    assert story.ask() == (0, 1, 3)


def test_an_illegal_proposal_is_refused_and_nothing_is_drawn():
    story = searched(Scripted(times=9), initial=[{"x": 2}])
    story.start(1)
    story.study.searcher.asked += [None] * 6  # the next proposal is x = 11
    before = snapshot(story.engine)
    with pytest.raises(SpaceError, match="11"):
        story.ask()
    assert snapshot(story.engine) == before


def test_jobs_carry_the_configuration_and_are_numbered_in_the_order_of_issue():
    story = Story(PASHA(max_resource=8, eta=2))
    story.start(2)
    story.reach(1, {0: 0.1, 1: 0.2})
    story.start(2)
    issued = [decision.job for _, decision in story.log if isinstance(decision, StartJob)]
    assert [job.id for job in issued] == [0, 1, 2, 3]
    assert [(job.trial, job.config["x"]) for job in issued] == [(0, 0), (1, 1), (0, 0), (2, 2)]
