"""Adaptive halving against a brute-force oracle, and what it does with too little or nothing."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

import rungwise as rw
from rungwise.core.engine import Engine
from rungwise.core.events import JobRequested
from rungwise.core.limits import Limits
from rungwise.core.scheduler import Draw, Extension
from rungwise.core.study import Study
from rungwise.core.trials import Trial
from rungwise.schedulers.order_kept import keeps_order


def lasts(losses, rows, low, high):
    """Whether more pairs keep their order than change it, counted pair by pair."""

    def order(one, other, level):
        first, second = losses[one, level - 1], losses[other, level - 1]
        return int(first > second) - int(first < second)

    pairs = combinations(rows, 2)
    return sum(order(*pair, low) * order(*pair, high) for pair in pairs) > 0


def levels_reached(losses, ladder, size):
    """The furthest level of each row by the law of the algorithm, batch after batch.

    Written from the description, not from the code: all losses are known in advance.
    """
    levels, reached = ladder.levels, {}
    for begin in range(0, len(losses), size):
        rung = list(range(begin, min(begin + size, len(losses))))
        reached |= dict.fromkeys(rung, levels[0])
        for low, high in pairwise(levels):
            ranked = sorted(rung, key=lambda row: (losses[row, low - 1], row))
            ranked = [row for row in ranked if losses[row, low - 1] < math.inf]
            best = ranked[: math.ceil(len(rung) / ladder.eta)]
            if len(best) < 5 or not lasts(losses, best, low, high):
                best = ranked[: math.ceil(len(rung) / 2)]
            if not best:
                break
            reached |= dict.fromkeys(best, high)
            rung = best
    return reached


@pytest.mark.parametrize("seed", range(60))
def test_who_is_trained_how_far(seed):
    rng = np.random.default_rng(seed)
    rows, most, eta = int(rng.integers(1, 160)), int(rng.integers(1, 120)), int(rng.integers(2, 7))
    low = int(rng.integers(1, min(3, most) + 1))
    # From an early ranking that says nothing to one that decides, with ties and diverged trials.
    values = rng.integers(0, 12, (rows, most)) + rng.uniform(0, 20) * rng.random((rows, 1))
    values = np.round(values)
    values[rng.random(values.shape) < rng.choice([0.0, 0.02, 0.2])] = math.inf
    size = int(rng.integers(1, rows + 10)) if rng.random() < 0.4 else None
    recipe = rw.AdaptiveHalving(low, most, eta, size=size)
    table = rw.Table(values, seconds=rng.uniform(0.1, 3, rows))
    found = rw.simulate(table, recipe, trials=range(rows), workers=int(rng.integers(1, 9)))
    reached = {}
    for row, _, until in found.jobs:
        reached[row] = max(reached.get(row, 0), until)
    drawn = rows if size else max(min(rows, 64), rows // 2)
    assert len(found.rows) == drawn
    assert reached == levels_reached(values[:drawn], recipe.ladder, size or drawn)
    assert len(found.jobs) == len(set(found.jobs))


@pytest.mark.parametrize("seed", range(40))
def test_the_order_of_pairs_is_counted(seed):
    rng = np.random.default_rng(seed)
    losses = rng.integers(0, rng.integers(2, 9), (int(rng.integers(1, 30)), 2)).astype(float)
    losses[rng.random(losses.shape) < 0.1] = math.inf
    pairs = [(float(low), float(high)) for low, high in losses]
    assert keeps_order(pairs) == lasts(losses, range(len(losses)), 1, 2)


def make_misleading(rows=64, epochs=81):
    """After one epoch the order is the reverse of what it is from the second on."""
    values = np.repeat(np.linspace(0.1, 0.9, rows)[:, None], epochs, axis=1)
    values[:, 0] = values[::-1, 0]
    return rw.Table(values)


def test_an_early_ranking_that_misleads_decides_less():
    misled = rw.simulate(make_misleading(), rw.AdaptiveHalving(), trials=range(64))
    assert "trials compared: 64 at 1, 32 at 3, 11 at 9, 6 at 27, 3 at 81" in misled.rule
    assert "half of the rung at 1, whose order did not last" in misled.rule
    halved = rw.simulate(make_misleading(), rw.SuccessiveHalving(), trials=range(64))
    assert misled.rungs()[1].best < halved.rungs()[1].best


def test_it_says_why():
    table = rw.power_laws(64, 81, seed=1)
    why = rw.simulate(table, rw.AdaptiveHalving(), trials=64).rule
    assert "the best 1 in 3 of each full rung was promoted" in why
    assert "; trials compared: 64 at 1, 22 at 3, " in why
    assert "were drawn, because" not in why
    many = rw.simulate(rw.power_laws(200, 81, seed=1), rw.AdaptiveHalving(), trials=200)
    assert many.trials == 100
    assert "ended because 100 configurations were evaluated" in many.rule
    assert "100 of 200 trials were drawn, because fewer configurations" in many.rule


def test_without_a_number_of_trials_it_goes_on_in_batches():
    scheduler = rw.AdaptiveHalving(max_resource=27).build(trials=None)
    assert scheduler.explain() == "no configuration was drawn"
    found = rw.simulate(
        rw.power_laws(150, 27, seed=1), rw.AdaptiveHalving(max_resource=27, size=64), trials=150
    )
    first = [start for row, start, until in found.jobs if until == 27]
    assert len(first) >= 3  # every batch has a winner


def test_it_needs_a_maximum():
    with pytest.raises(rw.InvalidArgumentError, match="needs a maximum"):
        rw.AdaptiveHalving().build(trials=10)


def test_before_anything_was_compared_it_counts_nothing():
    rows = [{"row": row} for row in range(9)]
    engine = Engine(Study(rw.AdaptiveHalving(max_resource=9), Limits(trials=9), initial=rows))
    assert "trials compared" not in engine.why()
    engine.handle(JobRequested(0.0))
    assert "trials compared" not in engine.why()


def test_more_trials_are_drawn_although_half_of_all_are_drawn_already(tmp_path):
    def train(config, run):
        for epoch in run.resources():
            run.report(epoch, loss=config["x"] + 1 / epoch)

    given = {"metric": "loss", "max_resource": 3, "backend": "threads:1", "show": "quiet"}
    space, study = {"x": rw.Float(0, 1)}, tmp_path / "study.db"
    assert rw.tune(train, space, trials=64, study=study, **given).trials == 64
    assert rw.resume(study, train, trials=96, show="quiet", trust=True).trials == 96


def test_trials_that_come_while_it_draws_compete_with_the_others():
    scheduler = rw.AdaptiveHalving(max_resource=9).build(trials=3)
    assert scheduler.next_move(may_draw=True).until == 1
    scheduler.started(Trial(0, {}, 0))
    scheduler.extend(Extension(5, None, (), 0))
    for number in range(1, 5):
        assert isinstance(scheduler.next_move(may_draw=True), Draw)
        scheduler.started(Trial(number, {}, 0))
    assert scheduler.next_move(may_draw=True) is None  # all five are waited for
