"""The standing of the top rung: kept sorted as trials arrive, in whatever order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.errors import InvalidArgumentError
from rungwise.rankings import Standing

INF = math.inf
VIEWS = ("top", "below", "below_in_top_order", "top_in_below_order", "order", "order_below")
loss = st.one_of(st.integers(-6, 6).map(lambda k: k / 4), st.just(INF))


@st.composite
def arrivals(draw):
    """(id, loss in K, loss in K-1) in any order of ids; past 16 and 32 the arrays have to grow."""
    n = draw(st.sampled_from([0, 1, 2, 5, 12, 17, 40]))
    ids = draw(st.permutations(range(n)))
    pairs = draw(st.lists(st.tuples(loss, loss), min_size=n, max_size=n))
    return [(trial, *pair) for trial, pair in zip(ids, pairs, strict=True)]


def brute(rows):
    by_top = sorted(rows, key=lambda row: (row[1], row[0]))
    by_below = sorted(rows, key=lambda row: (row[2], row[0]))
    return {
        "top": [row[1] for row in by_top],
        "below": [row[2] for row in by_below],
        "below_in_top_order": [row[2] for row in by_top],
        "top_in_below_order": [row[1] for row in by_below],
        "order": [row[0] for row in by_top],
        "order_below": [row[0] for row in by_below],
    }


def distance(a, b):
    return 0.0 if a == b else abs(a - b)


@given(arrivals())
def test_arrivals_in_any_order_stand_as_if_sorted_at_once(rows):
    standing = Standing()
    for n, row in enumerate(rows, start=1):
        standing.add(*row)
        assert standing.size == n
    expected = brute(rows)
    for name in VIEWS:
        assert getattr(standing, name).tolist() == expected[name], name
    assert standing.members == {row[0] for row in rows}


@given(arrivals())
def test_ranks_are_the_places_of_the_trials_by_their_ids(rows):
    standing = Standing()
    standing.extend(rows)
    by_id = sorted(row[0] for row in rows)
    assert standing.ranks.tolist() == [brute(rows)["order"].index(trial) for trial in by_id]
    below = brute(rows)["order_below"]
    assert standing.ranks_below.tolist() == [below.index(trial) for trial in by_id]


@given(arrivals())
def test_adding_one_by_one_equals_the_plain_arrays(rows):
    one_by_one = Standing()
    one_by_one.extend(rows)
    in_id_order = sorted(rows)
    plain = Standing.of([row[1] for row in in_id_order], [row[2] for row in in_id_order])
    for name in VIEWS:
        assert getattr(one_by_one, name).tolist() == getattr(plain, name).tolist(), name
    assert one_by_one.displacement() == plain.displacement()
    assert one_by_one.members == plain.members


@given(arrivals())
def test_displacement_is_the_largest_distance_below_between_holders_of_a_place(rows):
    standing = Standing()
    standing.extend(rows)
    views = brute(rows)
    pairs = zip(views["below_in_top_order"], views["below"], strict=True)
    assert standing.displacement() == max((distance(a, b) for a, b in pairs), default=0.0)


def test_displacement_by_hand():
    # Top order 1, 2, 0 with 0.5, 2, 0 below, against 0, 0.5, 2 in below's own order.
    assert Standing.of([3, 1, 2], [0.0, 0.5, 2.0]).displacement() == 2.0
    # The diverged one stays last: inf against inf moves nothing.
    assert Standing.of([1, 2, INF], [0.5, 0.25, INF]).displacement() == 0.25
    assert Standing.of([3, 2, 1], [0.5, 0.25, INF]).displacement() == INF


@pytest.mark.parametrize("bad", [math.nan, INF, -INF])
@pytest.mark.parametrize("goal", ["min", "max"])
def test_values_that_are_not_finite_become_infinite_losses(bad, goal):
    standing = Standing.of([bad, 1.0], [2.0, bad], goal=goal)
    sign = 1 if goal == "min" else -1
    assert standing.top.tolist() == [sign * 1.0, INF]
    assert standing.below.tolist() == [sign * 2.0, INF]
    assert standing.order.tolist() == [1, 0]


def test_a_maximised_metric_is_ranked_from_the_largest():
    standing = Standing.of(np.array([1, 3, 2]), np.array([5, 4, 6]), goal="max")
    assert standing.order.tolist() == [1, 2, 0]
    assert standing.order_below.tolist() == [2, 0, 1]


def test_arrays_of_different_length_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"below is .*length 1.*as long as top: 2"):
        Standing.of([1, 2], [1])
