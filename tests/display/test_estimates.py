"""What is left, what is saved, and how figures are written."""

from itertools import pairwise

import pytest
from display_stories import Clock, all_failed, fraction, last_time, log_of, moments, snapshot_of

import rungwise as rw
from rungwise import counterfactual
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.study import Study
from rungwise.display import Snapshot
from rungwise.display.changes import ChangeWatch
from rungwise.display.estimate import Estimator, TimeLeft

# -- estimates and savings --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (TimeLeft(), "not known yet"),
        (TimeLeft(120, None), "at least 2 min"),
        (TimeLeft(None, 30), "at most 30 s"),
        (TimeLeft(0.0, 30), "at most 30 s"),
        (TimeLeft(100, 120), "about 2 min"),
        (TimeLeft(120, 540), "about 2 to 9 min"),
        (TimeLeft(50, 7800), "about 50 s to 2 h 10 min"),
        (TimeLeft(3600, 7200), "about 1 to 2 h"),
        (TimeLeft(0.1, 400_000), "about 1 s to 4.6 days"),
    ],
)
def test_estimates_say_what_is_known(left, text):
    assert str(left) == text


def test_estimates_hold_the_truth_between_them():
    """Half way through random search and ASHA, with all units equally long."""
    for recipe in (rw.RandomSearch(81), rw.ASHA(max_resource=81), rw.PASHA(max_resource=81)):
        log = log_of(recipe, trials=256, seed=5)
        estimator, end = Estimator(), last_time(log)
        tested = 0
        for index, snapshot in enumerate(moments(log)):
            if index % 20:
                continue
            left = estimator.left(snapshot)
            if 0.2 * end < snapshot.elapsed < 0.6 * end:
                tested += 1
                rest = end - snapshot.elapsed
                assert 0.3 * rest <= left.low <= 1.1 * rest
                assert 0.9 * rest <= left.high <= 5 * rest
        assert tested > 10


def estimated(limits, recipe=None, *, late=0, **fields):
    """After 4 trials of one unit each in 4 seconds, on one worker that was late to start."""
    recipe = rw.FixedResource(1) if recipe is None else recipe
    engine = Engine(Study(recipe, limits, initial=[{"x": n} for n in range(99)]))
    estimator = Estimator()
    estimator.left(snapshot_of(engine, 0.0, workers=1))
    for second in range(late + 1, late + 5):
        job = engine.handle(JobRequested(second)).job
        engine.handle(Reported(job.id, 1, 0.5, second, 2.0))
        engine.handle(JobEnded(job.id, second))
        left = estimator.left(snapshot_of(engine, float(second), workers=1, **fields))
    return left


def test_budgets_bound_the_estimate():
    assert estimated(Limits(trials=10)) == TimeLeft(6.0, 7.0)
    assert estimated(Limits(trials=10, seconds=8)) == TimeLeft(4.0, 4.0)
    assert estimated(Limits(seconds=8)) == TimeLeft(4.0, 4.0)
    assert estimated(Limits(resource=9)) == TimeLeft(5.0, 5.0)
    assert estimated(Limits(cost=14)) == TimeLeft(3.0, 3.0)
    assert estimated(Limits(trials=10, target=0.1)) == TimeLeft(0.0, 7.0)
    assert estimated(Limits(target=0.1)) == TimeLeft()
    assert estimated(Limits(trials=9), rw.PASHA()).high is None


def test_the_safety_net_of_an_open_end_bounds_nothing():
    recipe = rw.PASHA(max_resource=59_049)
    bounded = estimated(Limits(trials=9), recipe)
    left = estimated(Limits(trials=9), recipe, open_ended=True)
    assert bounded.high > left.low > 0
    assert left == TimeLeft(bounded.low, None)
    assert str(left).startswith("at least ")
    assert estimated(Limits(trials=9, seconds=5), recipe, open_ended=True).high == 1.0


def test_the_time_it_takes_to_start_workers_says_nothing_about_speed():
    assert estimated(Limits(trials=10), late=100) == TimeLeft(6.0, 7.0)


def test_an_earlier_session_says_nothing_about_speed():
    log = log_of(rw.RandomSearch(81))
    estimator = Estimator()
    late = fraction(log, 0.5)
    assert estimator.left(late) == TimeLeft()
    later = Snapshot(late.view, late.elapsed + 100, late.workers)
    assert estimator.left(later) == TimeLeft()


def test_savings_are_computed_rarely(monkeypatch):
    """At first after a few seconds, then as often as a fiftieth of the time allows."""
    clock, calls = Clock(), []
    real = counterfactual.saving

    def slow(*args, **kwargs):
        calls.append(clock.now)
        clock.now += 0.2
        return real(*args, **kwargs)

    monkeypatch.setattr(counterfactual, "saving", slow)
    watch = ChangeWatch(clock)
    log = log_of(rw.PASHA(max_resource=81))
    for index, snapshot in enumerate(moments(log)):
        if index == 0:
            watch.begin(snapshot)
        clock.now += 0.5
        watch.saved(snapshot)
    assert len(calls) > 5
    assert calls[0] >= 1003
    assert min(b - a for a, b in pairwise(calls)) >= 10
    n = len(calls)
    clock.now += 1000
    watch.saved(snapshot)
    watch.saved(snapshot, now=True)
    assert len(calls) <= n + 1  # nothing new was reported since


def test_asha_is_not_compared_with_itself_nor_with_the_open_end():
    for recipe in (rw.ASHA(max_resource=81), rw.PASHA()):
        found = ChangeWatch(Clock()).saved(snapshot_of(rw.replay(log_of(recipe))), now=True)
        assert found.asha is None
        assert found.full.full >= found.full.spent
    failed = ChangeWatch(Clock()).saved(snapshot_of(all_failed()), now=True)
    assert str(failed) == ""
    bounded = rw.replay(log_of(rw.PASHA(max_resource=81)))
    assert ChangeWatch(Clock()).saved(snapshot_of(bounded), now=True).asha is not None
    assert ChangeWatch(Clock()).saved(snapshot_of(bounded, open_ended=True), now=True).asha is None
