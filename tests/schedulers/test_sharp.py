"""Sharp halving against a brute-force oracle, and how it goes on when more trials come."""

import math
from itertools import pairwise

import numpy as np
import pytest

import rungwise as rw


def levels_reached(losses, ladder, rounds, first_cut):
    """The furthest level of each row by the law of the algorithm, round after round.

    Written from the description, not from the code: all losses are known in advance.
    """
    reached = {}
    for drawn in rounds:
        for row in range(drawn):
            reached.setdefault(row, ladder.levels[0])
        for number, (low, high) in enumerate(pairwise(ladder.levels)):
            here = [row for row, level in reached.items() if level >= low]
            above = sum(reached[row] >= high for row in here)
            places = len(here) // ladder.eta
            if number == 0:
                places = max(len(here) // first_cut, 2)
            ranked = sorted(here, key=lambda row: (losses[row, low - 1], row))
            others = [row for row in ranked if reached[row] < high]
            chosen = others[: max(0, places - above)]
            best = [row for row in chosen if losses[row, low - 1] < math.inf]
            reached |= dict.fromkeys(best, high)
            if not best and not above:
                break
    return reached


def find_rounds(trials):
    """How many were drawn when each round was over."""
    return [drawn for drawn in (32, 64, 128) if drawn < trials] + [trials]


@pytest.mark.parametrize("seed", range(60))
def test_who_is_trained_how_far(seed):
    rng = np.random.default_rng(seed)
    rows, most, eta = int(rng.integers(1, 200)), int(rng.integers(1, 120)), int(rng.integers(2, 5))
    low, cut = int(rng.integers(1, min(3, most) + 1)), int(rng.integers(2, 20))
    # From an early ranking that says nothing to one that decides, with ties and diverged trials.
    values = rng.integers(0, 12, (rows, most)) + rng.uniform(0, 20) * rng.random((rows, 1))
    values = np.round(values)
    values[rng.random(values.shape) < rng.choice([0.0, 0.02, 0.2])] = math.inf
    recipe = rw.SharpHalving(low, most, eta, first_cut=cut)
    table = rw.Table(values, seconds=rng.uniform(0.1, 3, rows))
    found = rw.simulate(table, recipe, trials=range(rows), workers=int(rng.integers(1, 9)))
    reached = {}
    for row, _, until in found.jobs:
        reached[row] = max(reached.get(row, 0), until)
    assert reached == levels_reached(values, recipe.ladder, find_rounds(rows), cut)
    assert len(found.jobs) == len(set(found.jobs))


def test_most_of_the_training_is_in_the_first_rung():
    found = rw.simulate(rw.power_laws(256, 81, seed=1), "sharp", trials=256)
    assert [rung.entered for rung in found.rungs() if rung.entered] == [256, 16, 5, 1]
    assert found.resource_spent == 256 + 16 * 2 + 5 * 6 + 18
    assert "the best 1 in 16 of the first rung and 1 in 3 of every other full rung" in found.rule
    assert "in 4 rounds, and the last rung was 27" in found.rule


def test_a_longer_study_begins_like_a_shorter_one():
    table = rw.power_laws(128, 27, seed=1)
    few, many = (rw.simulate(table, "sharp", trials=range(n), workers=1) for n in (64, 128))
    assert many.jobs[: len(few.jobs)] == few.jobs


def test_the_second_half_is_drawn_when_it_is_known_what_became_of_the_first():
    table = rw.power_laws(128, 27, seed=1)
    jobs = rw.simulate(table, rw.SharpHalving(), trials=range(128), workers=8).jobs
    later = min(number for number, (row, _, _) in enumerate(jobs) if row >= 64)
    assert {until for _, _, until in jobs[:later]} == {1, 3, 9}


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] + 1 / epoch)


SPACE = {"x": rw.Float(0, 1)}
GIVEN = {"metric": "loss", "goal": "min", "backend": "threads:1", "show": "quiet"}


def test_without_a_number_of_trials_each_round_is_as_large_as_all_before():
    scheduler = rw.SharpHalving(max_resource=3)
    result = rw.tune(train, SPACE, scheduler=scheduler, resource_budget=200, **GIVEN)
    trials = result.engine.trials
    first = [trial for trial in trials[:32] if trial.resource == 3]
    assert len(trials) > 128
    assert len(first) >= 2  # of the first 32, before a second round of 32


def test_further_trials_are_another_round_and_a_higher_maximum_is_used(tmp_path):
    study = tmp_path / "study.db"
    scheduler = rw.SharpHalving(max_resource=3, first_cut=2)
    assert rw.tune(train, SPACE, scheduler=scheduler, trials=8, study=study, **GIVEN).trials == 8
    result = rw.resume(study, train, trials=24, max_resource=9, show="quiet", trust=True)
    assert [rung.entered for rung in result.rungs()] == [24, 12, 4]
    assert "in 2 rounds" in result.rule  # of 8 and 24


def test_a_study_that_is_extended_after_a_full_round_ends_as_a_longer_one(tmp_path):
    given = {**GIVEN, "scheduler": rw.SharpHalving(max_resource=9), "searcher": "tpe", "seed": 3}
    study = tmp_path / "study.db"
    rw.tune(train, SPACE, trials=64, study=study, **given)
    extended = rw.resume(study, train, trials=128, show="quiet", trust=True)
    longer = rw.tune(train, SPACE, trials=128, **given)
    assert [trial.resources for trial in extended.engine.trials] == [
        trial.resources for trial in longer.engine.trials
    ]
    assert extended.best.config == longer.best.config


def test_bad_arguments_are_refused():
    with pytest.raises(rw.InvalidArgumentError, match="needs a maximum"):
        rw.SharpHalving().build(trials=10)
    with pytest.raises(rw.InvalidArgumentError, match=r"first_cut is 1, but it must .* 2"):
        rw.SharpHalving(first_cut=1)
