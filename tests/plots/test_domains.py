"""What the axes of a figure span, and what is written at them."""

import numpy as np
import pytest
from extras import needs
from figure_reading import Picture, axis_of

import rungwise as rw
from rungwise import plots
from rungwise.plots import layers
from rungwise.plots.figure import make_figure, make_svg

needs_converter = pytest.mark.usefixtures("converter")


@pytest.fixture
def converter():
    return needs("plots", "vl_convert")


def make_dots(rows):
    looks = {**layers.DOT, "color": "#123456"}
    titles = {axis: {"title": axis} for axis in "xy"}
    return make_figure([layers.layer(rows, looks)], title="T", **titles)


def read_tick(text):
    return float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))


@needs_converter
@pytest.mark.parametrize(
    "value", [0.25, 0.6714, 93.57, 926.4, 0, -3, 1e-9, 123_456_789, 1e300 / 2, 0.1 + 0.2]
)
def test_ticks_say_what_is_there_also_where_all_values_are_equal(value):
    rows = [{"x": 0, "y": value}, {"x": 1, "y": value}]
    picture = Picture(make_svg(make_dots(rows)))
    place = picture.dots("#123456")[0][1]
    ticks = sorted((read_tick(text), y - 4) for text, (_, y) in picture.ticks["y"].items())
    assert len(ticks) > 2, "each tick has another number"
    (one, y1), *_, (two, y2) = ticks
    read = one + (place - y1) / (y2 - y1) * (two - one)
    assert read == pytest.approx(value, rel=0.002, abs=0.01 if value == 0 else 0)


def test_values_that_differ_are_drawn_as_before():
    rows = [{"x": 0, "y": 1}, {"x": 1, "y": 1.001}]
    figure = make_dots(rows)
    assert "scale" not in axis_of(figure, "x")
    assert "scale" not in axis_of(figure, "y")


def test_bars_make_an_axis_wide_enough():
    figure = plots.pareto([plots.Point("a", 1, 10, value_std=0.5)])
    assert "domain" not in axis_of(figure, "y")["scale"], "the bar spans the axis"
    assert axis_of(figure, "x")["scale"]["domain"] == [9.5, 10.5]


@needs_converter
@pytest.mark.parametrize("reports", [1, 2, 3, 5])
def test_an_axis_that_counts_has_only_whole_ticks(reports):
    table = rw.Table(np.linspace(1, 0, reports)[None] if reports > 1 else [[1.0]])
    study = rw.simulate(table, rw.FixedResource(reports), trials=1)
    shown = Picture(make_svg(plots.ladder(study))).ticks["x"]
    assert sorted(shown) == [str(number) for number in range(reports + 1)]
    shown = Picture(make_svg(plots.learning_curves(table))).ticks["x"]
    assert sorted(shown) == [str(number) for number in range(1, reports + 1)]


def test_numbers_too_large_to_draw_are_refused():
    rule = r"can only show numbers from -1e\+300 to 1e\+300"
    with pytest.raises(rw.InvalidArgumentError, match=f"value is from -1e.308 to 1e.308, .*{rule}"):
        plots.learning_curves(rw.Table([[1e308, -1e308]]))
    with pytest.raises(rw.InvalidArgumentError, match=rule):
        plots.pareto([plots.Point("a", 1, 2, value_std=1e308)])
    with pytest.raises(rw.InvalidArgumentError, match=rule):
        plots.pareto([plots.Point("a", 1e308, 2, value_std=1e308)])


def test_a_few_values_too_large_to_draw_lie_outside_the_picture():
    values = np.tile(np.linspace(1, 0, 30), (40, 1)) + np.linspace(0, 1, 40)[:, None]
    values[3, 5], values[7, 2] = 1e308, -1e308
    low, high = axis_of(plots.learning_curves(rw.Table(values)), "y")["scale"]["domain"]
    assert -10 < low < 0
    assert 2 < high < 10
