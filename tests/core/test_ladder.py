"""Rung levels: whole-number multiplication, and errors that name what was wrong."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.core.events import FURTHEST
from rungwise.core.ladder import Ladder
from rungwise.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("low", "high", "eta", "levels"),
    [
        (1, 200, 3, (1, 3, 9, 27, 81, 200)),
        (1, 243, 3, (1, 3, 9, 27, 81, 243)),  # log(243) / log(3) = 4.999…: floats lose a rung
        (1, 1000, 10, (1, 10, 100, 1000)),  # log10(1000) = 2.999… by natural logarithms
        (1, 81, 3, (1, 3, 9, 27, 81)),
        (1, 82, 3, (1, 3, 9, 27, 81, 82)),  # R needs no distance from the level before it
        (2, 9, 2, (2, 4, 8, 9)),
        (5, 7, 3, (5, 7)),
        (7, 7, 3, (7,)),
        (1, 1, 2, (1,)),
    ],
)
def test_levels_multiply_by_eta_while_below_the_maximum_and_end_with_it(low, high, eta, levels):
    ladder = Ladder.between(low, high, eta=eta)
    assert ladder.levels == levels
    assert ladder.top == len(levels) - 1
    assert ladder.max_resource == high


@given(low=st.integers(1, 500), more=st.integers(0, 10**12), eta=st.integers(2, 12))
def test_levels_ascend_by_the_factor_eta_from_r_to_exactly_the_maximum(low, more, eta):
    levels = Ladder.between(low, low + more, eta=eta).levels
    assert levels[0] == low
    assert levels[-1] == low + more
    assert all(type(level) is int for level in levels)
    steps = list(pairwise(levels))
    assert all(upper == eta * lower for lower, upper in steps[:-1])
    assert all(lower < upper <= eta * lower for lower, upper in steps[-1:])


def test_without_a_maximum_the_ladder_goes_on_as_far_as_floats_count():
    ladder = Ladder.between(1, None, eta=3)
    assert ladder.levels[:-1] == tuple(3**k for k in range(34))  # 3³³ < 2⁵³ < 3³⁴
    assert ladder.max_resource == FURTHEST == 2**53
    assert float(FURTHEST - 1) + 1.0 == FURTHEST


def test_numpy_integers_are_whole_numbers_too():
    ladder = Ladder.between(np.int64(1), np.int32(9), eta=np.int8(3))
    assert ladder == Ladder((1, 3, 9), 3)
    assert all(type(level) is int for level in ladder.levels)


def test_a_bracket_is_the_upper_part_of_the_ladder():
    assert Ladder.between(1, 27, eta=3).starting_at(2) == Ladder((9, 27), 3)


NOT_WHOLE = [True, False, 1.0, 2.5, "3", math.nan, -1, 0, None, [1]]


@pytest.mark.parametrize("value", NOT_WHOLE, ids=repr)
def test_min_resource_must_be_a_positive_whole_number(value):
    with pytest.raises(InvalidArgumentError, match="min_resource is ") as caught:
        Ladder.between(value, 9, eta=3)
    assert caught.value.argument == "min_resource"
    assert caught.value.value is value
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [v for v in NOT_WHOLE if v is not None], ids=repr)
def test_max_resource_must_be_a_positive_whole_number(value):
    with pytest.raises(InvalidArgumentError, match="max_resource is ") as caught:
        Ladder.between(1, value, eta=3)
    assert caught.value.value is value
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [*NOT_WHOLE, 1, 3.0], ids=repr)
def test_eta_must_be_a_whole_number_of_at_least_2(value):
    with pytest.raises(InvalidArgumentError, match=r"eta is .* at least 2") as caught:
        Ladder.between(1, 9, eta=value)
    assert caught.value.value is value
    assert repr(value) in str(caught.value)


def test_a_minimum_beyond_the_maximum_names_both():
    with pytest.raises(InvalidArgumentError, match=r"min_resource is 10, .* max_resource = 9"):
        Ladder.between(10, 9, eta=3)
