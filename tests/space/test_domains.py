from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.errors import SpaceError
from rungwise.space import Choice, Float, Int


@given(st.data())
def test_a_place_is_one_that_gives_the_value(data):
    domain = data.draw(
        st.one_of(
            ints().filter(lambda domain: domain.high < 2**40),
            st.integers(1, 9).map(lambda n: Choice(list(range(n)), ordered=True)),
        )
    )
    value = domain.at(data.draw(st.floats(0.0, 1.0, exclude_max=True)))
    assert 0 <= domain.place(value) < 1
    if domain.size < 2**20:  # beyond, neighbours are closer than floats
        assert domain.at(domain.place(value)) == value


positions = st.floats(0.0, 1.0, exclude_max=True)
bounds = st.floats(-1e300, 1e300)
scalars = st.one_of(
    st.text(max_size=3),
    st.integers(-3, 3),
    st.floats(-3.0, 3.0),
    st.booleans(),
    st.none(),
)


@st.composite
def floats(draw):
    log = draw(st.booleans())
    ends = st.floats(1e-300, 1e300) if log else bounds
    low, high = sorted(draw(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1])))
    return Float(low, high, log=log)


@st.composite
def ints(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(2**53), 2**53 - 1))
    return Int(low, draw(st.integers(low + 1, 2**53)), log=log)


@pytest.mark.parametrize(
    ("build", "argument"),
    [
        (lambda: Float(1, 1), "low"),
        (lambda: Float(2, 1), "low"),
        (lambda: Float(math.nan, 1), "low"),
        (lambda: Float(0, math.inf), "high"),
        (lambda: Float(0, 10**400), "high"),
        (lambda: Float("0", 1), "low"),
        (lambda: Float(False, 1), "low"),
        (lambda: Float(0, None), "high"),
        (lambda: Float(0, 1, log=True), "low"),
        (lambda: Float(-1, 1, log=True), "low"),
        (lambda: Float(1, 2, log=1), "log"),
        (lambda: Int(1, 1), "low"),
        (lambda: Int(1.0, 2), "low"),
        (lambda: Int(1, 2.5), "high"),
        (lambda: Int(True, 2), "low"),
        (lambda: Int(1, 2**53 + 1), "high"),
        (lambda: Int(0, 5, log=True), "low"),
        (lambda: Int(1, 5, log="yes"), "log"),
        (lambda: Choice([]), "options"),
        (lambda: Choice("abc"), "options"),
        (lambda: Choice({1, 2}), "options"),
        (lambda: Choice([1, 1]), "options"),
        (lambda: Choice([2, 1, 2]), "options"),
        (lambda: Choice([0.0, -0.0]), "options"),
        (lambda: Choice([[1]]), "options"),
        (lambda: Choice([math.nan]), "options"),
        (lambda: Choice([math.inf]), "options"),
        (lambda: Choice([object()]), "options"),
        (lambda: Choice([1, 2], ordered=None), "ordered"),
    ],
)
def test_an_illegal_argument_is_named(build, argument):
    with pytest.raises(SpaceError) as caught:
        build()
    assert caught.value.argument == argument
    assert str(caught.value).startswith(f"{argument} is ")


def test_arguments_become_plain_python():
    domain = Float(np.float32(1), np.int64(2))
    assert (type(domain.low), type(domain.high)) == (float, float)
    assert type(Int(np.int32(1), np.int64(2)).low) is int
    assert [
        type(option) for option in Choice([np.int64(1), np.str_("a"), np.bool_(True)]).options
    ] == [
        int,
        str,
        bool,
    ]


def test_equal_numbers_of_other_types_are_other_options():
    choice = Choice([1, 1.0, True, "1", None])
    assert [choice.accept("x", option) for option in choice.options] == [1, 1.0, True, "1", None]
    assert [type(choice.accept("x", option)) for option in choice.options] == [
        int,
        float,
        bool,
        str,
        type(None),
    ]
    assert [choice.index(option) for option in choice.options] == [0, 1, 2, 3, 4]


def test_domains_are_values():
    assert Float(0, 1) == Float(0.0, 1.0) != Float(0, 1.5)
    assert Int(1, 2) != Int(1, 2, log=True)
    assert Choice([1]) == Choice((1,))
    assert hash(Choice([1])) == hash(Choice((1,)))
    assert Choice([1]) != Choice([True])
    assert Choice([1]) != Choice([1.0])
    assert Choice([1, 2]) != Choice([2, 1])
    assert Choice([1, 2]) != Choice([1, 2], ordered=True)
    with pytest.raises(AttributeError):
        Float(0, 1).low = 2


def test_repr_is_what_one_would_write():
    assert repr(Float(1e-5, 10, log=True)) == "Float(1e-05, 10.0, log=True)"
    assert repr(Int(1, 5)) == "Int(1, 5)"
    assert repr(Choice(("a", None), ordered=True)) == "Choice(['a', None], ordered=True)"


