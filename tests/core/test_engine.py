"""Given events, expect decisions: promotion, pauses, ceilings, reports of all kinds."""

import math

import pytest
from core.stories import Story, snapshot

from rungwise import ASHA, PASHA, SuccessiveHalving
from rungwise.core.decisions import Continue, Noted, Pause, Stop, Wait
from rungwise.core.trials import State
from rungwise.rankings import Exact, Soft

INF, NAN = math.inf, math.nan
ASHA9 = ASHA(max_resource=9)  # levels 1, 3, 9
PASHA8 = PASHA(max_resource=8, eta=2, ranking=Exact())  # levels 1, 2, 4, 8


# ---- promotion -----------------------------------------------------------------------------------


def test_the_best_third_of_a_rung_is_promoted_and_then_new_configurations_start():
    story = Story(ASHA9)
    assert story.start(3) == [0, 1, 2]
    assert story.reach(1, {0: 0.3, 1: 0.1, 2: 0.2}) == [Pause(), Pause(), Pause()]
    assert story.ask() == (1, 1, 3)
    assert story.ask() == (3, 0, 1)


def test_a_trial_trains_on_below_its_level_pauses_there_and_stops_at_the_last():
    story = Story(ASHA9)
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    assert story.ask() == (0, 1, 3)
    assert story.report(0, 2, 0.1) == Continue()
    assert story.report(0, 3, 0.1) == Pause()
    assert (story.end(0), story.state(0)) == (Noted(), State.PAUSED)
    story.start(6)
    story.reach(1, dict.fromkeys(range(3, 9), 0.2))
    assert [story.ask(), story.ask()] == [(1, 1, 3), (3, 1, 3)]
    story.reach(3, {1: 0.2, 3: 0.2})
    assert story.ask() == (0, 3, 9)
    assert [story.report(0, e, 0.1) for e in (4, 8, 9)] == [Continue(), Continue(), Stop()]
    assert (story.end(0), story.state(0)) == (Noted(), State.STOPPED)


def test_the_highest_rung_with_someone_to_promote_comes_first():
    story = Story(ASHA9)
    story.start(12)
    story.reach(1, {trial: trial for trial in range(9)})
    assert [story.ask() for _ in range(3)] == [(0, 1, 3), (1, 1, 3), (2, 1, 3)]
    story.reach(3, {0: 3, 1: 1, 2: 2})
    story.reach(1, {9: 0.5, 10: 0.25, 11: 9})
    assert [story.ask() for _ in range(4)] == [(1, 3, 9), (10, 1, 3), (9, 1, 3), (12, 0, 1)]


def test_a_trial_told_to_pause_is_not_promoted_before_its_job_has_left_the_worker():
    story = Story(ASHA9)
    story.start(3)
    story.reach(1, {1: 0.2, 2: 0.3})
    assert story.report(0, 1, 0.1) == Pause()
    assert story.ask() == (3, 0, 1)
    story.end(0)
    assert story.ask() == (0, 1, 3)


def test_equal_losses_are_promoted_by_trial_id():
    story = Story(ASHA9)
    story.start(6)
    story.reach(1, dict.fromkeys((5, 4, 3, 2, 1, 0), 0.5))
    assert [story.ask(), story.ask(), story.ask()] == [(0, 1, 3), (1, 1, 3), (6, 0, 1)]


def test_a_maximised_metric_promotes_the_largest():
    story = Story(ASHA9, goal="max")
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.3, 2: 0.2})
    assert story.ask() == (1, 1, 3)
    assert (story.engine.best.id, story.engine.best_value) == (1, 0.3)


# ---- ceilings ------------------------------------------------------------------------------------


def pasha_at_its_ceiling(values, **more):
    """Four trials at level 1, ranked 0, 1, 2, 3; the best two go on to level 2."""
    story = Story(PASHA(max_resource=8, eta=2, ranking=Exact(), **more), trials=4)
    story.start(4)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    assert [story.ask(), story.ask()] == [(0, 1, 2), (1, 1, 2)]
    story.reach(2, values)
    return story


