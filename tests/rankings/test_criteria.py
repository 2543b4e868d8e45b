"""Each criterion on plain arrays, with the numbers worked out by hand."""

import math
from itertools import combinations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rungwise.errors import InvalidArgumentError
from rungwise.rankings import (
    ARRR,
    RBO,
    RRR,
    Exact,
    Leader,
    Noise,
    RungNoise,
    Soft,
    SoftMean,
    SoftMedian,
    SoftSigma,
    Standing,
)
from rungwise.rankings.base import GivenNoise

NAN, INF = math.nan, math.inf
# Each with its name and parameters in the oracle.
CRITERIA = {
    ("exact",): Exact(),
    ("soft", 0.0): Soft(0),
    ("soft", 0.125): Soft(0.125),
    ("sigma", 1): SoftSigma(1),
    ("sigma", 2): SoftSigma(2),
    ("mean",): SoftMean(),
    ("median",): SoftMedian(),
    ("noise", 90): Noise(),
    ("leader", 90): Leader(),
    ("rbo", 1.0, 0.5): RBO(1.0, 0.5),
    ("rbo", 0.5, 0.75): RBO(0.5, 0.75),
    ("rrr", 1.0, 0.05): RRR(),
    ("rrr", 0.5, 0.25): RRR(0.5, 0.25),
    ("arrr", 1.0, 0.05): ARRR(),
    ("arrr", 0.5, 0.25): ARRR(0.5, 0.25),
}


def measure(criterion, top, below, goal="min"):
    return criterion.judge(Standing.of(top, below, goal=goal), GivenNoise()).measure


# ---- direct ranking ------------------------------------------------------------------------------


def test_exact_compares_the_order_not_the_losses():
    assert Exact().stable([0.1, 0.2, 0.3], [10, 20, 21])
    assert not Exact().stable([0.1, 0.3, 0.2], [10, 20, 21])


def test_exact_breaks_ties_by_position_so_a_tie_below_may_count_as_a_change():
    assert Exact().stable([0.1, 0.2], [0.5, 0.5])
    assert not Exact().stable([0.2, 0.1], [0.5, 0.5])
    assert Soft(0).stable([0.2, 0.1], [0.5, 0.5])  # there the places differ, the losses do not


# ---- soft ranking --------------------------------------------------------------------------------


def test_soft_allows_a_swap_of_exactly_epsilon():
    # c = (1, 0), p = (0, 1): |0.75 - 0.5| = 0.25 at both places.
    assert Soft(0.25).stable([0.2, 0.1], [0.5, 0.75])
    assert not Soft(0.25 - 1e-8).stable([0.2, 0.1], [0.5, 0.75])


def test_bits_lost_to_rounding_do_not_count_as_a_move():
    # Two accuracies a step of 1/359 apart, by way of different counts.
    below = [1 - 349 / 359, 1 - 350 / 359]
    step = 347 / 359 - 346 / 359
    assert abs(below[0] - below[1]) > step
    assert Soft(step).stable([0.02, 0.03], below)
    assert Leader().stable(below, [0.1, 0.2], epsilon=step)
    assert not Soft(step * (1 - 1e-6)).stable([0.02, 0.03], below)
    assert not Leader().stable(below, [0.1, 0.2], epsilon=step * (1 - 1e-6))


def test_soft_looks_at_the_losses_of_the_lower_rung():
    # Far apart now, close before: the swap is within ε. The other way round it is not.
    assert Soft(0.1).stable([9.0, 0.0], [0.5, 0.5625])
    assert not Soft(0.1).stable([0.5625, 0.5], [0.0, 9.0])


def test_soft_compares_place_by_place():
    # Top order 2, 0, 1: their losses below are 1, 0.25, 0.5; in below's order 0.25, 0.5, 1.
    # Differences 0.75, 0.25, 0.5.
    top, below = [0.2, 0.3, 0.1], [0.25, 0.5, 1.0]
    assert measure(Soft(0), top, below) == 0.75
    assert Soft(0.75).stable(top, below)
    assert not Soft(0.74).stable(top, below)