@given(floats(), positions)
def test_a_float_stays_between_its_bounds_and_finds_its_place_again(domain, u):
    value = domain.at(u)
    assert type(value) is float
    assert domain.low <= value <= domain.high
    assert 0.0 <= domain.unit(value) <= 1.0
    if domain.low < value < domain.high and domain.high >= domain.low + abs(domain.low) * 1e-3:
        assert domain.unit(value) == pytest.approx(u, abs=1e-6)


@given(ints(), positions)
def test_an_int_stays_between_its_bounds(domain, u):
    value = domain.at(u)
    assert type(value) is int
    assert domain.low <= value <= domain.high
    assert 0.0 <= domain.unit(value) <= 1.0


def test_encoding_reaches_both_ends_on_both_scales():
    for domain in (Float(1, 4), Float(1, 4, log=True), Int(1, 4), Int(1, 4, log=True)):
        assert (domain.unit(domain.low), domain.unit(domain.high)) == (0.0, 1.0)
    assert Float(1, 4).unit(2.0) == pytest.approx(1 / 3)
    assert Float(1, 4, log=True).unit(2.0) == pytest.approx(1 / 2)
    assert Int(1, 4, log=True).unit(2) == pytest.approx(1 / 2)
    assert Float(-1.7e308, 1.7e308).unit(0.0) == pytest.approx(1 / 2)
    assert Float(-1.7e308, 1.7e308).at(0.5) == 0.0


@pytest.mark.parametrize("domain", [Float(0.0, 5e-324), Int(2**53 - 1, 2**53, log=True)])
def test_bounds_that_rounding_makes_one_still_have_a_place(domain):
    assert 0.0 <= domain.unit(domain.low) <= domain.unit(domain.high) <= 1.0


def test_options_are_encoded_in_their_order():
    assert [Choice(["a", "b", "c"]).unit(option) for option in "abc"] == [0.0, 0.5, 1.0]
    assert Choice(["only"]).unit("only") == 0.0


@given(st.lists(scalars, min_size=1, max_size=6, unique_by=lambda x: (type(x), x)), positions)
def test_a_choice_gives_back_the_very_option(options, u):
    choice = Choice(options)
    value = choice.at(u)
    assert any(value is option for option in choice.options)
    assert choice.accept("x", value) is value


@pytest.mark.parametrize("domain", [Int(-2, 3), Choice(["a", "b", "c", 4, None])])
def test_uniform_positions_give_every_value_the_same_share(domain):
    steps = 600
    counts = Counter(domain.at((step + 0.5) / steps) for step in range(steps))
    assert set(counts) == set(domain.values())
    assert set(counts.values()) == {steps // domain.size}


def test_on_a_log_scale_equal_ratios_have_equal_shares():
    assert Float(1, 100, log=True).at(0.5) == pytest.approx(10.0)
    counts = Counter(Int(1, 8, log=True).at((step + 0.5) / 10_000) for step in range(10_000))
    total = math.log(8.5 / 0.5)
    for value, count in counts.items():
        assert count / 10_000 == pytest.approx(
            math.log((value + 0.5) / (value - 0.5)) / total, abs=1e-3
        )


@pytest.mark.parametrize("value", ["0.5", None, True, math.nan, -0.1, 1.1, [0.5], 10**400])
def test_a_float_refuses(value):
    with pytest.raises(SpaceError, match=r"it must be a number from 0\.0 to 1\.0") as caught:
        Float(0, 1).accept("dropout", value)
    assert caught.value.argument == "dropout"


@pytest.mark.parametrize("value", ["2", None, True, 2.5, 0, 4, math.nan, math.inf, [2]])
def test_an_int_refuses(value):
    with pytest.raises(SpaceError, match="it must be a whole number from 1 to 3"):
        Int(1, 3).accept("layers", value)


@pytest.mark.parametrize("value", ["b", True, 2, 2.0, ["a"], math.nan, b"a"])
def test_a_choice_refuses(value):
    with pytest.raises(SpaceError, match=r"it must be one of 'a', 1, None"):
        Choice(["a", 1, None]).accept("act", value)


def test_harmless_differences_of_type_are_repaired():
    assert repr(Float(0, 1).accept("x", 1)) == "1.0"
    assert repr(Float(-1, 1).accept("x", -0.0)) == "0.0"
    assert repr(Float(0, 1).accept("x", np.float32(0.5))) == "0.5"
    assert repr(Int(1, 3).accept("x", 2.0)) == "2"
    assert repr(Int(1, 3).accept("x", np.int64(2))) == "2"
    assert repr(Choice([0.0, 1.0]).accept("x", 1)) == "1.0"
    assert repr(Choice([0, 1]).accept("x", np.float64(1.0))) == "1"


def test_only_finite_domains_can_be_listed():
    assert list(Int(-1, 1).values()) == [-1, 0, 1]
    with pytest.raises(SpaceError, match="only a finite domain can be listed"):
        Float(0, 1).values()
