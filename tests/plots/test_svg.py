"""Figures as SVG: everything is where the axes say, and what cannot be drawn is refused."""

import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from extras import needs

import rungwise as rw
from rungwise import plots
from rungwise.plots import theme
from rungwise.plots.svg import svg

go = needs("plots", "plotly.graph_objects")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(*traces, **layout):
    figure = theme.figure(list(traces), title="T", x="x", y="y")
    figure.update_layout(**layout)
    return figure


def tree(figure):
    return ET.fromstring(svg(figure))  # noqa: S314 - our own text


def inside(root):
    """What is drawn between the axes."""
    (area,) = root.findall(f"{SVG}svg")
    return list(area)


def texts(root):
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def place_of(element):
    """Where a marker is."""
    inner = element.get("transform").split("(")[1].split(")")[0]
    x, y = inner.split()
    return float(x), float(y)


def ticks_of(root, anchor):
    return {
        text.text: (float(text.get("x")), float(text.get("y")))
        for text in root.iter(f"{SVG}text")
        if text.get("text-anchor") == anchor and text.get("x")
    }


def test_points_are_where_the_ticks_say():
    root = tree(drawn(go.Scatter(x=[0, 10, 5], y=[0, 4, 2], mode="markers")))
    (low_x, low_y), (high_x, high_y), (x, y) = map(place_of, inside(root))
    across, up = ticks_of(root, "middle"), ticks_of(root, "end")
    assert (across["0"][0], across["10"][0]) == (low_x, high_x)
    assert up["0"][1] - 4.5 == pytest.approx(low_y, abs=0.11)
    assert up["4"][1] - 4.5 == pytest.approx(high_y, abs=0.11)
    assert (x, y) == (
        pytest.approx((low_x + high_x) / 2, abs=0.2),
        pytest.approx((low_y + high_y) / 2, abs=0.2),
    )
    assert low_y > high_y, "up is up"


def test_a_line_breaks_at_gaps_and_single_points_leave_no_trace():
    root = tree(
        drawn(go.Scatter(x=[1, 2, 3, 4, 5, 6], y=[1, 2, None, 3, math.nan, 1], mode="lines"))
    )
    assert [path.get("d").count("L") for path in inside(root)] == [1]


def test_stairs_go_across_first():
    (path,) = inside(tree(drawn(go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line_shape="hv"))))
    assert path.get("d").startswith("M")
    assert path.get("d").index("H") < path.get("d").index("V")


def test_lines_have_their_looks():
    line = {"color": "rgba(128, 136, 145, 0.35)", "width": 3, "dash": "dash"}
    (path,) = inside(tree(drawn(go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line=line))))
    assert (path.get("stroke"), path.get("stroke-opacity")) == ("#808891", "0.35")
    assert (path.get("stroke-width"), path.get("stroke-dasharray")) == ("3", "7 4")
    (plain,) = inside(tree(drawn(go.Scatter(x=[0, 1], y=[0, 1], mode="lines"))))
    assert plain.get("stroke") == theme.PALETTE[0]
    assert plain.get("stroke-dasharray") is None


def test_markers_have_their_looks():
    marker = {"size": 10, "symbol": "square", "opacity": 0.5, "color": "#123456"}
    (dot,) = inside(tree(drawn(go.Scatter(x=[1], y=[1], mode="markers", marker=marker))))
    assert "scale(5)" in dot.get("transform")
    assert (dot.get("fill"), dot.get("opacity")) == ("#123456", "0.5")
    assert "H" in dot.get("d")


def test_points_of_short_lines_are_shown_and_of_long_ones_not():
    short = inside(tree(drawn(go.Scatter(x=[*range(19)], y=[*range(19)]))))
    long = inside(tree(drawn(go.Scatter(x=[*range(20)], y=[*range(20)]))))
    assert (len(short), len(long)) == (20, 1)


