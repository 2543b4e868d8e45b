"""Methods against each other: the front, the bars, and what their axes count."""

import math
from types import SimpleNamespace

import pytest
from extras import needs
from hypothesis import given
from hypothesis import strategies as st

import rungwise as rw
from rungwise import plots
from rungwise.lab.reproduction.results import Figure, Row, Section
from rungwise.plots import theme
from rungwise.plots.comparisons import front, make_points

needs("plots")

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


def by_name(figure):
    return {trace.name: trace for trace in figure.data}


SECTION = section([row("asha", 0.94, 1000), row("pasha", 0.935, 400), row("bad", 0.8, 2000)])


def test_a_section_knows_its_units():
    figure = plots.pareto(SECTION)
    pasha = by_name(figure)["PASHA"]
    assert (pasha.x[0], pasha.y[0]) == (400, pytest.approx(93.5))
    assert (pasha.error_x.array[0], pasha.error_y.array[0]) == (5, pytest.approx(1.0))
    assert figure.layout.xaxis.title.text == "resource spent"
    assert figure.layout.yaxis.title.text == "test accuracy (%)"
    assert figure.layout.title.text == "<b>tiny: test accuracy against resource spent</b>"


def test_against_hours():
    figure = plots.pareto(
        section([row("asha", 0.5, 9, seconds=7200)], percent=False), against="seconds"
    )
    asha = by_name(figure)["ASHA"]
    assert (asha.x[0], asha.error_x.array[0], asha.y[0]) == (2.0, 0.1, 0.5)
    assert figure.layout.xaxis.title.text == "runtime (hours)"
    assert figure.layout.yaxis.title.text == "test accuracy"


def test_the_front_is_a_stair_and_its_points_are_larger():
    traces = by_name(plots.pareto(SECTION))
    line = traces["nothing better for less"]
    assert list(line.x) == [400, 1000]
    assert line.line.shape == "hv"
    sizes = {name: trace.marker.size for name, trace in traces.items() if name.isupper()}
    assert sizes["ASHA"] == sizes["PASHA"] > sizes["BAD"]


def test_where_less_is_better_the_front_is_below():
    figure = plots.pareto(section(SECTION.rows, final_goal="min"))
    assert list(by_name(figure)["nothing better for less"].x) == [400, 2000]


def test_costs_far_apart_are_on_a_logarithm():
    near = plots.pareto([plots.Point("a", 1, 10), plots.Point("b", 2, 200)])
    assert near.layout.xaxis.type is None
    far = plots.pareto([plots.Point("a", 1, 10), plots.Point("b", 2, 201)])
    assert far.layout.xaxis.type == "log"
    assert {10, 20, 50, 100, 200} <= set(far.layout.xaxis.tickvals)
    small = plots.pareto([plots.Point("a", 1, 0.5), plots.Point("b", 2, 201)])
    assert small.layout.xaxis.type == "log"
    free = plots.pareto([plots.Point("a", 1, 0), plots.Point("b", 2, 201)])
    assert free.layout.xaxis.type is None, "nothing has no logarithm"


def test_a_long_legend_makes_the_figure_higher():
    points = [plots.Point(f"p{n}", n, n) for n in range(1, 40)]
    assert plots.pareto(points).layout.height == 160 + 20 * 40
    assert plots.pareto(points[:2]).layout.height == 520


def test_figures_that_are_not_finite_have_no_place():
    rows = [row("a", math.nan, 3), row("b", 0.5, math.inf), row("c", 0.5, 3, std=math.nan)]
    assert [point.label for point in make_points(section(rows), "spent")] == ["C"]
    assert make_points(section(rows), "spent")[0].value_std == 0
    with pytest.raises(rw.InvalidArgumentError, match="finite figures"):
        plots.pareto(section(rows[:2]))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_the_front_is_who_nobody_beats(pairs):
    points = [plots.Point(str(n), value, cost) for n, (cost, value) in enumerate(pairs)]
    for goal, sign in (("max", 1), ("min", -1)):
        found = {(point.cost, point.value) for point in front(points, goal)}
        beaten = {
            (cost, value)
            for cost, value in pairs
            for other_cost, other in pairs
            if (other_cost, other) != (cost, value)
            and other_cost <= cost
            and sign * other >= sign * value
        }
        assert found == set(pairs) - beaten


def test_pointing_at_a_point_tells_its_figures():
    (_, dot) = plots.pareto([plots.Point("PASHA", 93.5678, 1079.2, 0.123456, 300)]).data
    assert (plots.Point("a", 1, 2).value_std, plots.Point("a", 1, 2).cost_std) == (0, 0)
    assert dot.text == ("PASHA<br>93.57 ± 0.1235<br>for 1,079 ± 300",)


def test_labels_are_text():
    (_, dot) = plots.pareto([plots.Point("<i>%{x}", 1, 2)]).data
    assert dot.name == "&lt;i&gt;%{x}"
    assert dot.hovertemplate == "%{text}<extra></extra>"
    assert dot.text[0].startswith("&lt;i&gt;%{x}<br>")


def test_bars_are_sorted_and_slower_ones_stand_out():
    bars, even = plots.speedup({"a": 1.5, "b<c": 0.5, "d": 1.0}, title="x & y").data
    assert (list(bars.x), list(bars.y)) == ([0.5, 1.0, 1.5], ["b&lt;c", "d", "a"])
    assert bars.text == ("0.50×", "1.00×", "1.50×")
    slow, same, fast = bars.marker.color
    assert (slow, same, fast) == (theme.PALETTE[1], theme.PALETTE[0], theme.PALETTE[0])
    assert bars.showlegend is False
    assert (list(even.x), list(even.y)) == ([1, 1], ["b&lt;c", "a"])
    figure = plots.speedup({"a": 1.5, "b": 0.5, "d": 1.0}, title="x & y")
    assert figure.layout.title.text == "<b>x &amp; y</b><br><sub>median 1.00× over 3</sub>"


def test_many_bars_have_room():
    assert plots.speedup({str(n): 1 for n in range(35)}).layout.height == 140 + 24 * 35
    assert plots.speedup({"a": 1}).layout.height == 240


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.pareto([]), "there must be one"),
        (lambda: plots.pareto([3]), "source is 3, but it must be a section"),
        (lambda: plots.pareto(None), "source is None, but it must be a section"),
        (lambda: plots.pareto([plots.Point("a", 1, 2)], goal="more"), "goal is 'more'"),
        (lambda: plots.pareto(SECTION, against="money"), "against is 'money'"),
        (lambda: plots.Point("a", math.nan, 2), "value of a is nan"),
        (lambda: plots.Point("a", 1, math.inf), "cost of a is inf"),
        (lambda: plots.Point("a", 1, 2, -1), "value_std of a is -1"),
        (lambda: plots.Point("a", 1, 2, 0, -1), "cost_std of a is -1"),
        (lambda: plots.speedup({}), "one at least"),
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
    assert by_name(figure)["mine"].y[0] == 1.0
