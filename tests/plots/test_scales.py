"""From values to pixels: everything has its place, and ticks are round numbers."""

import math

from extras import needs
from hypothesis import given
from hypothesis import strategies as st

from rungwise.plots.scales import Scale, log_ticks, scale

go = needs("plots", "plotly.graph_objects")
numbers = st.floats(-1e9, 1e9, allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=5), st.booleans())
def test_everything_is_within_its_axis(values, zero):
    axis = go.Figure().layout.xaxis
    axis.rangemode = "tozero" if zero else "normal"
    made = scale(axis, values, 100, 800, pad=0.03)
    for value in values:
        assert 99.9 <= made(value) <= 800.1
    pixels = [pixel for pixel, _ in made.ticks()]
    assert pixels == sorted(pixels)
    assert len({label for _, label in made.ticks()}) == len(pixels)
    assert len(pixels) <= 12
    if zero:
        assert made(0.0) is not None
        assert 99.9 <= made(0.0) <= 800.1


@given(st.floats(1e-6, 1e6), st.floats(1.01, 1e6))
def test_ticks_of_a_logarithm_are_round_and_enough(low, factor):
    ticks = log_ticks(math.log10(low), math.log10(low * factor))
    assert ticks == sorted(set(ticks))
    assert ticks[0] <= low * 1.0001
    assert ticks[-1] >= low * factor * 0.9999


def test_ticks_are_round_numbers():
    made = Scale("linear", 0.0, 0.35, 0, 400)
    assert [label for _, label in made.ticks()] == ["0", "0.1", "0.2", "0.3"]
    upwards = Scale("linear", -10, 10, 400, 100)
    assert [label for _, label in upwards.ticks()] == ["−10", "−5", "0", "5", "10"]
    assert [label for _, label in Scale("linear", 0, 3000, 0, 400).ticks()] == [
        "0",
        "1,000",
        "2,000",
        "3,000",
    ]


def test_what_has_no_place_is_nowhere():
    linear, log = Scale("linear", 0, 1, 0, 100), Scale("log", 0, 2, 0, 100)
    for value in (None, math.nan, math.inf, "a"):
        assert linear(value) is None
    assert log(0) is None
    assert log(10) == 50
    assert Scale("category", -0.5, 1.5, 0, 100, ("a", "b"))("c") is None