def test_sigma_is_the_population_deviation_below():
    # Below 0 and 1: σ = 0.5 (the sample deviation would be 0.707); the swap moves by 1.
    top, below = [0.2, 0.1], [0.0, 1.0]
    assert SoftSigma(2).stable(top, below)
    assert not SoftSigma(1.5).stable(top, below)


@pytest.mark.parametrize(
    ("top", "below", "mean", "median"),
    [
        # Distances below 1, 3, 4: mean 8/3, median 3. The places of 1 and 2 differ by 3.
        ([1, 3, 2], [0, 1, 4], False, True),
        # 0 and 1 differ by 1.
        ([2, 1, 3], [0, 1, 4], True, True),
        # 0 and 2 differ by 4.
        ([3, 2, 1], [0, 1, 4], False, False),
        # Distances 1 1 1 2 2 3 17 18 19 20: mean 8.4, median 2.5. 0 and 3 differ by 3.
        ([4, 2, 3, 1, 5], [0, 1, 2, 3, 20], True, False),
    ],
)
def test_mean_and_median_distance(top, below, mean, median):
    assert SoftMean().stable(top, below) is mean
    assert SoftMedian().stable(top, below) is median


@pytest.mark.parametrize("criterion", [SoftSigma(2), SoftMean(), SoftMedian()], ids=repr)
def test_the_spread_leaves_out_diverged_configurations(criterion):
    # Of 0, 1 and inf below: 2σ = 1 and the only distance is 1; the swap moves by 1.
    assert criterion.stable([0.2, 0.1, 0.3], [0.0, 1.0, NAN])
    assert not criterion.stable([0.3, 0.2, 0.1, 0.4], [0.0, 0.5, 1.25, INF])