def test_error_bars_reach_as_far_as_they_say():
    spread = {"type": "data", "array": [2], "color": "#112233", "thickness": 1, "width": 3}
    none = {**spread, "array": [0]}
    trace = go.Scatter(x=[5], y=[5], mode="markers", error_x=spread, error_y=none)
    ends = go.Scatter(x=[3, 7], y=[5, 5], mode="markers")
    bar, dot, left, right = inside(tree(drawn(trace, ends)))
    (x0, _), (x1, y) = place_of(left), place_of(right)
    caps = f"M{x0} {y - 3:.1f}v6M{x1} {y - 3:.1f}v6"
    assert bar.get("d") == f"M{x0} {y}H{x1}{caps}"
    assert bar.get("stroke") == "#112233"
    assert place_of(dot)[1] == y


def test_error_bars_up_and_down():
    spread = {"type": "data", "array": [2, 0]}
    trace = go.Scatter(x=[5, 5], y=[5, 7], mode="markers", error_y=spread)
    bar, _, upper = inside(tree(drawn(trace)))
    x, y = place_of(upper)
    assert bar.get("d").startswith(f"M{x} ")
    assert f"V{y}" in bar.get("d")


def test_an_error_bar_below_0_goes_to_the_edge_of_a_logarithm():
    spread = {"type": "data", "array": [20, 1]}
    trace = go.Scatter(x=[10, 1000], y=[5, 5], mode="markers", error_x=spread)
    root = tree(drawn(trace, xaxis_type="log"))
    (area,) = root.findall(f"{SVG}svg")
    bar = inside(root)[0]
    assert bar.get("d").startswith(f"M{float(area.get('x')):.1f} ")


def test_bars_begin_at_0_and_have_their_texts():
    bars = go.Bar(
        x=[2, 0.1],
        y=["long", "short"],
        orientation="h",
        text=["2×", "0.1×"],
        textposition="auto",
        marker={"color": ["#111111", "#222222"]},
    )
    root = tree(drawn(bars, yaxis_type="category"))
    long, inner, short, outer = inside(root)
    assert float(long.get("width")) == pytest.approx(20 * float(short.get("width")), rel=0.02)
    assert long.get("x") == short.get("x")
    assert ticks_of(root, "middle")["0"][0] == pytest.approx(float(long.get("x")), abs=0.1)
    assert (long.get("fill"), short.get("fill")) == ("#111111", "#222222")
    assert inner.get("fill") == "#ffffff"
    assert outer.get("text-anchor") == "start", "beside the bar, which is too short"
    assert {"long", "short"} <= set(texts(root))
    assert float(long.get("y")) > float(short.get("y")), "the first category is at the bottom"


def test_a_bar_without_a_value_is_not_there_and_a_bar_may_be_listed():
    bars = go.Bar(x=[2, None], y=["a", "b"], orientation="h", name="bars", marker_color="#111111")
    line = go.Scatter(x=[1, 1], y=["a", "b"], mode="lines", name="line")
    root = tree(drawn(bars, line, yaxis_type="category"))
    assert [element.tag for element in inside(root)] == [f"{SVG}rect", f"{SVG}path"]
    listed = [path for path in root.findall(f"{SVG}path") if path.get("fill") == "#111111"]
    assert len(listed) == 1
    assert {"bars", "line"} <= set(texts(root))


def test_a_logarithm_spaces_factors_evenly():
    root = tree(drawn(go.Scatter(x=[1, 10, 100], y=[1, 1, 2], mode="markers"), xaxis_type="log"))
    one, ten, hundred = (place_of(dot)[0] for dot in inside(root))
    assert ten - one == pytest.approx(hundred - ten, abs=0.11)


def test_ranges_and_ticks_that_are_asked_for():
    figure = drawn(
        go.Scatter(x=[1, 2], y=[1, 2], mode="markers"),
        xaxis={"range": [0, 4], "tickvals": [1, 3], "ticktext": ["one", "<b>three</b>"]},
    )
    root = tree(figure)
    assert {"one", "three"} <= set(texts(root))
    (area,) = root.findall(f"{SVG}svg")
    middle = float(area.get("x")) + float(area.get("width")) / 2
    assert place_of(inside(root)[1])[0] == pytest.approx(middle, abs=0.1)


