"""A log proves itself: folded again it gives the same state, or the first difference is named."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
from core.stories import Story, curves, drive, recorded, snapshot, study_of
from hypothesis import given
from hypothesis import strategies as st

from rungwise import (
    ASHA,
    PASHA,
    AdaptiveHalving,
    AsyncHyperband,
    Choice,
    Hyperband,
    Space,
    SuccessiveHalving,
    Table,
)
from rungwise.backends.simulator import Simulator
from rungwise.core.decisions import Continue, Done, Noted, Pause, StartJob, Stop, Wait
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobLost, JobRequested
from rungwise.core.limits import Limits
from rungwise.core.replay import lost_jobs, replay
from rungwise.core.study import Study
from rungwise.driver import Driver
from rungwise.errors import IllegalEventError, ReplayMismatchError
from rungwise.rankings import Exact
from rungwise.searchers import Grid, Searcher
from rungwise.storage import MemoryLog

VALUES = curves(12, 9)
RECIPES = {
    "pasha": PASHA(max_resource=9),
    "pasha, every report": PASHA(max_resource=9, eta=2, check="report", promote="quantile"),
    "asha without pauses": ASHA(max_resource=9, variant="stopping"),
    "successive halving": SuccessiveHalving(max_resource=9),
    "hyperband": Hyperband(max_resource=9),
    "async hyperband": AsyncHyperband(max_resource=9),
    "adaptive halving": AdaptiveHalving(max_resource=9),
}


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_replayed_log_gives_the_same_state(recipe, workers):
    study, engine, log = recorded(recipe, VALUES, workers=workers)
    assert len(engine.trials) == 12
    assert snapshot(replay(study, log.read_from())) == snapshot(engine)
    assert snapshot(replay(study, log.read_from(), propose=False)) == snapshot(engine)


def test_replaying_nothing_gives_a_fresh_engine():
    study = study_of(RECIPES["pasha"], VALUES)
    assert snapshot(replay(study, [])) == snapshot(Engine(study))


# ---- what does not fit is named ------------------------------------------------------------------

SMALL = PASHA(max_resource=9, eta=2, ranking=Exact())
PLAIN = [Wait(), Done("enough"), Continue(), Pause(), Stop(), Noted()]


@cache
def entries():
    return tuple(recorded(SMALL, VALUES, workers=3)[2].read_from())


def mismatch(log, study=None):
    with pytest.raises(ReplayMismatchError) as caught:
        replay(study or study_of(SMALL, VALUES), log)
    return caught.value


def places(data, wanted=lambda _event, _decision: True):
    """A place in the log."""
    found = [index for index, entry in enumerate(entries()) if wanted(*entry)]
    return data.draw(st.sampled_from(found), label="place")


def altered(decision, how):
    """Another decision: one field of a Run changed, or another kind."""
    if isinstance(decision, StartJob):
        job = decision.job
        changes = {
            "id": job.id + 1,
            "trial": job.trial + 1,
            "config": {"row": -1},
            "start": job.start + 0.5,
            "until": job.until + 1,
        }
        name = list(changes)[how % len(changes)]
        return StartJob(replace(job, **{name: changes[name]}))
    others = [other for other in PLAIN if other != decision]
    return others[how % len(others)]


@given(data=st.data(), how=st.integers(0, 29))
def test_an_altered_decision_is_named_with_its_place(data, how):
    position, log = places(data), list(entries())
    event, decision = log[position]
    log[position] = (event, altered(decision, how))
    error = mismatch(log)
    assert error.index == position
    assert (error.event, error.recorded, error.replayed) == (event, log[position][1], decision)
    assert f"entry {position}:" in str(error)
    assert repr(event) in str(error)


@given(st.data())
def test_a_missing_request_or_end_is_found_at_its_place_or_later(data):
    position = places(
        data, lambda event, told: isinstance(told, StartJob) or isinstance(event, JobEnded)
    )
    log = entries()
    assert mismatch(log[:position] + log[position + 1 :]).index >= position


@given(st.data())
def test_an_entry_told_twice_is_found_at_the_second_unless_it_may_happen_twice(data):
    position, log = places(data), entries()
    event, decision = log[position]
    twice = [*log[: position + 1], *log[position:]]
    if isinstance(event, JobEnded) or isinstance(decision, StartJob):
        error = mismatch(twice)
        assert error.index == position + 1
        assert isinstance(error.replayed, IllegalEventError) == isinstance(event, JobEnded)
    elif isinstance(decision, (Continue, Pause, Stop)):
        # Then the second report is a repeated or a late one.
        study, once = study_of(SMALL, VALUES), log[: position + 1]
        again = replay(study, [*once, (event, decision)])
        assert snapshot(again) == snapshot(replay(study, once))


def test_an_altered_report_is_found_where_it_first_changes_a_decision():
    story = Story(ASHA(max_resource=9))
    story.start(3)
    story.reach(1, {0: 0.3, 1: 0.1, 2: 0.2})
    story.ask()
    event, told = story.log[5]
    assert (event.job, event.value, told) == (1, 0.1, Pause())
    story.log[5] = (replace(event, value=0.25), told)
    error = mismatch(story.log, story.study)
    assert (error.index, error.recorded.job.trial, error.replayed.job.trial) == (9, 1, 2)


def test_a_log_of_another_study_is_refused():
    other = study_of(PASHA(max_resource=9, eta=3, ranking=Exact()), VALUES)
    error = mismatch(entries(), other)
    assert "belongs to another study" in str(error)
    first = next(i for i, (_, d) in enumerate(entries()) if isinstance(d, StartJob) and d.job.start)
    assert error.index == first  # η = 2 promotes earlier than η = 3


# ---- the searcher --------------------------------------------------------------------------------


class Counting(Searcher):
    """Proposes a random x and counts how often it was asked."""

    def __init__(self):
        self.asked = 0

    def propose(self, space, history, rng):
        self.asked += 1
        return space.sample(rng)


def searched():
    space, searcher = Space.parse({"x": (0.0, 1.0, 2.0)}), Counting()
    study = Study(ASHA(max_resource=9), Limits(trials=9), space=space, searcher=searcher, seed=3)
    story = Story(None, study=study)
    story.start(6)
    story.reach(1, {trial: trial / 8 for trial in range(6)})
    story.start(4)
    return story, searcher


def test_a_replay_asks_the_searcher_again_and_compares():
    story, searcher = searched()
    assert searcher.asked == 8
    assert snapshot(replay(story.study, story.log)) == snapshot(story.engine)
    assert searcher.asked == 16
    error = mismatch(story.log, replace(story.study, seed=4))
    assert (error.index, error.replayed.job.id) == (0, 0)
    assert error.replayed.job.config != error.recorded.job.config


def test_a_searcher_too_dear_to_ask_twice_is_left_alone():
    story, searcher = searched()
    again = replay(story.study, story.log, propose=False)
    assert searcher.asked == 8
    assert snapshot(again) == snapshot(story.engine)


def test_the_end_of_the_searchers_proposals_is_replayed_without_asking_it():
    study = replace(
        study_of(SuccessiveHalving(max_resource=9), VALUES[:3]), limits=Limits(trials=9)
    )
    story = Story(None, study=study)
    assert story.start(3) == [0, 1, 2]
    assert story.ask() == Wait()  # there is no fourth
    story.reach(1, {0: 0.1, 1: 0.2, 2: 0.3})
    assert story.ask() == (0, 1, 3)
    for propose in (True, False):
        again = replay(study, story.log, propose=propose)
        assert snapshot(again) == snapshot(story.engine)


# ---- losses --------------------------------------------------------------------------------------


def test_after_a_crash_every_open_job_is_lost_the_settled_ones_too():
    story = Story(ASHA(max_resource=9))
    story.start(3)
    story.report(1, 1, 0.5)
    story.reach(1, {0: 0.5})
    engine = replay(story.study, story.log)
    lost = lost_jobs(engine, at=7.0)
    assert lost == [JobLost(1, at=7.0), JobLost(2, at=7.0)]
    assert [engine.handle(event) for event in lost] == [Noted(), Noted()]
    assert lost_jobs(engine) == []
    assert engine.handle(JobRequested()).job.trial == 2


# ---- another process -----------------------------------------------------------------------------

ELSEWHERE = """
import sys
from core.stories import recorded, snapshot
from core.test_replay import RECIPES, VALUES
from rungwise.core.replay import replay
from rungwise.storage import MemoryLog

