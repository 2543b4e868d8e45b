"""Methods against each other: the front, the bars, and what their axes count."""

import math
from types import SimpleNamespace

import pytest
from figure_reading import axis_of, layers_of, legend_of, note_of, rows_of, title_of
from hypothesis import given
from hypothesis import strategies as st

import rungwise as rw
from rungwise import plots
from rungwise.lab.reproduction.results import Figure, Row, Section
from rungwise.plots import theme
from rungwise.plots.comparisons import find_front, make_points

NOTHING = Figure(0.0, 0.0)


def row(method, final, spent, seconds=3600.0, std=0.01):
    figures = [Figure(seconds, 360.0), None, NOTHING, Figure(spent, 5.0), NOTHING, NOTHING]
    return Row(method, method.upper(), 5, Figure(final, std), *figures)


def section(rows, **changes):
    known = {
        "experiment": "table1",
        "title": "PASHA and the others",
        "benchmark": "tiny",
        "protocol": "ours",
        "final_metric": "test accuracy",
        "final_goal": "max",
        "percent": True,
    }
    return Section(**{**known, **changes}, rows=tuple(rows))


def dots_of(figure):
    """{label: row} of the points."""
    (layer,) = layers_of(figure, "point")
    return {row["label"]: row for row in rows_of(layer)}


def front_of(figure):
    (line,) = layers_of(figure, "line")
    assert line["mark"]["interpolate"] == "step-after"
    return [row["x"] for row in rows_of(line)]


SECTION = section([row("asha", 0.94, 1000), row("pasha", 0.935, 400), row("bad", 0.8, 2000)])


def test_a_section_knows_its_units():
    figure = plots.pareto(SECTION)
    pasha = dots_of(figure)["PASHA"]
    assert (pasha["x"], pasha["y"]) == (400, pytest.approx(93.5))
    assert (pasha["left"], pasha["right"]) == (395, 405)
    assert (pasha["bottom"], pasha["top"]) == (pytest.approx(92.5), pytest.approx(94.5))
    assert axis_of(figure, "x")["title"] == "resource spent"
    assert axis_of(figure, "y")["title"] == "test accuracy (%)"
    assert title_of(figure) == "tiny: test accuracy against resource spent"
    across, up = (layer["encoding"] for layer in layers_of(figure, "rule"))
    assert (across["x"]["field"], across["x2"]["field"]) == ("left", "right")
    assert (up["y"]["field"], up["y2"]["field"]) == ("bottom", "top")


def test_against_hours():
    figure = plots.pareto(
        section([row("asha", 0.5, 9, seconds=7200)], percent=False), against="seconds"
    )
    asha = dots_of(figure)["ASHA"]
    assert (asha["x"], asha["right"], asha["y"]) == (2.0, pytest.approx(2.1), 0.5)
    assert axis_of(figure, "x")["title"] == "runtime (hours)"
    assert axis_of(figure, "y")["title"] == "test accuracy"


def test_the_front_is_a_stair_and_its_points_are_larger():
    figure = plots.pareto(SECTION)
    assert front_of(figure) == [400, 1000]
    assert {name: dot["best"] for name, dot in dots_of(figure).items()} == {
        "ASHA": True,
        "PASHA": True,
        "BAD": False,
    }
    size = layers_of(figure, "point")[0]["encoding"]["size"]
    assert size["condition"]["test"] == "datum.best"
    assert size["condition"]["value"] > size["value"]


def test_where_less_is_better_the_front_is_below():
    assert front_of(plots.pareto(section(SECTION.rows, final_goal="min"))) == [400, 2000]


def test_costs_far_apart_are_on_a_logarithm():
    def scale_of(*costs):
        points = [plots.Point(f"p{n}", n, cost) for n, cost in enumerate(costs)]
        return axis_of(plots.pareto(points), "x")

    assert "type" not in scale_of(10, 200)["scale"]
    far = scale_of(10, 201)
    assert far["scale"]["type"] == "log"
    assert far["axis"]["values"] == [10, 20, 50, 100, 200]
    assert far["scale"]["domain"][0] < 10
    assert far["scale"]["domain"][1] > 201
    assert scale_of(0.5, 201)["scale"]["type"] == "log"
    assert "type" not in scale_of(0, 201)["scale"], "nothing has no logarithm"


def test_an_error_bar_below_0_goes_to_the_edge_of_a_logarithm():
    points = [plots.Point("a", 1, 10, cost_std=20), plots.Point("b", 2, 900, cost_std=900)]
    figure = plots.pareto(points)
    low, high = axis_of(figure, "x")["scale"]["domain"]
    dots = dots_of(figure)
    assert (dots["a"]["left"], dots["a"]["right"]) == (low, 30)
    assert (dots["b"]["left"], dots["b"]["right"]) == (low, high)
    near = dots_of(plots.pareto([plots.Point("a", 1, 10, cost_std=20)]))["a"]
    assert near["left"] == -10


def test_a_long_legend_makes_the_figure_higher():
    points = [plots.Point(f"p{n}", n, n) for n in range(1, 40)]
    assert plots.pareto(points).spec["height"] == 140 + 19 * 39
    assert plots.pareto(points[:2]).spec["height"] == 520


def test_more_points_than_colours_are_numbered():
    points = [plots.Point(f"p{n}", n, n) for n in range(7)]
    figure = plots.pareto(points)
    assert list(legend_of(figure))[:2] == ["1  p0", "2  p1"]
    (numbers,) = layers_of(figure, "text")
    assert [row["number"] for row in rows_of(numbers)] == [*"1234567"]
    assert numbers["encoding"]["text"]["field"] == "number"
    few = plots.pareto(points[:6])
    assert list(legend_of(few)) == [f"p{n}" for n in range(6)]
    assert layers_of(few, "text") == []