def test_the_legend_lists_who_wants_to_be_listed():
    line = go.Scatter(x=[0, 1], y=[0, 1], mode="lines", name="first")
    dots = go.Scatter(x=[0, 1], y=[0, 1], mode="markers", name="a&lt;b")
    hidden = go.Scatter(x=[0, 1], y=[0, 1], mode="lines", name="hidden", showlegend=False)
    root = tree(drawn(line, dots, hidden))
    names = [text.text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "start"]
    assert names == ["first", "a<b"]
    turned = tree(drawn(line, dots, legend_traceorder="reversed"))
    names = [text.text for text in turned.iter(f"{SVG}text") if text.get("text-anchor") == "start"]
    assert names == ["a<b", "first"]
    assert "first" not in texts(tree(drawn(line))), "one line needs no legend"
    assert "first" in texts(tree(drawn(line, showlegend=True)))
    assert "first" not in texts(tree(drawn(line, dots, showlegend=False)))


def test_a_long_legend_makes_the_picture_higher():
    lines = [go.Scatter(x=[0, 1], y=[0, 1], mode="lines", name=str(n)) for n in range(60)]
    root = tree(drawn(*lines))
    last = [text for text in root.iter(f"{SVG}text") if text.text == "59"][-1]
    assert float(last.get("y")) < float(root.get("height"))


def number_pairs(root):
    """Where every text begins, ends or has its middle."""
    for text in root.iter(f"{SVG}text"):
        turned = text.get("transform")
        if turned:
            inner = turned.removeprefix("translate(").split(")")[0]
            yield text.text, *map(float, inner.split())
        else:
            yield text.text, float(text.get("x")), float(text.get("y"))


def test_texts_are_in_the_picture_and_titles_in_the_middle():
    line = go.Scatter(x=[0, 10], y=[0, 1], mode="lines", name="a line with a long name")
    dots = go.Scatter(x=[0, 10], y=[0, 1], mode="markers", name="dots")
    root = tree(drawn(line, dots))
    (area,) = root.findall(f"{SVG}svg")
    left, top, width, height = (float(area.get(key)) for key in ("x", "y", "width", "height"))
    places = {text: (x, y) for text, x, y in number_pairs(root)}
    for x, y in places.values():
        assert 0 < x < float(root.get("width"))
        assert 0 < y < float(root.get("height"))
    assert places["x"][0] == pytest.approx(left + width / 2, abs=0.1)
    assert places["x"][1] > top + height + 20, "below the ticks"
    assert places["y"][1] == pytest.approx(top + height / 2, abs=0.1)
    assert places["y"][0] < left - 20
    assert places["T"][1] < top
    legend = places["a line with a long name"]
    assert legend[0] > left + width
    assert legend[0] + 23 * 13 * 0.5 < float(root.get("width")), "there is room for the name"
    assert places["dots"][1] - legend[1] >= 15, "lines of the legend do not touch"
    for tick, (x, y) in places.items():
        if tick.isdigit():
            assert x < left or y > top + height, "labels are outside the axes"


def test_bars_do_not_touch():
    bars = go.Bar(x=[2, 1, 3], y=["a", "b", "c"], orientation="h")
    root = tree(drawn(bars, yaxis_type="category"))
    (area,) = root.findall(f"{SVG}svg")
    top, height = float(area.get("y")), float(area.get("height"))
    spans = sorted(
        (float(bar.get("y")), float(bar.get("y")) + float(bar.get("height")))
        for bar in inside(root)
    )
    assert top < spans[0][0]
    assert spans[-1][1] < top + height
    for (_, end), (start, _) in pairwise(spans):
        assert end < start
    assert all(end - start == pytest.approx(0.8 * height / 3, abs=0.2) for start, end in spans)


def test_points_and_ticks_without_a_place_are_left_out():
    dots = go.Scatter(x=[1, None, 2], y=[1, 1, math.nan], mode="markers")
    root = tree(drawn(dots, xaxis={"tickvals": [0, 1, 9], "range": [0, 3]}))
    assert len(inside(root)) == 1
    assert {"0", "1"} <= set(texts(root))
    assert "9" not in texts(root)


