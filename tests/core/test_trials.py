"""The table of moves, checked as a table."""

import pytest

from rungwise.core.decisions import Job
from rungwise.core.trials import MEANING, MOVES, Cause, State, Trial

TERMINAL = {State.STOPPED, State.ENDED, State.FAILED}
ON_A_WORKER = {State.RUNNING, State.PAUSING, State.STOPPING}


def reachable(start):
    found, frontier = {start}, [start]
    while frontier:
        state = frontier.pop()
        nexts = {after for (before, _), after in MOVES.items() if before is state}
        frontier += nexts - found
        found |= nexts
    return found


def test_every_state_can_be_reached_from_new():
    assert reachable(State.NEW) == set(State)


def test_terminal_states_have_no_way_out_and_all_others_have():
    asked_for = {Cause.EXTEND, Cause.DISMISS, Cause.REJECT}
    leaving = {before for before, cause in MOVES if cause not in asked_for}
    assert set(State) - leaving == TERMINAL


def test_only_an_extension_brings_back_who_was_done_or_cut_short():
    extended = {before: after for (before, cause), after in MOVES.items() if cause is Cause.EXTEND}
    assert extended == {State.PAUSED: State.LOST, State.STOPPED: State.PAUSED}


@pytest.mark.parametrize(
    ("cause", "final"), [(Cause.DISMISS, State.STOPPED), (Cause.REJECT, State.FAILED)]
)
def test_on_request_any_trial_without_a_worker_is_done(cause, final):
    found = {before: after for (before, reason), after in MOVES.items() if reason is cause}
    # From "stopped" as well: that is where a job leaves to that was told to stop on request.
    assert found == dict.fromkeys((State.PAUSED, State.LOST, State.STOPPED), final)


def test_nothing_becomes_new_again():
    assert State.NEW not in MOVES.values()


def test_only_a_trial_without_a_worker_is_told_to_run():
    can_run = {before for before, cause in MOVES if cause is Cause.RUN}
    assert can_run == set(State) - ON_A_WORKER - TERMINAL
    assert all(MOVES[state, Cause.RUN] is State.RUNNING for state in can_run)


@pytest.mark.parametrize("cause", [Cause.END, Cause.FAIL, Cause.LOSE])
def test_a_job_can_leave_its_worker_in_any_way_and_the_trial_is_then_on_none(cause):
    leaving = {before for before, reason in MOVES if reason is cause}
    assert leaving == ON_A_WORKER
    assert all(MOVES[state, cause] not in ON_A_WORKER for state in leaving)


@pytest.mark.parametrize(
    ("settled", "kept"), [(State.PAUSING, State.PAUSED), (State.STOPPING, State.STOPPED)]
)
def test_a_settled_job_owes_nothing_however_it_ends(settled, kept):
    outcomes = {MOVES[settled, cause] for cause in (Cause.END, Cause.FAIL, Cause.LOSE)}
    assert outcomes == {kept}


def test_an_unsettled_job_ends_in_three_different_ways():
    ends = [MOVES[State.RUNNING, cause] for cause in (Cause.END, Cause.FAIL, Cause.LOSE)]
    assert ends == [State.ENDED, State.FAILED, State.LOST]


def test_every_state_has_a_meaning_of_its_own():
    assert set(MEANING) == set(State)
    assert all(MEANING.values())
    assert len(set(MEANING.values())) == len(State)


def test_states_and_causes_are_told_apart_in_sets():
    assert len(set(State)) == 9
    assert len(set(Cause)) == 9


def test_a_trial_tells_its_story_in_order():
    trial = Trial(3, {"lr": 0.1}, bracket=0)
    trial.state = State.FAILED
    trial.note = "out of memory"
    jobs = [Job(5, 3, trial.config, 0, 1), Job(9, 3, trial.config, 1, 3)]
    trial.resource, trial.resources, trial.losses = 2, [1, 2], [0.75, 0.5]
    assert trial.story(jobs) == [
        "trial 3 was drawn with {'lr': 0.1}",
        "job 5 was started to train it from 0 to 1",
        "job 9 was started to train it from 1 to 3",
        "it reported 2 times, last at resource 2 with value 0.5",
        f"it is now failed: {MEANING[State.FAILED]} (out of memory)",
    ]
    assert trial.failed
