"""Counting instead of sorting: the shortcuts for many pairs decide as the definitions do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rungwise as rw
from rungwise.rankings import SoftMedian, Standing, crossings, soft
from rungwise.rankings.base import GivenNoise
from rungwise.rankings.crossings import Crossings


class Curve:
    def __init__(self, number, losses):
        self.id = number
        self.resources = list(range(1, len(losses) + 1))
        self.losses = list(losses)


def random_curves(rng, trials=12, epochs=9, grain=16):
    return np.round(rng.normal(size=(trials, epochs)) * grain) / grain


@pytest.mark.parametrize("percentile", [0, 50, 90, 100])
@pytest.mark.parametrize("seed", range(6))
def test_a_gap_is_covered_exactly_when_it_is_within_epsilon(monkeypatch, percentile, seed):
    rng = np.random.default_rng(seed)
    curves = random_curves(rng)
    exact, counting = Crossings(percentile), Crossings(percentile)
    for noise in (exact, counting):
        noise.watch(3, 9, ())
    gap = 0.5
    known, shown = 0, 0
    for number, losses in enumerate(curves):
        for end in range(4, 10):
            for noise in (exact, counting):
                noise.touch(Curve(number, losses[:end]))
            if rng.random() < 0.5:  # mostly the gap stays the same from check to check
                gap = float(rng.choice([0.0625, 0.25, 0.5, 1.0, 2.0]))
            epsilon = exact.epsilon()
            with monkeypatch.context() as patch:
                patch.setattr(crossings, "_MANY", 0)
                covered, told = counting.covers(gap)
            assert covered == (gap <= epsilon)
            assert told in (None, epsilon)
            known += told is not None
            shown += told is None
    assert known  # whenever the answer is no, ε is known
    assert shown or percentile == 0


@given(st.lists(st.integers(0, 12), min_size=2, max_size=12), st.integers(1, 12))
def test_the_median_distance_is_compared_by_counting(losses, moved):
    ascending = np.sort(np.array(losses, dtype=float)) / 8
    gap = moved / 8
    first, second = np.triu_indices(ascending.size, k=1)
    distances = ascending[second] - ascending[first]
    assert soft._pairs_closer_than(gap, ascending) == int((distances < gap).sum())


@given(st.lists(st.floats(0, 1e3), min_size=2, max_size=30), st.floats(1e-9, 1e3))
def test_counting_pairs_is_right_to_the_last_bit(losses, gap):
    ascending = np.sort(np.array(losses))
    first, second = np.triu_indices(ascending.size, k=1)
    distances = ascending[second] - ascending[first]
    assert soft._pairs_closer_than(gap, ascending) == int((distances < gap).sum())


@pytest.mark.parametrize(
    ("losses", "gap", "closer"),
    [
        # x₀ + gap is rounded down to x₂, although x₂ − x₀ is below the gap.
        ([0.5436249914654229, 0.6066357757671799, 0.7294965609839984], 0.18587156951857556, 3),
        # x₁ + gap is rounded up beyond x₂, although x₂ − x₁ is the gap.
        ([0.0006462368962429871, 278.7679766747637, 961.7367481599221], 682.9687714851584, 1),
    ],
)
def test_rounding_does_not_miscount(losses, gap, closer):
    assert soft._pairs_closer_than(gap, np.array(losses)) == closer


def test_soft_median_decides_alike_with_few_and_with_many(monkeypatch):
    rng = np.random.default_rng(0)
    standings = [
        Standing.of(rng.integers(0, 9, n) / 8, rng.integers(0, 9, n) / 8)
        for n in rng.integers(2, 12, 300)
    ]
    listed = [SoftMedian().judge(standing, GivenNoise()).stable for standing in standings]
    monkeypatch.setattr(soft, "_FEW", 0)
    counted = [SoftMedian().judge(standing, GivenNoise()) for standing in standings]
    assert [verdict.stable for verdict in counted] == listed
    assert any(verdict.epsilon is None for verdict in counted if verdict.measure)
    assert {*listed} == {True, False}


@pytest.mark.no_cover
@pytest.mark.parametrize("check", ["rung", "report"])
@pytest.mark.parametrize("ranking", [rw.rankings.Noise(), rw.rankings.Leader(), SoftMedian()])
def test_whole_studies_do_not_change(monkeypatch, ranking, check):
    for seed in range(8):
        table = rw.power_laws(80, 27, seed=seed, noise=0.05)
        recipe = rw.PASHA(max_resource=27, eta=2, ranking=ranking, check=check)
        usual = rw.simulate(table, recipe, trials=80)
        with monkeypatch.context() as patch:
            patch.setattr(crossings, "_MANY", 0)
            patch.setattr(soft, "_FEW", 0)
            counted = rw.simulate(table, recipe, trials=80)
        assert (counted.jobs, counted.ceilings) == (usual.jobs, usual.ceilings)
