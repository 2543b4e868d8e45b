"""ε from criss-crossing curves: lazily and incrementally, against the definition each time."""

import math
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rungwise.rankings import crossings
from rungwise.rankings.crossings import Crossings, interpolate_percentile

INF = math.inf


@dataclass
class Curve:
    id: int
    resources: list = field(default_factory=list)
    losses: list = field(default_factory=list)

    def report(self, resource, loss):
        self.resources.append(resource)
        self.losses.append(loss)


class Definition:
    """ε worked out from the docstring of crossings.py after every single report."""

    def __init__(self, percentile):
        self.percentile, self.epsilon = percentile, 0.0

    def update(self, curves, floor, cap):
        measured = [
            {e: x for e, x in zip(c.resources, c.losses, strict=True) if math.isfinite(x)}
            for c in curves
        ]
        beyond = [curve for curve in measured if max(curve, default=0) > floor]
        distances = []
        for a, b in combinations(beyond, 2):
            common = [e for e in sorted(a.keys() & b.keys()) if e <= cap]
            signs = [a[e] > b[e] for e in common if a[e] != b[e]]
            if sum(x != y for x, y in pairwise(signs)) >= 2:
                distances.append(abs(a[common[-1]] - b[common[-1]]))
        if distances:
            self.epsilon = float(np.percentile(distances, self.percentile))


# ---- one pair of curves --------------------------------------------------------------------------


def epsilon_of(*curves, floor=1, cap=9, percentile=100):
    """ε of curves given as {resource: loss}."""
    made = [Curve(k, list(curve), list(curve.values())) for k, curve in enumerate(curves)]
    noise = Crossings(percentile)
    noise.watch(floor, cap, made)
    return noise.epsilon()


def test_trials_seen_only_beyond_the_top_level_give_no_noise():
    assert epsilon_of({5: 0.5}, floor=1, cap=3) == 0.0
    assert epsilon_of({5: 0.5}, {4: 0.1}, floor=1, cap=3) == 0.0


def dense(*losses):
    return dict(enumerate(losses, start=1))


def test_the_papers_example():
    """Top rung 8 epochs, the next 4; trained for 8, 8 and 6; every pair criss-crosses."""
    rng = np.random.default_rng(0)
    f = [rng.permutation(64)[:8] / 64 for _ in range(3)]
    # Signs + - + at epochs 2, 3 and 4 for each pair, whatever follows.
    f[0][1:4], f[1][1:4], f[2][1:4] = [3, 1, 3], [2, 2, 2], [1, 3, 1]
    a, b, c = dense(*f[0]), dense(*f[1]), dense(*f[2][:6])
    distances = [abs(a[8] - b[8]), abs(a[6] - c[6]), abs(b[6] - c[6])]
    assert len(set(distances)) == 3
    for percentile in (0, 50, 90, 100):
        expected = np.percentile(distances, percentile)
        assert epsilon_of(a, b, c, floor=4, cap=8, percentile=percentile) == expected


@pytest.mark.parametrize(
    ("difference", "counts"),
    [
        ([+1, -1, +1], True),
        ([-1, +1, -1], True),
        ([+1, -1, -1], False),  # one change: an overtaking, not noise
        ([+1, +1, +1], False),
        ([+1, 0, -1, 0, +1], True),  # equal losses are no sign
        ([+1, 0, +1, 0, +1], False),
        ([0, +1, -1, +1], True),
        ([0, 0, +1, -1], False),
        ([+1, -1, +1, -1], True),
        ([0, 0, 0, 0], False),
    ],
)
def test_a_pair_counts_once_its_order_changed_twice(difference, counts):
    base = dense(*[8] * len(difference))
    other = dense(*[8 + d for d in difference])
    assert epsilon_of(base, other, floor=1) == (1.0 if counts else 0.0)


def test_the_distance_is_that_at_the_last_common_resource_even_if_equal_there():
    assert epsilon_of(dense(0, 2, 0, 5), dense(1, 1, 1, 1)) == 4.0
    assert epsilon_of(dense(0, 2, 0, 1), dense(1, 1, 1, 1)) == 0.0
    assert epsilon_of(dense(0, 2, 0, 5), dense(1, 1, 1)) == 1.0


def test_both_must_have_trained_beyond_the_lower_level():
    zigzag, flat = dense(0, 3, 0, 5), dense(1, 1, 1)
    assert epsilon_of(zigzag, flat, floor=2) == 1.0
    assert epsilon_of(zigzag, flat, floor=3) == 0.0  # level 3 reached, not passed


