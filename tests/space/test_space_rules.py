from __future__ import annotations

import operator
from itertools import product

import pytest

from rungwise.space import Choice, Float, Int
from rungwise.space.rules import AllOf, AnyOf, Compare, Relate, compare, relate

DOMAINS = {
    "n": Int(1, 3),
    "m": Int(1, 3),
    "x": Float(0, 4),
    "size": Choice(["small", "medium", "large"], ordered=True),
    "twin": Choice([1, 1.0, True]),
}
OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize(("op", "expected"), OPERATORS.items())
def test_numbers_compare_as_in_python(op, expected):
    for value in (1, 2, 3):
        assert compare(DOMAINS, "n", op, 2).holds({"n": value}) is expected(value, 2)
        for other in (1, 2, 3):
            rule = relate(DOMAINS, "n", op, "m")
            assert rule.holds({"n": value, "m": other}) is expected(value, other)


@pytest.mark.parametrize(("op", "expected"), OPERATORS.items())
def test_ordered_options_compare_by_position(op, expected):
    for position, option in enumerate(["small", "medium", "large"]):
        assert compare(DOMAINS, "size", op, "medium").holds({"size": option}) is expected(
            position, 1
        )


@pytest.mark.parametrize("op", [*OPERATORS, "in"])
def test_nothing_holds_for_an_inactive_parameter(op):
    assert not compare(DOMAINS, "n", op, [2] if op == "in" else 2).holds({"m": 1})
    if op != "in":
        assert not relate(DOMAINS, "n", op, "m").holds({"m": 1})
        assert not relate(DOMAINS, "n", op, "m").holds({"n": 1})


def test_a_whole_number_equals_the_same_real_number_of_another_parameter():
    assert relate(DOMAINS, "n", "==", "x").holds({"n": 1, "x": 1.0})


def test_options_that_python_calls_equal_are_told_apart():
    assert compare(DOMAINS, "twin", "==", True).holds({"twin": True})
    assert not compare(DOMAINS, "twin", "==", True).holds({"twin": 1})
    assert compare(DOMAINS, "twin", "!=", 1.0).holds({"twin": 1})
    assert compare(DOMAINS, "twin", "in", [1, 1.0]).holds({"twin": 1.0})
    assert not compare(DOMAINS, "twin", "in", [1, 1.0]).holds({"twin": True})


def test_all_and_any():
    parts = (Compare("a", "==", 1), Compare("b", "==", 1))
    for a, b in product([0, 1], repeat=2):
        assert AllOf(parts).holds({"a": a, "b": b}) == (a == 1 and b == 1)
        assert AnyOf(parts).holds({"a": a, "b": b}) == (a == 1 or b == 1)
    assert AllOf(parts).names() == AnyOf(parts).names() == {"a", "b"}


def test_rules_read_like_code():
    rule = AnyOf(
        (AllOf((Compare("a", "in", (1, "b")), Relate("c", "<=", "d"))), Compare("e", "!=", None))
    )
    assert str(rule) == "((a in [1, 'b'] and c <= d) or e != None)"
