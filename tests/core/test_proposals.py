"""Slow searchers: asked with what was known one draw before, and never a second time."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

import rungwise as rw
from rungwise.backends.simulator import Simulator
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.proposals import is_slow
from rungwise.core.replay import replay
from rungwise.core.study import Study
from rungwise.driver import Driver
from rungwise.errors import ReplayMismatchError, SpaceError
from rungwise.storage import MemoryLog

LINE = rw.Space.parse({"x": rw.Float(0.0, 1.0)})
SPACE = rw.Space.parse({"x": rw.Float(0.0, 1.0), "k": rw.Int(0, 50)})


@dataclass(frozen=True)
class Curious(rw.searchers.Searcher):
    """Proposes by all that it is shown, so that anything else shown gives another proposal."""

    slow: ClassVar[bool] = True

    def propose(self, space, history, rng):
        told = sum(sum(t.losses) + len(t.losses) * (t.id + 1) + t.failed for t in history)
        drawn = sum(history.times_drawn(space.key(t.config)) for t in history)
        x = (0.37 * told + 0.11 * drawn + 0.7 * history.levels[-1] + rng.random()) % 1
        return {"x": x, "k": len(history)}


@dataclass(frozen=True)
class Hasty(Curious):
    """The same, and quick."""

    slow: ClassVar[bool] = False


class Shown(rw.searchers.Searcher):
    """Remembers how many reports of each trial it was shown."""

    def __init__(self, *, slow):
        self.slow = slow
        self.asked = []

    def propose(self, space, history, rng):
        self.asked.append([len(trial.losses) for trial in history])
        return space.sample(rng)


def study(searcher, trials=20, initial=()):
    recipe = rw.PASHA(max_resource=27)
    return Study(
        recipe, Limits(trials=trials), space=SPACE, searcher=searcher, initial=initial, seed=3
    )


@pytest.mark.parametrize(("slow", "last"), [(True, [0, 0]), (False, [1, 0])])
def test_a_slow_searcher_is_shown_what_was_known_when_the_trial_before_was_drawn(slow, last):
    searcher = Shown(slow=slow)
    engine = Engine(study(searcher))
    first = engine.handle(JobRequested()).job
    engine.handle(JobRequested())
    engine.handle(Reported(first.id, 1, 0.5))
    engine.handle(JobEnded(first.id))
    engine.handle(JobRequested())  # nothing is promotable yet
    assert searcher.asked[-1] == last
    assert len(engine.trials) == 3


def test_what_a_slow_searcher_is_shown_does_not_change_behind_its_back():
    engine = Engine(study(Curious()))
    job = engine.handle(JobRequested()).job
    before = engine.proposals.propose(1)
    engine.handle(Reported(job.id, 1, 0.5))
    assert engine.proposals.propose(1) == before
    engine.handle(JobEnded(job.id))
    assert engine.handle(JobRequested()).job.config == before
    assert engine.proposals.propose(2) != before


def logged(searcher, initial=()):
    table = rw.power_laws(20, 27, seed=2)
    log, asked = MemoryLog(), study(searcher, initial=initial)
    log.begin(asked)
    Driver(Engine(asked), Simulator(table, workers=3, rows=range(20)), log=log).run()
    return asked, log.entries


@pytest.mark.parametrize("initial", [(), ({"x": 0.5, "k": 3}, {"x": 0.1, "k": 7})])
def test_a_log_cut_anywhere_goes_on_with_the_same_proposals(initial):
    asked, entries = logged(Curious(), initial)
    draws = [
        n for n, (_, d) in enumerate(entries) if type(d).__name__ == "StartJob" and not d.job.start
    ]
    assert len(draws) == 20
    for cut in range(0, len(entries), 7):
        engine = replay(asked, entries[:cut])
        assert [engine.handle(event) for event, _ in entries[cut:]] == [
            decision for _, decision in entries[cut:]
        ], cut


def test_the_proposals_depend_on_what_is_shown():
    """Or the test above would prove nothing."""
    late, early = (
        [d.job.config for _, d in logged(searcher)[1] if type(d).__name__ == "StartJob"]
        for searcher in (Hasty(), Curious())
    )
    assert late != early
    assert late[:1] == early[:1]


def test_a_replay_asks_a_slow_searcher_only_if_told_to():
    asked, entries = logged(Curious())
    other = study(Shown(slow=True))
    assert replay(other, entries).trials[5].config == replay(asked, entries).trials[5].config
    assert not other.searcher.asked
    assert replay(asked, entries, propose=True).reports > 0
    with pytest.raises(ReplayMismatchError):
        replay(other, entries, propose=True)
    with pytest.raises(ReplayMismatchError):
        replay(study(Shown(slow=False)), entries)


def test_only_what_is_needed_is_computed_ahead():
    slow = Engine(study(Curious(), trials=3, initial=({"x": 0.5, "k": 3},))).proposals
    assert [slow.should_prefetch(number) for number in range(5)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert not Engine(study(Hasty())).proposals.should_prefetch(1)


def test_searchers_say_whether_they_are_slow():
    assert is_slow(rw.searchers.GP())
    assert not is_slow(rw.searchers.KDE())
    assert not is_slow(None)


@dataclass(frozen=True)
class Astray(rw.searchers.Searcher):
    """Leaves the space."""

    def propose(self, space, history, rng):
        return {"x": 7.0}


def test_an_illegal_proposal_is_told_with_who_made_it_and_for_what():
    engine = Engine(
        Study(rw.PASHA(max_resource=9), Limits(trials=2), space=LINE, searcher=Astray())
    )
    told = (
        r"x, as Astray\(\) proposes it for trial 0, is 7.0, but it must be a number from 0.0 to 1.0"
    )
    with pytest.raises(SpaceError, match=told):
        engine.handle(JobRequested(0.0))