def test_titles_are_text_whatever_is_in_them():
    figure = theme.figure(
        [go.Scatter(x=[0, 1], y=[0, 1], mode="lines")],
        title="a <b> & c",
        x="<script>",
        y="y'\"",
        note="the note",
    )
    assert {"a <b> & c", "the note", "<script>", "y'\""} <= set(texts(tree(figure)))


def test_sizes_and_backgrounds_that_are_asked_for():
    root = tree(drawn(go.Scatter(x=[0], y=[0]), width=400, height=300, paper_bgcolor="white"))
    assert (root.get("width"), root.get("height")) == ("400", "300")
    assert root.find(f"{SVG}rect").get("fill") == "white"
    usual = tree(drawn(go.Scatter(x=[0], y=[0])))
    assert (usual.get("width"), usual.get("height")) == (str(theme.WIDTH), str(theme.HEIGHT))
    assert usual.find(f"{SVG}rect").get("fill-opacity") == "0"


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (lambda: drawn(go.Heatmap(z=[[1]])), "heatmap traces"),
        (lambda: drawn(go.Scatter(x=[1], y=[1], fill="tozeroy")), "fill of a scatter trace"),
        (
            lambda: drawn(go.Scatter(x=[1], y=[1], mode="text", text=["a"])),
            "mode of a scatter trace .'text'",
        ),
        (lambda: drawn(go.Scatter(x=[1], y=[1], line_shape="spline")), "line.shape"),
        (lambda: drawn(go.Scatter(x=[1], y=[1], marker_symbol="star")), "marker.symbol"),
        (lambda: drawn(go.Scatter(x=[1], y=[1], marker_size=[3])), "marker.size"),
        (lambda: drawn(go.Scatter(x=[1], y=[1], visible=False)), "visible"),
        (lambda: drawn(go.Bar(x=["a"], y=[1]), xaxis_type="category"), "bars that stand"),
        (lambda: drawn(*2 * [go.Bar(x=[1], y=[1], orientation="h")]), "several kinds of bars"),
        (lambda: drawn(go.Scatter(y=[1])), "a trace without x"),
        (lambda: drawn(go.Scatter(x=["2020-01-01"], y=[1])), "x that are no numbers"),
        (
            lambda: drawn(go.Scatter(x=[1], y=[1]), yaxis_type="category"),
            "y that are no categories",
        ),
        (lambda: drawn(go.Scatter(x=[1], y=[1]), xaxis_type="date"), "xaxis.type of the layout"),
        (lambda: drawn(go.Scatter(x=[1], y=[1]), xaxis_rangemode="nonnegative"), "xaxis.rangemode"),
        (
            lambda: drawn(go.Scatter(x=[1], y=["a"]), yaxis={"type": "category", "range": [0, 1]}),
            "range of categories",
        ),
        (
            lambda: drawn(go.Scatter(x=[1], y=[1]), template={"layout": {"font": {"size": 30}}}),
            "another template",
        ),
        (lambda: go.Figure(go.Scatter(x=[1], y=[1])), "another template"),
        (lambda: drawn(go.Scatter(x=[1], y=[1]), xaxis_tickformat=".2f"), "xaxis.tickformat"),
        (lambda: drawn(go.Scatter(x=[1], y=[1])).add_hline(1), "shapes of the layout"),
        (lambda: drawn(go.Scatter(x=[1], y=[1]), title_font_size=30), "title.font.size"),
    ],
)
def test_what_would_look_otherwise_is_refused(figure, words):
    with pytest.raises(rw.InvalidArgumentError, match=words) as refused:
        svg(figure())
    assert "figure.write_image(path) draws everything" in str(refused.value)


def test_all_that_rungwise_draws_can_be_drawn():
    table = rw.power_laws(64, 81, seed=1)
    result = rw.simulate(table, rw.PASHA(max_resource=81), trials=64)
    figures = [
        plots.learning_curves(table),
        plots.learning_curves(table, others=False),
        plots.epsilon(result),
        plots.ladder(result),
        plots.pareto([plots.Point("a", 1, 10, 0.5, 5), plots.Point("b", 2, 900)]),
        plots.speedup({"a": 2, "b": 0.5}),
    ]
    for figure in figures:
        assert inside(tree(figure))
        assert svg(figure) == svg(figure)