def test_pasha_goes_no_further_while_the_two_top_rungs_rank_alike():
    story = pasha_at_its_ceiling({0: 0.01, 1: 0.02})
    assert story.engine.scheduler.ceilings == [(0, 2)]
    assert story.ask().why.startswith("4 configurations were evaluated")
    assert "at 2 because its 2 trials are ranked as at 1" in story.engine.why()


def test_pasha_raises_its_ceiling_by_one_rung_when_they_rank_differently():
    story = pasha_at_its_ceiling({0: 0.02, 1: 0.01})
    assert story.engine.scheduler.ceilings == [(0, 2), (6, 4)]  # after the sixth report
    assert story.ask() == (1, 2, 4)
    why = "rose to 4 because the ranking at 2 was not found to be stable: 2 configurations changed"
    assert why in story.engine.why()


def test_the_ceiling_never_rises_past_the_last_rung():
    story = Story(PASHA(max_resource=2, eta=2, ranking=Exact()), trials=4)
    story.start(4)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    story.start(2)
    assert story.reach(2, {0: 0.4, 1: 0.3}) == [Stop(), Stop()]
    assert story.engine.scheduler.ceilings == [(0, 2)]


def test_at_the_last_rung_the_study_still_tells_why_the_ceiling_rose():
    story = Story(PASHA(max_resource=4, eta=2, ranking=Exact()), trials=4)
    story.start(4)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    story.start(2)
    story.reach(2, {0: 0.4, 1: 0.3})
    assert story.engine.scheduler.ceilings == [(0, 2), (6, 4)]
    assert story.engine.why() == (
        "The study has not ended; the ceiling rose to the maximum, 4, because the ranking at 2 "
        "was not found to be stable: 2 configurations changed their places."
    )


def test_within_epsilon_the_ranking_counts_as_the_same():
    for epsilon, ceilings in ((0.125, [(0, 2)]), (0.124, [(0, 2), (6, 4)])):
        story = Story(PASHA(max_resource=8, eta=2, ranking=Soft(epsilon)), trials=4)
        story.start(4)
        story.reach(1, {0: 0.125, 1: 0.25, 2: 0.5, 3: 0.75})
        story.start(2)
        story.reach(2, {0: 0.2, 1: 0.1})
        assert story.engine.scheduler.ceilings == ceilings


@pytest.mark.parametrize(("check", "rises"), [("rung", []), ("report", [(19, 9)])])
def test_trials_under_way_count_for_epsilon(check, rises):
    story = Story(PASHA(max_resource=27, check=check))  # levels 1, 3, …; ε from the curves
    story.start(9)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3} | dict.fromkeys(range(3, 9), 0.9))
    assert [story.ask()[0] for _ in range(3)] == [0, 1, 2]
    # 0 against 2, which has not arrived: - at 1, + at 1.5, - at 2; last of all 0.25 apart.
    for resource, of_0, of_2 in ((1.5, 0.5, 0.25), (2, 0.125, 0.25), (2.5, 0.5, 0.25)):
        story.report(2, resource, of_2)
        story.report(0, resource, of_0)
    story.report(0, 2.75, 0.3125)
    story.reach(3, {0: 0.3, 1: 0.25})  # 0 and 1 swap, 0.1 apart at level 1
    assert story.engine.scheduler.epsilons == [(18, 0.25)]
    assert story.engine.scheduler.ceilings == [(0, 3)]
    story.report(2, 2.75, 0.25)  # now ε = 0.0625, but who asks before someone arrives?
    assert story.engine.scheduler.ceilings == [(0, 3), *rises]


def test_successive_halving_awaits_the_whole_rung_and_sends_no_diverged_trial_up():
    story = Story(SuccessiveHalving(max_resource=3), trials=6)
    story.start(6)
    story.reach(1, {0: NAN, 1: NAN, 2: 0.5, 3: NAN, 4: NAN})
    assert story.ask() == Wait()
    story.fail(5)
    assert story.ask() == (2, 1, 3)  # ⌊6/3⌋ = 2, but all others have diverged or failed
    assert story.ask() == Wait()