@pytest.mark.parametrize("size", [120, 130, 151])
def test_the_median_of_many_distances_is_the_same_whether_listed_or_counted(size):
    rng = np.random.default_rng(size)
    for grain in (16, 2**40):  # with ties, and without
        below = np.sort(np.round(rng.random(size) * grain) / grain)
        pairs = sorted(combinations(range(size), 2), key=lambda p: below[p[1]] - below[p[0]])
        distances = [below[j] - below[i] for i, j in pairs]
        middle = len(pairs) // 2
        for place in (0, middle // 2, *range(middle - 4, middle + 4), len(pairs) - 1):
            i, j = pairs[place]
            top = np.arange(size, dtype=float)
            top[[i, j]] = top[[j, i]]  # the ranking moves by the distance of these two
            stable = distances[place] <= np.median(distances)
            assert SoftMedian().stable(top, below) == stable, place


def test_noise_takes_epsilon_from_the_curves():
    assert Noise().stable([0.2, 0.1], [0.5, 0.75], epsilon=0.25)
    assert not Noise().stable([0.2, 0.1], [0.5, 0.75], epsilon=0.249)
    assert (Noise().noise_percentile(), Noise(80).noise_percentile()) == (90, 80)
    assert Leader(95).noise_percentile() == 95
    assert Soft(0.1).noise_percentile() is None


def test_noise_is_only_asked_when_something_moved():
    class Never:
        def covers(self, gap):
            raise AssertionError("asked for ε without need")

    still, moved = Standing.of([1, 2], [3, 4]), Standing.of([2, 1], [3, 4])
    for criterion in (Noise(), Leader()):
        assert criterion.judge(still, Never()).stable
        assert criterion.judge(moved, GivenNoise(1.0)).epsilon == 1.0


# ---- overlap and regret --------------------------------------------------------------------------


def test_rbo_weighs_the_overlap_at_every_depth():
    # Orders 0 1 2 and 1 0 2: overlaps 0/1, 2/2, 3/3.
    top, below = [1, 2, 3], [2, 1, 3]
    assert measure(RBO(1.0), top, below) == pytest.approx(2 / 3)
    # Weights 4/7, 2/7, 1/7.
    assert measure(RBO(0.5), top, below) == pytest.approx(3 / 7)
    assert measure(RBO(0.0), top, below) == 0.0  # only the first place counts
    assert measure(RBO(0.0), top, [1, 3, 2]) == 1.0


def test_rbo_at_the_threshold_is_stable():
    # Two reversed: (0 + 1) / 2.
    assert RBO(1.0, 0.5).stable([1, 2], [2, 1])
    assert not RBO(1.0, 0.51).stable([1, 2], [2, 1])
    assert RBO(0.9, 1.0).stable(range(40), range(40))


def test_rrr_for_a_minimised_metric():
    # f = 1, 2, 4; in below's order f′ = 2, 1, 4; relative 1, -1/2, 0.
    top, below = [1, 2, 4], [20, 10, 30]
    assert measure(RRR(1.0), top, below) == pytest.approx(0.5 / 3)
    assert measure(ARRR(1.0), top, below) == pytest.approx(1.5 / 3)
    # Weights 4/7, 2/7, 1/7.
    assert measure(RRR(0.5), top, below) == pytest.approx(4 / 7 - 1 / 7)
    assert measure(ARRR(0.5), top, below) == pytest.approx(4 / 7 + 1 / 7)
    # Only the first place counts.
    assert measure(RRR(0.0), top, below) == measure(ARRR(0.0), top, below) == 1.0


def test_rrr_for_a_maximised_metric():
    # f = 4, 2, 1; in below's order f′ = 2, 4, 1; (f - f′) / f = 1/2, -1, 0.
    top, below = [4, 2, 1], [20, 30, 10]
    assert measure(RRR(1.0), top, below, "max") == pytest.approx(-0.5 / 3)
    assert measure(ARRR(1.0), top, below, "max") == pytest.approx(1.5 / 3)
    assert measure(RRR(0.5), top, below, "max") == pytest.approx(2 / 7 - 2 / 7)
    assert measure(ARRR(0.5), top, below, "max") == pytest.approx(4 / 7)


def test_rrr_at_the_threshold_is_stable():
    # Relative 1 and -1/2, halved: 0.25 and 0.75.
    assert RRR(1.0, 0.25).stable([1, 2], [2, 1])
    assert not RRR(1.0, 0.2499).stable([1, 2], [2, 1])
    assert ARRR(1.0, 0.75).stable([1, 2], [2, 1])
    assert not ARRR(1.0, 0.7499).stable([1, 2], [2, 1])


def test_the_regret_of_negative_scores_is_still_a_regret():
    # f = -4, -2; f′ = -2, -4: (f′ - f) / |f| = 1/2, -1.
    assert measure(ARRR(1.0), [-4, -2], [2, 1]) == 0.75
    assert measure(RRR(1.0), [-4, -2], [2, 1]) == -0.25


def test_leader_asks_only_whether_the_winner_would_change():
    # Below's leader is 1, now at 2 against the best's 1.
    assert Leader().stable([1, 2, 4], [20, 10, 30], epsilon=1.0)
    assert not Leader().stable([1, 2, 4], [20, 10, 30], epsilon=0.999)
    assert Leader().stable([1, 2, 4], [10, 30, 20])  # the places behind it are free


def test_rung_noise_measures_the_movement_where_it_measures_the_noise():
    # Early accuracies are close together: their order says nothing, but the values hardly differ.
    early, late = [0.011, 0.012, 0.013], [0.30, 0.06, 0.12]
    assert Noise().stable(late, early, goal="max", epsilon=0.05)
    assert not RungNoise().stable(late, early, goal="max", epsilon=0.05)
    # c = 0, 2, 1 and p = 2, 1, 0 have 0.30, 0.12, 0.06 and 0.12, 0.06, 0.30.
    assert RungNoise().stable(late, early, goal="max", epsilon=0.2401)
    assert not RungNoise().stable(late, early, goal="max", epsilon=0.2399)
    assert RungNoise().stable([NAN, 0.2, 0.3], [NAN, 0.5, 0.6])  # nothing moved


# ---- diverged, few, wrong ------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("goal", ["min", "max"])
def test_whatever_is_not_finite_ranks_last_for_both_goals(bad, goal):
    sign = 1 if goal == "min" else -1
    top, below = sign * np.array([0.1, bad, 0.3]), sign * np.array([0.1, 0.5, 0.2])
    assert Exact().stable(top, below, goal=goal)
    assert Soft(0).stable(top, below, goal=goal)
    assert not Exact().stable(top, sign * np.array([0.1, 0.15, 0.2]), goal=goal)


def test_who_recovers_from_divergence_moves_infinitely_far():
    # Below's order 1, 0; top's 0, 1: |inf - 0.5|.
    assert not Soft(1e300).stable([0.1, 0.3], [NAN, 0.5])
    assert Soft(1e300).stable([NAN, 0.3], [0.25, 0.5])  # who diverges moves by 0.25 below
    assert not RRR(1.0, 1e300).stable([NAN, 0.3], [0.25, 0.5])
    assert not ARRR(1.0, 1e300).stable([NAN, 0.3], [0.25, 0.5])
    assert not Leader().stable([NAN, 0.3], [0.25, 0.5], epsilon=1e300)


@pytest.mark.parametrize("criterion", CRITERIA.values(), ids=repr)
@pytest.mark.parametrize("top", [[], [0.5], [NAN], [NAN, INF, -INF]], ids=repr)
def test_nothing_one_or_only_diverged_configurations_are_stable(criterion, top):
    assert criterion.stable(top, [0.25, 0.5, 0.75][: len(top)])
    assert criterion.stable(top, [NAN] * len(top))


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Soft(-0.1), "epsilon"),
        (lambda: Soft(NAN), "epsilon"),
        (lambda: Soft(INF), "epsilon"),
        (lambda: Soft(True), "epsilon"),
        (lambda: Soft("0.1"), "epsilon"),
        (lambda: SoftSigma(-1), "k"),
        (lambda: SoftSigma(None), "k"),
        (lambda: Noise(101), "percentile"),
        (lambda: Noise(-1), "percentile"),
        (lambda: Leader(100.5), "percentile"),
        (lambda: RBO(p=1.1), "p"),
        (lambda: RBO(t=-0.1), "t"),
        (lambda: RBO(t=1.1), "t"),
        (lambda: RRR(p=-0.1), "p"),
        (lambda: RRR(t=-0.1), "t"),
        (lambda: ARRR(p=2), "p"),
        (lambda: ARRR(t=NAN), "t"),
        (lambda: Exact().stable([1, 2], [1]), "below"),
        (lambda: Exact().stable([1], [1], goal="mean"), "goal"),
    ],
)
def test_a_wrong_argument_is_named(make, argument):
    with pytest.raises(InvalidArgumentError, match=f"^{argument} is ") as caught:
        make()
    assert caught.value.argument == argument


# ---- against the oracle --------------------------------------------------------------------------


@st.composite
def losses(draw):
    """Multiples of 1/1024, so that sums are exact; few values for ties, some diverged."""
    n = draw(st.integers(1, 12))
    grain = draw(st.sampled_from([1024, 256, 4]))
    number = st.integers(-grain, grain).map(lambda k: k / grain)
    value = st.one_of(number, number, number, st.just(INF)) if draw(st.booleans()) else number
    array = st.lists(value, min_size=n, max_size=n)
    return draw(array), draw(array), draw(st.integers(0, 512)) / 1024


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CRITERIA, ids=str)
@given(case=losses())
@settings(max_examples=60)
def test_it_agrees_with_the_naive_criterion(name, case):
    top, below, epsilon = case
    now, before = dict(enumerate(top)), dict(enumerate(below))
    kind, *parameters = name
    expected = oracle.CRITERIA[kind](now, before, epsilon, *parameters)
    criterion = CRITERIA[name]
    assert criterion.stable(top, below, epsilon=epsilon) == expected
    negated = [-x for x in top], [-x for x in below]
    assert criterion.stable(*negated, goal="max", epsilon=epsilon) == expected