study, _, log = recorded(RECIPES[sys.argv[1]], VALUES, workers=4)
given = MemoryLog.from_lines(sys.stdin.read().splitlines())
print(list(given.to_lines()) == list(log.to_lines()))
print(snapshot(replay(study, given.read_from())))
"""


@pytest.mark.parametrize(("name", "hash_seed"), [("pasha", "1"), ("pasha, every report", "4242")])
def test_json_lines_replay_alike_in_another_process_with_other_hashes(name, hash_seed):
    _, engine, log = recorded(RECIPES[name], VALUES, workers=4)
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    process = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, name],
        input="\n".join(log.to_lines()),
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert process.stderr == ""
    assert process.stdout.splitlines() == ["True", str(snapshot(engine))]


def test_json_lines_replay_in_this_process_too():
    study, engine, log = recorded(RECIPES["hyperband"], VALUES, workers=4)
    again = replay(study, MemoryLog.from_lines(log.to_lines()).read_from())
    assert snapshot(again) == snapshot(engine)


def test_a_replayed_engine_goes_on_where_the_log_ends():
    study, engine, log = recorded(RECIPES["pasha"], VALUES)
    ends = [i for i, (event, _) in enumerate(log.entries, 1) if isinstance(event, JobEnded)]
    for end in ends[:: len(ends) // 4]:
        part = MemoryLog(log.entries[:end])
        resumed = drive(replay(study, part.read_from()), VALUES, part)
        assert facts_without_times(resumed) == facts_without_times(engine)


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_promoted_when_the_space_is_used_up_is_not_drawn_again(name):
    space, log = Space.parse({"row": Choice(list(range(6)))}), MemoryLog()
    study = Study(RECIPES[name], Limits(trials=20), space=space, searcher=Grid())
    engine = Engine(study)
    simulator = Simulator(Table(curves(6, 9)), workers=1, rows=list(range(6)))
    Driver(engine, simulator, log=log).run()
    assert engine.exhausted
    for propose in (True, False):
        assert replay(study, log.read_from(), propose=propose).reports == engine.reports


def facts_without_times(engine):
    """The clock of a simulation that goes on begins again."""
    facts = snapshot(engine)
    timeline = engine.timeline
    facts["timeline"] = (
        [(rise.reports, rise.level, rise.spent, rise.why) for rise in timeline.rises],
        [(timeline.slots[job.id], timeline.outcome(job.id)) for job in engine.jobs],
    )
    return facts