def test_what_lies_beyond_the_top_level_is_left_out():
    assert epsilon_of(dense(0, 3, 0, 9), dense(1, 1, 1, 1), floor=1, cap=3) == 1.0
    assert epsilon_of(dense(0, 3, 3, 0), dense(1, 1, 1, 1), floor=1, cap=3) == 0.0


def test_only_resources_that_both_reported_are_compared():
    # At 2 and 4 alone the order changes once; the reports at 3 and 5 have no counterpart.
    a = {1: 0, 2: 3, 3: 0, 4: 3, 5: 0}
    b = {1: 1, 2: 1, 4: 1, 5.5: 1}
    assert epsilon_of(a, b) == 0.0
    assert epsilon_of(a, {**b, 6: 1}) == 0.0
    assert epsilon_of(a, {1: 1, 2: 1, 4: 1, 5: 2}) == 2.0


def test_reports_that_are_not_finite_are_no_measurements():
    assert epsilon_of(dense(0, INF, 3, 0), dense(1, 1, 1, 1)) == 1.0
    assert epsilon_of(dense(0, INF, 0, 0), dense(1, 1, 1, 1)) == 0.0
    # Beyond level 3 the second one has nothing but a diverged report.
    assert epsilon_of(dense(0, 3, 0, 0), dense(1, 1, 1, INF), floor=3) == 0.0


def test_epsilon_is_0_at_first_and_keeps_its_value_when_the_rungs_change():
    a, b = Curve(0, [1, 2, 3], [0, 3, 0]), Curve(1, [1, 2, 3], [1, 1, 1])
    noise = Crossings(90)
    assert noise.epsilon() == 0.0
    noise.watch(1, 3, [a, b])
    assert noise.epsilon() == 1.0
    noise.watch(3, 9, [a, b])
    assert noise.epsilon() == 1.0
    a.report(4, 5)
    b.report(4, 1)
    noise.touch(a)
    noise.touch(b)
    assert noise.epsilon() == 4.0


def test_a_pair_both_of_whom_arrived_is_not_compared_again():
    """Ten trials at level K: an eleventh costs 1 × 11 comparisons a report, not 11 × 11."""
    rng = np.random.default_rng(1)
    done = [Curve(k, [1, 2, 3], list(rng.random(3))) for k in range(10)]
    noise = Crossings(90)
    noise.watch(1, 3, done)
    noise.epsilon()
    late = Curve(10, [1, 2], [0.5, 0.5])
    noise.touch(late)
    with mock.patch.object(crossings, "criss_crossed", wraps=crossings.criss_crossed) as compared:
        noise.epsilon()
        noise.epsilon()
    assert [(len(call.args[0]), len(call.args[1])) for call in compared.mock_calls] == [(1, 11)]


# ---- the percentile ------------------------------------------------------------------------------


@given(
    values=st.lists(st.floats(0, 1e300), min_size=1, max_size=30),
    percentile=st.one_of(st.sampled_from([0, 50, 80, 90, 95, 100]), st.floats(0, 100)),
    copies=st.sampled_from([1, 1, 1, 20]),  # past 256 values they are not sorted whole
)
def test_the_percentile_is_numpys_to_the_last_bit(values, percentile, copies):
    array = np.array(values * copies)
    assert interpolate_percentile(array, percentile) == np.percentile(array, percentile)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 64, 257, 1000])
def test_the_percentile_rounds_as_numpy_does(size):
    rng = np.random.default_rng(size)
    for _ in range(200):
        values, percentile = rng.random(size), float(rng.uniform(0, 100))
        assert interpolate_percentile(values, percentile) == np.percentile(values, percentile)


# ---- whole studies -------------------------------------------------------------------------------

# Steps between two reports of a trial: how often resources are common to two trials.
GRIDS = {
    "dense": [1.0],
    "sparse": [1.0, 1.0, 2.0, 4.0],
    "irregular": [0.25, 0.25, 0.5, 1.25],
}