def test_without_pauses_a_trial_runs_on_while_it_is_among_the_best():
    story = Story(ASHA(max_resource=9, variant="stopping"))
    assert [story.ask(), story.ask(), story.ask()] == [(0, 0, 9), (1, 0, 9), (2, 0, 9)]
    assert story.report(0, 1, 0.5) == Continue()  # nobody to be worse than
    assert story.report(1, 1, 0.6) == Stop()  # not the best of two
    assert story.report(2, 1, 0.4) == Continue()
    assert story.report(0, 2, 0.5) == Continue()  # judged at rungs only
    assert story.report(2, 3, 0.4) == Continue()
    assert story.report(0, 3, 0.5) == Stop()
    assert story.report(2, 9, 0.4) == Stop()
    assert (story.end(2), story.state(2)) == (Noted(), State.STOPPED)


def test_without_pauses_a_sparse_report_must_be_among_the_best_of_every_rung_it_passes():
    story = Story(ASHA(max_resource=9, variant="stopping"))
    story.start(3)
    assert story.report(0, 1, 0.1) == Continue()
    assert story.report(1, 4, 0.5) == Stop()  # the first at level 3, but not the best at level 1
    assert story.report(2, 5, 0.05) == Continue()
    assert [story.rung(k) for k in range(2)] == [{0: 0.1, 1: 0.5, 2: 0.05}, {1: 0.5, 2: 0.05}]


def test_without_pauses_a_raised_ceiling_serves_those_who_arrive_later():
    story = Story(PASHA(max_resource=8, eta=2, ranking=Exact(), variant="stopping"))
    story.start(3)
    assert story.report(0, 1, 0.3) == Continue()
    assert story.report(0, 2, 0.1) == Stop()  # the ceiling
    assert story.report(1, 1, 0.2) == Continue()
    assert story.report(1, 2, 0.2) == Stop()  # raises the ceiling, and was judged before it rose
    assert story.engine.scheduler.ceilings == [(0, 2), (4, 4)]
    assert story.report(2, 1, 0.1) == Continue()
    assert story.report(2, 2, 0.05) == Continue()
    assert story.report(2, 4, 0.05) == Stop()


# ---- reports -------------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", [2, 1.5, 1, 0.25])
def test_ground_covered_before_is_answered_continue_and_changes_nothing(resource):
    story = Story(ASHA9)
    story.start(3)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    story.ask()
    story.report(0, 2, 0.4)
    before = snapshot(story.engine)
    assert story.report(0, resource, 0.001, cost=5.0) == Continue()
    assert snapshot(story.engine) == before


@pytest.mark.parametrize(("first", "told"), [(3, Pause()), (9, Stop())], ids=["pause", "stop"])
def test_a_late_report_is_answered_as_before_and_changes_nothing(first, told):
    story = Story(ASHA9)
    story.start(1)
    assert story.report(0, first, 0.5) == told
    before = snapshot(story.engine)
    for resource, value in ((1, 0.1), (first, 0.1), (first + 1, 0.1), (50, NAN)):
        assert story.report(0, resource, value) == told
        assert snapshot(story.engine) == before


def test_a_sparse_report_reaches_every_level_it_passes():
    story = Story(ASHA9)
    story.start(3)
    assert story.reach(4, {0: 0.3, 1: 0.1, 2: 0.2}) == [Pause(), Pause(), Pause()]
    assert story.rung(0) == story.rung(1) == {0: 0.3, 1: 0.1, 2: 0.2}
    assert story.rung(2) == {}
    assert story.ask() == (1, 4, 9)  # from where it stands, and not again from the first rung
    assert story.ask() == (3, 0, 1)


def test_the_first_report_at_or_beyond_a_level_counts_and_no_later_one():
    story = Story(ASHA9)
    story.start(3)
    story.reach(2, {0: 0.2, 1: 0.3, 2: 0.4})
    assert story.ask() == (0, 2, 3)
    story.reach(5, {0: 0.1})
    assert story.rung(0)[0] == 0.2
    assert story.rung(1) == {0: 0.1}


