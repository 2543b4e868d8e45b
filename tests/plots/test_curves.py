"""Learning curves: who is drawn, who is emphasised, and what is written at the axes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from extras import needs

import rungwise as rw
from rungwise import plots
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.core.engine import Engine
from rungwise.plots import curves

needs("plots")

CURVES = [
    [0.9, 0.5, 0.4],
    [0.8, 0.6, 0.3],
    [0.7, 0.1],  # ended early, so it is behind those that got to the end
    [0.9, 0.9, 0.9],
    [math.nan, 0.8, math.inf],
]


def rows_of(trace):
    """{row: [(resource, value), …]} of the line in the background, which has a gap after each."""
    found = {}
    for row, x, y in zip(trace.customdata, trace.x, trace.y, strict=True):
        points = found.setdefault(int(row), [])
        if not math.isnan(y):
            points.append((float(x), round(float(y), 6)))
    return found


def test_the_best_at_the_end_are_emphasised_and_the_others_are_behind_them():
    figure = plots.learning_curves(rw.Table(CURVES), top=2)
    others, dots, second, first = figure.data
    assert [first.name, second.name, others.name] == ["1. row 1: 0.3", "2. row 0: 0.4", "3 others"]
    assert list(first.x) == [1, 2, 3]
    assert list(first.y) == [0.8, 0.6, 0.3]
    assert rows_of(others) == {
        2: [(1, 0.7), (2, 0.1)],
        3: [(1, 0.9), (2, 0.9), (3, 0.9)],
        4: [(2, 0.8)],
    }
    assert figure.layout.legend.traceorder == "reversed", "the best stands first in the legend"
    assert (others.legendgroup, others.showlegend) == (dots.legendgroup, None)
    assert dots.showlegend is False, "once is enough"
    assert "lower is better" in figure.layout.title.text


def test_where_more_is_better_the_highest_lead():
    figure = plots.learning_curves(rw.Table(CURVES, goal="max"), top=1)
    assert figure.data[-1].name == "1. row 3: 0.9"
    assert "higher is better" in figure.layout.title.text


def test_of_those_that_ended_early_the_better_last_value_comes_first():
    table = rw.Table([[0.5, 0.5, 0.5], [0.9, 0.2], [0.9, 0.1]])
    figure = plots.learning_curves(table, top=3)
    assert [trace.name for trace in reversed(figure.data)] == [
        "1. row 0: 0.5",
        "2. row 2: 0.1",
        "3. row 1: 0.2",
    ]


def test_a_row_without_any_value_comes_last_and_has_nothing_to_show():
    table = rw.Table([[math.nan, math.nan], [0.5, 0.4]])
    figure = plots.learning_curves(table, top=2)
    assert [trace.name for trace in reversed(figure.data)] == ["1. row 1: 0.4", "2. row 0"]
    assert len(figure.data[0].x) == 0


def test_nothing_but_missing_values_is_an_empty_picture():
    table = rw.Table([[math.nan, math.nan], [0.5, 0.4]])
    figure = plots.learning_curves(table, rows=[0])
    assert len(figure.data[0].y) == 0
    assert figure.layout.yaxis.range is None


def test_a_value_between_gaps_is_a_point():
    line, dots, *_ = plots.learning_curves(rw.Table(CURVES), top=1).data
    assert (line.mode, dots.mode) == ("lines", "markers")
    assert rows_of(dots) == {4: [(2, 0.8)]}, "the others are lines and need no dots"
    alone = plots.learning_curves(rw.Table(CURVES), rows=[4], top=1).data[0]
    assert alone.mode == "lines+markers"
    line, best = plots.learning_curves(rw.Table(CURVES[:4]), top=1).data
    assert (line.mode, best.mode) == ("lines", "lines")


def test_long_names_are_for_the_mouse():
    names = ["short enough", "|" + "nor_conv_3x3~0|" * 4]
    table = rw.Table([[0.4], [0.3]], names=names)
    second, first = plots.learning_curves(table).data
    assert [first.name, second.name] == ["1. row 1: 0.3", "2. short enough: 0.4"]
    assert names[1] in first.meta[0]


def test_the_sample_is_what_simulate_draws():
    table = rw.power_laws(40, 9, seed=3)
    drawn = rw.simulate(table, rw.ASHA(), trials=12, seed=5).rows
    figure = plots.learning_curves(table, top=0, sample=12, seed=5)
    (others,) = figure.data
    assert sorted(rows_of(others)) == sorted(drawn)
    assert figure.layout.title.text.startswith("<b>Learning curves: 12 configurations</b>")


def test_a_small_table_is_drawn_whole():
    (others,) = plots.learning_curves(rw.power_laws(7, 9), top=0).data
    assert sorted(rows_of(others)) == list(range(7))


def test_rows_may_be_named():
    table = rw.power_laws(7, 9)
    (others,) = plots.learning_curves(table, rows=[5, 2, 5], top=0).data
    assert sorted(rows_of(others)) == [2, 5]


def test_the_top_alone():
    figure = plots.learning_curves(rw.Table(CURVES), others=False)
    assert [trace.name.split(":")[0] for trace in figure.data] == [
        "3. row 3",
        "2. row 0",
        "1. row 1",
    ]
    assert "the top 3" in figure.layout.title.text
    alone = plots.learning_curves(rw.Table(CURVES), top=1, others=False)
    assert "the best" in alone.layout.title.text


def test_long_curves_are_thinned_in_the_background_only():
    table = rw.power_laws(3, 1400)
    others, best = plots.learning_curves(table, top=1).data
    assert len(best.x) == 1400
    points = rows_of(others)
    assert {len(of_row) for of_row in points.values()} == {curves.POINTS}
    for of_row in points.values():
        assert (of_row[0][0], of_row[-1][0]) == (1, 1400)


def test_a_benchmark_names_its_axes_and_itself():
    card = Card(name="tiny", metric="validation accuracy", goal="max", resource="epoch")
    made = Benchmark.from_arrays(card, values=[[[0.5, 0.6], [0.4, 0.7]]], names=["a<b", "c"])
    figure = plots.learning_curves(made, top=2)
    assert figure.layout.xaxis.title.text == "epochs"
    assert figure.layout.yaxis.title.text == "validation accuracy"
    assert "Learning curves of tiny" in figure.layout.title.text
    assert [trace.name for trace in figure.data] == ["2. a&lt;b: 0.6", "1. c: 0.7"]


@pytest.mark.parametrize(
    ("unit", "axis"),
    [("epoch", "epochs"), ("steps", "steps"), ("1/4 epoch", "1/4 epoch"), ("", "resources")],
)
def test_units_are_counted_in_the_plural(unit, axis):
    made = Benchmark.from_arrays(Card(name="tiny", resource=unit), values=[[[0.5, 0.6]]])
    assert plots.learning_curves(made).layout.xaxis.title.text == axis


def test_names_cannot_pass_for_placeholders_of_plotly():
    card = Card(name="tiny", metric="%{x} <b>", resource="steps")
    made = Benchmark.from_arrays(
        card, values=[[[0.5, 0.6]]], names=["%{y}"], configs=[{"a": "%{x}<i>"}]
    )
    (best,) = plots.learning_curves(made).data
    assert best.hovertemplate.count("%{") == 3, "meta, x and y"
    assert "&lt;b&gt;" in best.hovertemplate
    assert best.meta[0] == "%{y}, place 1<br>a=%{x}&lt;i&gt;"


def test_values_that_exploded_do_not_flatten_the_others():
    table = rw.power_laws(50, 20)
    values = np.array(table.values)
    calm = plots.learning_curves(rw.Table(values))
    assert calm.layout.yaxis.range is None
    values[3, 5] = 1e9
    low, high = plots.learning_curves(rw.Table(values)).layout.yaxis.range
    shown = table.values[np.isfinite(table.values)]
    assert low <= shown.min()
    assert shown.max() <= high < 1e3
    assert "outside the picture" in plots.learning_curves(rw.Table(values)).layout.title.text


def test_how_far_out_a_value_must_be_to_be_left_out():
    values = np.linspace(0, 1, 1000).reshape(100, 10)
    values[50, 5] = 10.5  # within ten times the spread of nearly all others
    assert plots.learning_curves(rw.Table(values)).layout.yaxis.range is None
    values[50, 5] = 12
    low, high = plots.learning_curves(rw.Table(values)).layout.yaxis.range
    assert low == pytest.approx(-0.53, abs=0.02)
    assert high == pytest.approx(11.1, abs=0.1)
    values[50, 5] = -12
    low, high = plots.learning_curves(rw.Table(values)).layout.yaxis.range
    assert low == pytest.approx(-10.1, abs=0.1)
    assert high == pytest.approx(1.53, abs=0.02)


def train(config, run):
    for epoch in run.resources():
        run.report(epoch, error=config["x"] + 1 / epoch)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.db"
    rw.tune(
        train,
        {"x": rw.Float(0, 1)},
        metric="error",
        goal="min",
        max_resource=9,
        trials=12,
        study=path,
        show="quiet",
    )
    return rw.load(path)


def test_a_study_shows_its_leaders(study):
    figure = plots.learning_curves(study)
    leaders = [row.trial for row in study.leaderboard(3)]
    drawn = [trace.name.split(":")[0] for trace in reversed(figure.data)]
    assert drawn[:3] == [f"{n + 1}. trial {trial}" for n, trial in enumerate(leaders)]
    best = figure.data[-1]
    assert list(zip(best.x, best.y, strict=True)) == study.curve(leaders[0])
    assert "x=" in best.meta[0], "the configuration is shown"
    assert figure.layout.yaxis.title.text == "error"
    others = figure.data[0]
    assert set(rows_of(others)) == set(range(12)) - set(leaders)
    dots = figure.data[1]
    assert dots.mode == "markers", "trials that were trained once are points"
    once = {trial: points for trial, points in rows_of(others).items() if len(points) == 1}
    assert rows_of(dots) == once
    assert others.hovertemplate.startswith("trial ")


def test_a_sample_of_a_study_has_its_leaders(study):
    leaders = {row.trial for row in study.leaderboard(2)}
    figure = plots.learning_curves(study.engine, top=0, sample=4)
    assert len(rows_of(figure.data[0])) == 4
    figure = plots.learning_curves(study, top=2, sample=5, seed=1)
    shown = {int(trace.name.split()[2].rstrip(":")) for trace in figure.data[-2:]}
    assert shown == leaders
    assert len(rows_of(figure.data[0])) == 3


def test_trials_of_a_study_may_be_named(study):
    (only,) = plots.learning_curves(study, rows=[4]).data
    assert only.name.startswith("1. trial 4")


def test_a_study_without_a_trial_is_refused(study):
    with pytest.raises(rw.InvalidArgumentError, match="without a trial"):
        plots.learning_curves(Engine(study.engine.study))
    with pytest.raises(rw.InvalidArgumentError, match="the study has the trials 0 to 11"):
        plots.learning_curves(study, rows=[12])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"source": 3}, "source is 3, but it must be a rungwise.Table"),
        ({"source": SimpleNamespace(card=3)}, "it must be a rungwise.Table"),
        ({"source": SimpleNamespace(table=max)}, "it must be a rungwise.Table"),
        ({"rows": [9]}, "rows is 9, but the table has the rows 0 to 4"),
        ({"rows": []}, "there must be one at least"),
        ({"rows": [-1]}, "rows is -1"),
        ({"top": -1}, "top is -1"),
        ({"sample": 0}, "sample is 0"),
        ({"seed": -2}, "seed is -2"),
        ({"top": 0, "others": False}, "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, words):
    with pytest.raises(rw.InvalidArgumentError, match=words):
        plots.learning_curves(**{"source": rw.Table(CURVES), **arguments})


def test_a_simulated_study_draws_its_trials():
    table = rw.power_laws(20, 27, seed=3)
    result = rw.simulate(table, rw.PASHA(), trials=20)
    log = rw.MemoryLog()
    rw.simulate(table, rw.PASHA(), trials=20, log=log)
    drawn, engine = plots.learning_curves(result), plots.learning_curves(rw.replay(log))
    assert drawn.to_json() == engine.to_json()
    assert drawn.data[-1].name.startswith(f"1. trial {result.best.trial}: ")