@st.composite
def studies(draw, grid):
    """Reports of several trials in any order of arrival, and when the rungs change.

    The first report of each is finite and at 0.5: within every pair of rungs that is watched.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trials, length = int(rng.integers(2, 8)), int(rng.integers(20, 120))
    losses = [0.0, 0.125, 0.25, 0.375, 0.625, 1.0, INF]
    reports = list(
        zip(
            rng.integers(0, trials, length).tolist(),
            rng.choice(GRIDS[grid], length).tolist(),
            rng.choice(losses, length).tolist(),
            strict=True,
        )
    )
    raises = draw(st.lists(st.integers(0, length), max_size=2, unique=True).map(sorted))
    return trials, reports, raises, draw(st.sampled_from([50, 90, 100]))


def play(study, asked):
    """(ε of Crossings, ε of the definition) wherever Crossings is asked."""
    trials, reports, raises, percentile = study
    levels = [1, 3, 9, 27]
    curves = [Curve(k, [], []) for k in range(trials)]
    noise, definition = Crossings(percentile), Definition(percentile)
    noise.watch(levels[0], levels[1], curves)
    seen, rung = [], 1
    for n, (trial, step, loss) in enumerate(reports):
        if n in raises:
            rung += 1
            noise.watch(levels[rung - 1], levels[rung], curves)
            definition.update(curves, levels[rung - 1], levels[rung])
        curve = curves[trial]
        # The first report may lie beyond several levels.
        curve.report(curve.resources[-1] + step if curve.resources else 4 * step, loss)
        noise.touch(curve)
        definition.update(curves, levels[rung - 1], levels[rung])
        if n in asked:
            seen.append((noise.epsilon(), definition.epsilon))
    seen.append((noise.epsilon(), definition.epsilon))
    return seen


@pytest.mark.no_cover
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("asked", ["always", "now and then", "at the end"])
@given(data=st.data())
@settings(max_examples=60)
def test_epsilon_equals_the_definition_whenever_it_is_asked(grid, asked, data):
    study = data.draw(studies(grid))
    every = range(len(study[1]))
    moments = {
        "always": set(every),
        "now and then": set(every[:: data.draw(st.integers(2, 7))]),
        "at the end": set(),
    }[asked]
    for found, expected in play(study, moments):
        assert found == expected


@given(study=studies("dense"), batch=st.sampled_from([1, 7, 40]))
def test_comparing_in_small_batches_changes_nothing(study, batch):
    moments = set(range(0, len(study[1]), 5))
    with mock.patch.object(crossings, "_BATCH", batch):
        for found, expected in play(study, moments):
            assert found == expected


@pytest.mark.parametrize("batch", [1, 500, 1 << 20])
@pytest.mark.parametrize("order", ["one after the other", "side by side"])
def test_many_trials_outgrow_every_array(batch, order):
    """40 trials, 27 resources, hundreds of pairs: rows, columns and distances all have to grow."""
    rng = np.random.default_rng(2)
    table = np.round(rng.random((40, 27)) * 64) / 64
    jobs = [(trial, e) for trial in range(40) for e in range(27)]
    if order == "side by side":
        jobs.sort(key=lambda job: (job[1], job[0]))
    curves = [Curve(trial) for trial in range(40)]
    noise, definition = Crossings(90), Definition(90)
    noise.watch(3, 27, curves)
    with mock.patch.object(crossings, "_BATCH", batch):
        for n, (trial, e) in enumerate(jobs):
            curves[trial].report(e + 1, float(table[trial, e]))
            noise.touch(curves[trial])
            if n % 97 == 0:
                definition.update(curves, 3, 27)
                assert noise.epsilon() == definition.epsilon
    definition.update(curves, 3, 27)
    assert noise.epsilon() == definition.epsilon > 0


@pytest.mark.parametrize("percentile", [0, 50, 90, 100])
@pytest.mark.parametrize("asked", ["around", "twice", "always the same"])
def test_with_many_pairs_a_gap_is_judged_as_epsilon_would(percentile, asked):
    """Counting instead of sorting: the same answers, also at ε itself and for repeated gaps."""
    rng = np.random.default_rng(3)
    table = np.round(rng.random((30, 9)) * 32) / 32
    jobs = [(trial, e) for trial in range(30) for e in range(9)]
    curves = [Curve(trial) for trial in range(30)]
    noise, definition = Crossings(percentile), Definition(percentile)
    noise.watch(1, 9, curves)
    kinds = set()
    with mock.patch.object(crossings, "_MANY", 10):
        for n, (trial, e) in enumerate(jobs):
            curves[trial].report(e + 1, float(table[trial, e]))
            noise.touch(curves[trial])
            if n % 5 == 0:
                definition.update(curves, 1, 9)
                epsilon = definition.epsilon
                gaps = {
                    "around": [epsilon - 1 / 32, epsilon, float(np.nextafter(epsilon, 9)), 0.5],
                    "twice": [epsilon, epsilon],
                    "always the same": [0.25],
                }[asked]
                for gap in gaps:
                    within, told = noise.covers(gap)
                    assert within == (gap <= epsilon)
                    assert told in (None, epsilon)
                    kinds.add((within, told is None))
    assert (False, True) not in kinds  # before the ceiling rises ε must be known
    assert (True, True) in kinds or percentile == 0  # it was not always worked out