def test_numbers_of_points_in_one_place_stand_side_by_side():
    points = [plots.Point(f"p{n}", n % 3, n % 3) for n in range(7)]
    (numbers,) = layers_of(plots.pareto(points), "text")
    assert [row["number"] for row in rows_of(numbers)] == ["1, 4, 7", "2, 5", "3, 6", *4 * [""]]


def test_points_of_the_same_name_stay_apart():
    figure = plots.pareto([plots.Point("a", 1, 10), plots.Point("a", 2, 20)])
    assert list(legend_of(figure)) == list(dots_of(figure)) == ["1  a", "2  a"]


def test_figures_that_are_not_finite_have_no_place():
    rows = [row("a", math.nan, 3), row("b", 0.5, math.inf), row("c", 0.5, 3, std=math.nan)]
    assert [point.label for point in make_points(section(rows), "spent")] == ["C"]
    assert make_points(section(rows), "spent")[0].value_std == 0
    with pytest.raises(rw.InvalidArgumentError, match="finite figures"):
        plots.pareto(section(rows[:2]))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_the_front_is_what_nothing_beats(pairs):
    points = [plots.Point(str(n), value, cost) for n, (cost, value) in enumerate(pairs)]
    for goal, sign in (("max", 1), ("min", -1)):
        found = {(point.cost, point.value) for point in find_front(points, goal)}
        beaten = {
            (cost, value)
            for cost, value in pairs
            for other_cost, other in pairs
            if (other_cost, other) != (cost, value)
            and other_cost <= cost
            and sign * other >= sign * value
        }
        assert found == set(pairs) - beaten


def test_tooltips_have_the_figures():
    figure = plots.pareto([plots.Point("PASHA", 93.5678, 1079.2, 0.123456, 300)])
    assert (plots.Point("a", 1, 2).value_std, plots.Point("a", 1, 2).cost_std) == (0, 0)
    dot = dots_of(figure)["PASHA"]
    assert (dot["found"], dot["spent"]) == ("93.57 ± 0.1235", "1,079 ± 300")
    tips = layers_of(figure, "point")[0]["encoding"]["tooltip"]
    assert [tip["field"] for tip in tips] == ["label", "found", "spent"]


def test_a_click_on_the_legend_picks_out_a_point():
    (layer,) = layers_of(plots.pareto(SECTION), "point")
    (param,) = layer["params"]
    assert (param["bind"], param["select"]["fields"]) == ("legend", ["label"])
    assert layer["encoding"]["opacity"]["condition"]["param"] == param["name"]


def test_bars_are_sorted_and_slower_ones_stand_out():
    figure = plots.speedup({"a": 1.5, "b<c": 0.5, "d": 1.0}, title="x & y")
    (bars,) = layers_of(figure, "bar")
    rows = rows_of(bars)
    assert [(row["name"], row["x"]) for row in rows] == [("a", 1.5), ("d", 1.0), ("b<c", 0.5)]
    assert axis_of(figure, "y")["sort"] is None, "the order of the rows"
    assert [row["text"] for row in rows] == ["1.50×", "1.00×", "0.50×"]
    assert [row["colour"] for row in rows] == [*[theme.PALETTE[0]] * 2, theme.PALETTE[1]]
    (even,) = layers_of(figure, "rule")
    assert rows_of(even) == [{"x": 1}]
    assert title_of(figure) == "x & y"
    assert note_of(figure) == "median 1.00× over 3"


def test_bars_begin_at_0_and_there_is_room_for_their_texts():
    low, high = axis_of(plots.speedup({"a": 3}), "x")["scale"]["domain"]
    assert low == 0
    assert high > 3
    assert axis_of(plots.speedup({"a": 0.1}), "x")["scale"]["domain"][1] > 1, "1 is in the picture"


def test_many_bars_have_room():
    assert plots.speedup({str(n): 1 for n in range(35)}).spec["height"] == 120 + 24 * 35
    assert plots.speedup({"a": 1}).spec["height"] == 240


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.pareto([]), "at least one must have finite figures"),
        (lambda: plots.pareto([3]), "source is 3, but it must be a section"),
        (lambda: plots.pareto(None), "source is None, but it must be a section"),
        (lambda: plots.pareto([plots.Point("a", 1, 2)], goal="more"), "goal is 'more'"),
        (lambda: plots.pareto(SECTION, against="money"), "against is 'money'"),
        (lambda: plots.Point("a", math.nan, 2), "value of a is nan"),
        (lambda: plots.Point("a", 1, math.inf), "cost of a is inf"),
        (lambda: plots.Point("a", 1, 2, -1), "value_std of a is -1"),
        (lambda: plots.Point("a", 1, 2, 0, -1), "cost_std of a is -1"),
        (lambda: plots.speedup({}), "at least one"),
        (lambda: plots.speedup([1]), "speed-ups by the names"),
        (lambda: plots.speedup({"a": -1}), "factor of a is -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(rw.InvalidArgumentError, match=words):
        call()


def test_anything_that_looks_like_a_section_is_drawn():
    spread = SimpleNamespace(mean=1.0, std=0.0)
    method = SimpleNamespace(label="mine", final=spread, spent=spread, seconds=spread)
    figure = plots.pareto(
        SimpleNamespace(
            benchmark="b", final_metric="loss", final_goal="min", percent=False, rows=[method]
        )
    )
    assert dots_of(figure)["mine"]["y"] == 1.0
