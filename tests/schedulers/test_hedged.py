"""Hedged halving against a brute-force oracle, and what it does with too little or nothing."""

import math

import numpy as np
import pytest

import rungwise as rw
from rungwise.core.ladder import Ladder
from rungwise.schedulers import hedged


def levels_reached(values, levels, size):
    """The furthest level of each row by the law of the algorithm, batch after batch.

    Written from the description, not from the code: all losses are known in advance.
    """
    reached = {}
    low, high = levels[0], levels[-1]
    meeting = 0
    for place, level in enumerate(levels[:-1]):
        if level * level <= 2 * low * high:
            meeting = place
    for begin in range(0, len(values), size):
        drawn = list(range(begin, min(begin + size, len(values))))
        skip = max(1, round(size * low / levels[meeting])) if meeting else 0
        skipped = drawn[:skip]
        for row in drawn:
            reached[row] = meeting if row in skipped else 0
        rung = drawn
        for place in range(len(levels) - 1):
            part = 4 if place < meeting else 3 if place == meeting else 2
            ranked = sorted(rung, key=lambda row: (values[row, levels[place] - 1], row))
            best = ranked[: math.ceil(len(rung) / part)]
            best = [row for row in best if values[row, levels[place] - 1] < math.inf]
            if place + 1 == meeting:
                best += [row for row in skipped if row not in best]
            if not best:
                break
            for row in best:
                reached[row] = max(reached[row], place + 1)
            rung = best
    return {row: levels[place] for row, place in reached.items()}


@pytest.mark.parametrize("seed", range(40))
def test_who_is_trained_how_far(seed):
    rng = np.random.default_rng(seed)
    rows, most, eta = int(rng.integers(1, 160)), int(rng.integers(1, 120)), int(rng.integers(2, 5))
    low = int(rng.integers(1, min(3, most) + 1))
    values = rng.integers(0, 12, (rows, most)).astype(float)  # with ties
    values[rng.random(rows) < 0.2] = math.inf
    size = int(rng.integers(1, rows + 10)) if rng.random() < 0.4 else None
    recipe = rw.HedgedHalving(low, most, eta, size=size)
    table = rw.Table(values, seconds=rng.uniform(0.1, 3, rows))
    found = rw.simulate(table, recipe, trials=range(rows), workers=int(rng.integers(1, 9)))
    reached = {}
    for row, _, until in found.jobs:
        reached[row] = max(reached.get(row, 0), until)
    drawn = rows if size else max(min(rows, 64), rows // 2)
    assert len(found.rows) == drawn
    assert reached == levels_reached(values[:drawn], recipe.ladder.levels, size or drawn)
    assert len(found.jobs) == len(set(found.jobs))


@pytest.mark.parametrize(
    ("most", "meeting"),
    [(1, 1), (2, 1), (20, 3), (50, 9), (81, 9), (200, 9), (251, 9), (400, 27), (1414, 27)],
)
def test_they_meet_half_way_up(most, meeting):
    assert rw.HedgedHalving(max_resource=most).meeting == meeting


def test_those_that_skip_cost_as_much_as_the_first_rung():
    ladder = Ladder.between(1, 200, eta=3)
    assert hedged.count_skipping(256, ladder, 2) == 28
    assert hedged.count_skipping(3, ladder, 2) == 1
    assert hedged.count_skipping(256, ladder, 0) == 0


def test_an_early_ranking_that_misleads_does_not_decide():
    """The best configuration is the worst one early on: only by skipping does it get far."""
    epochs = np.arange(1, 82)
    good = np.linspace(0.5, 0.6, 64)[:, None] - 0.001 * epochs
    good[0] = np.where(epochs < 6, 0.99, 0.01)
    table = rw.Table(good)
    assert rw.simulate(table, rw.HedgedHalving(), trials=range(64)).best.row == 0
    assert rw.simulate(table, rw.SuccessiveHalving(), trials=range(64)).best.row != 0


def test_it_says_why():
    table = rw.power_laws(64, 81, seed=1)
    why = rw.simulate(table, rw.HedgedHalving(), trials=64).why
    assert "7 configurations were trained to 9 whatever the earlier results" in why
    assert "trials compared: 64 at 1, 16 at 3, " in why
    assert "were drawn, because" not in why
    many = rw.simulate(rw.power_laws(200, 81, seed=1), rw.HedgedHalving(), trials=200)
    assert many.trials == 100
    assert "ended because 100 configurations were evaluated" in many.why
    assert "100 of 200 trials were drawn, because fewer configurations" in many.why


def test_without_a_number_of_trials_it_goes_on_in_batches():
    scheduler = rw.HedgedHalving(max_resource=27).build(trials=None)
    assert scheduler.explain() == "no configuration was drawn"
    found = rw.simulate(
        rw.power_laws(150, 27, seed=1), rw.HedgedHalving(max_resource=27, size=64), trials=150
    )
    first = [start for row, start, until in found.jobs if until == 27]
    assert len(first) >= 3  # every batch has a winner


def test_it_needs_a_maximum():
    with pytest.raises(rw.InvalidArgumentError, match="needs a maximum"):
        rw.HedgedHalving().build(trials=10)
