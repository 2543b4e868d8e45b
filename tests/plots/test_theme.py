"""Colours, legends and axes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise import plots
from rungwise.plots import layers, theme


def test_no_two_lines_look_alike():
    looks = {(theme.colour(n), tuple(theme.dash(n))) for n in range(24)}
    assert len(looks) == 24
    points = {(theme.colour(n), theme.symbol(n)) for n in range(30)}
    assert len(points) == 30


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_texts_can_be_read():
    assert contrast(theme.INK, "#ffffff") > 7
    assert contrast(theme.SOFT_INK, "#ffffff") > 4.5


def test_every_figure_is_in_the_house_style():
    spec = plots.speedup({"a": 1}).spec
    assert spec["config"] == theme.CONFIG
    assert spec["width"] == theme.WIDTH


def test_a_legend_gives_each_name_its_look():
    found = layers.legend("color", ["a", "b"], ["red", "blue"])["color"]
    assert found["field"] == "label"
    assert found["scale"] == {"domain": ["a", "b"], "range": ["red", "blue"]}
    assert found["legend"] == {"title": None}


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 100, [1, 2, 5, 10, 20, 50, 100]),
        (0.3, 4, [0.5, 1, 2]),
        (7, 3e5, [10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5]),
        (1, 1e6, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
        (1e-6, 1e-5, [1e-6, 2e-6, 5e-6, 1e-5]),
    ],
)
def test_logarithms_have_round_ticks(low, high, ticks):
    if math_is_wide(low, high):
        ticks = [tick for tick in ticks if f"{tick:e}".startswith("1.")]
    assert layers.find_log_ticks(low, high) == ticks


def math_is_wide(low, high):
    return high / low > 1e4


@given(st.floats(1e-9, 1e9), st.floats(1.01, 1e9))
def test_ticks_are_within_their_axis_and_not_too_many(low, factor):
    ticks = layers.find_log_ticks(low, low * factor)
    assert ticks == sorted(set(ticks))
    assert all(low <= tick <= low * factor for tick in ticks)
    assert len(ticks) <= 15
    axis = layers.log_axis(low, low * factor, [low])
    assert axis["axis"]["values"] == [low]
    assert axis["scale"]["domain"] == [low, low * factor]


def test_public_names_are_in_order_and_documented():
    assert plots.__all__ == sorted(plots.__all__, key=lambda name: (not name[0].isupper(), name))
    for name in plots.__all__:
        text = getattr(plots, name).__doc__
        assert text
        assert not re.match(rf"{name}\(", text)