def test_the_ceiling_rises_past_rungs_that_sparse_reports_cannot_tell_apart():
    story = Story(PASHA8, trials=4)
    story.start(4)
    story.reach(5, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})  # levels 1, 2 and 4; the ceiling is 2
    assert [sorted(story.rung(k)) for k in range(4)] == [[0, 1, 2, 3]] * 3 + [[]]
    # The first arrival shows that 1 and 2 are one report, the second that 2 and 4 are.
    assert story.engine.scheduler.ceilings == [(0, 2), (1, 4), (2, 8)]
    assert story.ask() == (0, 5, 8)


def test_a_trial_with_one_report_for_two_rungs_is_no_evidence():
    story = Story(PASHA8, trials=4)
    story.start(4)
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4})
    story.start(2)
    story.reach(4, {0: 0.5})  # 2 and 4 at once
    assert story.engine.scheduler.ceilings == [(0, 2)]  # 1 and 2 are two reports, and rank alike
    story.reach(2, {1: 0.4})  # now they do not
    assert story.engine.scheduler.ceilings == [(0, 2), (6, 4)]
    assert story.engine.scheduler.ceiling._now.standing.members == set()  # of 4, nobody can be told
    assert story.ask() == (1, 2, 4)


def test_resources_may_be_finer_than_an_epoch():
    story = Story(ASHA9)
    story.start(3)
    assert story.report(0, 0.25, 0.9) == Continue()
    assert story.report(0, 0.75, 0.8) == Continue()
    story.reach(1.0, {0: 0.3})
    story.reach(1.25, {1: 0.1, 2: 0.2})
    assert story.rung(0) == {0: 0.3, 1: 0.1, 2: 0.2}
    assert story.ask() == (1, 1.25, 3)
    assert story.engine.spent == 3.5
    assert story.engine.reports == 5


@pytest.mark.parametrize("goal", ["min", "max"])
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_what_is_not_finite_ranks_last_and_is_never_promoted(bad, goal):
    story = Story(ASHA9, trials=6, goal=goal)
    story.start(6)
    story.reach(1, {0: bad, 1: bad, 2: 0.7})
    assert story.rung(0) == {0: INF, 1: INF, 2: 0.7 if goal == "min" else -0.7}
    assert story.ask() == (2, 1, 3)
    story.reach(3, {2: bad})
    story.reach(1, {3: bad, 4: bad, 5: bad})
    assert story.ask().why.startswith("6 configurations were evaluated")
    assert (story.engine.best.id, story.engine.best_value) == (2, 0.7)


def test_a_study_of_diverged_trials_has_no_best():
    story = Story(ASHA9, trials=1)
    story.start(1)
    story.reach(1, {0: NAN})
    assert (story.engine.best, story.engine.best_value) == (None, None)


def test_the_best_is_the_best_value_at_any_resource_by_the_lower_id_and_the_earlier_report():
    story = Story(ASHA9)
    story.start(3)
    story.report(1, 0.25, 0.125)
    story.report(1, 0.5, 0.125)
    story.reach(1, {1: 0.9, 2: 0.125})
    engine = story.engine
    assert (engine.best.id, engine.best_resource, engine.best_value) == (1, 0.25, 0.125)
    story.report(0, 0.75, 0.125)
    assert (engine.best.id, engine.best_resource) == (0, 0.75)
    story.report(0, 1, 0.0625)
    assert (engine.best.id, engine.best_resource, engine.best_value) == (0, 1, 0.0625)


def test_sparse_and_diverged_reports_together_do_not_break_the_check():
    story = Story(PASHA(max_resource=9))
    story.start(7)
    story.reach(1, {0: 0.2, 1: 0.1} | dict.fromkeys(range(2, 6), math.nan))
    assert story.start(2) == [1, 0]
    story.reach(3, {1: math.nan})
    story.reach(5, {6: 0.9})  # its first report is beyond level 3 already
    assert story.report(0, 3, math.nan) == Pause()
