"""Learning curves: which are drawn, which are emphasised, and what is written at the axes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from figure_reading import axis_of, layers_of, legend_of, note_of, points_of, rows_of, title_of

import rungwise as rw
from rungwise import plots
from rungwise.benchmarks.benchmark import Benchmark
from rungwise.benchmarks.card import Card
from rungwise.core.engine import Engine
from rungwise.plots import curves

CURVES = [
    [0.9, 0.5, 0.4],
    [0.8, 0.6, 0.3],
    [0.7, 0.1],  # ended early, so it is behind those that got to the end
    [0.9, 0.9, 0.9],
    [math.nan, 0.8, math.inf],
]


def best_of(figure):
    """The lines in colour, the best first."""
    return rows_of(layers_of(figure, "line")[-1])[::-1]


def others_of(figure):
    """{row: [(resource, value), …]} of the lines in the background."""
    return {row["number"]: points_of(row) for row in rows_of(layers_of(figure, "line")[0])}


def dots_of(figure):
    """[(row, resource, value), …] of the points that no line shows."""
    found = [row for layer in layers_of(figure, "point") for row in rows_of(layer)]
    return [(row["number"], row["x"], row["y"]) for row in found]


def tips_of(layer):
    return [line["field"] for line in layer["encoding"]["tooltip"]]


def test_the_best_at_the_end_are_emphasised_and_the_others_are_behind_them():
    figure = plots.learning_curves(rw.Table(CURVES), top=2)
    assert list(legend_of(figure)) == ["1. row 1: 0.3", "2. row 0: 0.4", "3 others"]
    first, second = best_of(figure)
    assert (first["label"], second["label"]) == ("1. row 1: 0.3", "2. row 0: 0.4")
    assert points_of(first) == [(1, 0.8), (2, 0.6), (3, 0.3)]
    assert others_of(figure) == {
        2: [(1, 0.7), (2, 0.1)],
        3: [(1, 0.9), (2, 0.9), (3, 0.9)],
        4: [(1, None), (2, 0.8)],
    }
    assert note_of(figure) == "lower is better"


def test_where_more_is_better_the_highest_lead():
    figure = plots.learning_curves(rw.Table(CURVES, goal="max"), top=1)
    assert best_of(figure)[0]["label"] == "1. row 3: 0.9"
    assert note_of(figure) == "higher is better"


def test_of_those_that_ended_early_the_better_last_value_comes_first():
    table = rw.Table([[0.5, 0.5, 0.5], [0.9, 0.2], [0.9, 0.1]])
    figure = plots.learning_curves(table, top=3)
    assert list(legend_of(figure)) == ["1. row 0: 0.5", "2. row 2: 0.1", "3. row 1: 0.2"]


def test_a_row_without_any_value_comes_last_and_has_nothing_to_show():
    table = rw.Table([[math.nan, math.nan], [0.5, 0.4]])
    figure = plots.learning_curves(table, top=2)
    assert list(legend_of(figure)) == ["1. row 1: 0.4", "2. row 0"]
    assert best_of(figure)[1]["x"] == []


def test_nothing_but_missing_values_is_an_empty_picture():
    table = rw.Table([[math.nan, math.nan], [0.5, 0.4]])
    figure = plots.learning_curves(table, rows=[0])
    assert best_of(figure)[0]["y"] == []
    assert "domain" not in axis_of(figure, "y").get("scale", {})


def test_a_value_between_gaps_is_a_point():
    figure = plots.learning_curves(rw.Table(CURVES), top=1)
    assert dots_of(figure) == [(4, 2, 0.8)], "the others are lines and need no dots"
    alone = plots.learning_curves(rw.Table(CURVES), rows=[4], top=1)
    assert dots_of(alone) == [(4, 2, 0.8)]
    assert dots_of(plots.learning_curves(rw.Table(CURVES[:4]), top=1)) == []


def test_long_names_are_in_the_tooltip():
    names = ["short enough", "|" + "nor_conv_3x3~0|" * 4]
    figure = plots.learning_curves(rw.Table([[0.4], [0.3]], names=names))
    assert list(legend_of(figure)) == ["1. row 1: 0.3", "2. short enough: 0.4"]
    assert best_of(figure)[0]["name"] == names[1]


def test_the_sample_is_what_simulate_draws():
    table = rw.power_laws(40, 9, seed=3)
    drawn = rw.simulate(table, rw.ASHA(), trials=12, seed=5).rows
    figure = plots.learning_curves(table, top=0, sample=12, seed=5)
    assert sorted(others_of(figure)) == sorted(drawn)
    assert title_of(figure) == "Learning curves: 12 configurations"
    assert list(legend_of(figure)) == ["12 others"]


def test_a_small_table_is_drawn_whole():
    figure = plots.learning_curves(rw.power_laws(7, 9), top=0)
    assert sorted(others_of(figure)) == list(range(7))


def test_rows_may_be_named():
    table = rw.power_laws(7, 9)
    figure = plots.learning_curves(table, rows=[5, 2, 5], top=0)
    assert sorted(others_of(figure)) == [2, 5]


def test_the_top_alone():
    figure = plots.learning_curves(rw.Table(CURVES), others=False)
    assert [name.split(":")[0] for name in legend_of(figure)] == [
        "1. row 1",
        "2. row 0",
        "3. row 3",
    ]
    assert len(layers_of(figure, "line")) == 1
    assert title_of(figure).endswith("the top 3")
    alone = plots.learning_curves(rw.Table(CURVES), top=1, others=False)
    assert title_of(alone).endswith("the best")


def test_long_curves_are_thinned_in_the_background_only():
    figure = plots.learning_curves(rw.power_laws(3, 1400, seed=1), top=1)
    assert len(best_of(figure)[0]["x"]) == 1400
    for points in others_of(figure).values():
        assert len(points) == curves.POINTS
        assert (points[0][0], points[-1][0]) == (1, 1400)


def test_many_rows_are_all_there():
    """Altair would refuse more than 5,000."""
    table = rw.power_laws(600, 60)
    figure = plots.learning_curves(table, sample=600)
    assert sum(map(len, others_of(figure).values())) == 597 * 60


def test_values_in_the_background_have_five_digits():
    table = rw.Table([[0.123456789, 0.1], [0.2, 0.3], [1 / 3, 2 / 3]])
    figure = plots.learning_curves(table, top=1)
    assert best_of(figure)[0]["y"][0] == 0.123456789
    assert [y for _, y in others_of(figure)[2]] == [0.33333, 0.66667]


def test_a_benchmark_names_its_axes_and_itself():
    card = Card(name="tiny", metric="validation accuracy", goal="max", resource="epoch")
    made = Benchmark.from_arrays(card, values=[[[0.5, 0.6], [0.4, 0.7]]], names=["a<b", "c"])
    figure = plots.learning_curves(made, top=2)
    assert axis_of(figure, "x")["title"] == "epochs"
    assert axis_of(figure, "y")["title"] == "validation accuracy"
    assert title_of(figure).startswith("Learning curves of tiny")
    assert list(legend_of(figure)) == ["1. c: 0.7", "2. a<b: 0.6"]


@pytest.mark.parametrize(
    ("unit", "axis"),
    [("epoch", "epochs"), ("steps", "steps"), ("1/4 epoch", "1/4 epoch"), ("", "resources")],
)
def test_units_are_counted_in_the_plural(unit, axis):
    made = Benchmark.from_arrays(Card(name="tiny", resource=unit), values=[[[0.5, 0.6]]])
    assert axis_of(plots.learning_curves(made), "x")["title"] == axis


def test_tooltips_have_the_name_the_value_and_the_configuration():
    made = Benchmark.from_arrays(
        Card(name="tiny"), values=[[[0.5, 0.6], [0.9, 0.8]]], configs=[{"a": 1}, {"a": 2}]
    )
    figure = plots.learning_curves(made, top=1)
    (other,) = rows_of(figure.spec["layer"][0])
    assert (other["name"], other["score"], other["about"]) == ("row 1", "0.8", "a=2")
    assert tips_of(figure.spec["layer"][0]) == ["name", "score", "about"]
    hover = figure.spec["layer"][-1]
    assert hover["name"] == "hover"
    assert tips_of(hover) == ["name", "place", "x", "y", "about"]
    assert rows_of(hover)[0]["about"] == "a=1"


def domain_of(values, **options):
    figure = plots.learning_curves(rw.Table(values), **options)
    return axis_of(figure, "y").get("scale", {}).get("domain")


def test_values_that_exploded_do_not_flatten_the_others():
    table = rw.power_laws(50, 20)
    values = np.array(table.values)
    assert domain_of(values) is None
    values[3, 5] = 1e9
    low, high = domain_of(values)
    shown = table.values[np.isfinite(table.values)]
    assert low <= shown.min()
    assert shown.max() <= high < 10
    figure = plots.learning_curves(rw.Table(values))
    assert "not shown" in note_of(figure)


def test_how_far_out_a_value_must_be_to_be_left_out():
    values = np.linspace(0, 1, 1000).reshape(100, 10)
    values[50, 5] = 3.8  # within three times the spread of nearly all others
    assert domain_of(values) is None
    values[50, 5] = 4
    low, high = domain_of(values)
    assert low == pytest.approx(-0.19, abs=0.02)
    assert high == pytest.approx(4.05, abs=0.03)
    values[50, 5] = -4
    low, high = domain_of(values)
    assert low == pytest.approx(-3.05, abs=0.03)
    assert high == pytest.approx(1.19, abs=0.02)


def test_the_best_are_in_the_picture_however_far_out():
    values = np.linspace(1, 2, 1000).reshape(100, 10)
    values[50] = -9
    low, _ = domain_of(values, top=1)
    assert low < -9
    low, _ = domain_of(values, top=0)
    assert low > -3


def test_lines_in_the_background_end_at_the_edge_of_the_picture():
    values = np.linspace(0, 1, 1000).reshape(100, 10)
    values[50, 4:6] = [10, -10]
    figure = plots.learning_curves(rw.Table(values), top=0)
    low, high = axis_of(figure, "y")["scale"]["domain"]
    points = others_of(figure)[50]
    assert [x for x, _ in points if float(x).is_integer()] == list(range(1, 11)), "all are there"
    assert {x for x, y in points if y is None} == {5, 6}
    edges = [(x, y) for x, y in points if not float(x).is_integer()]
    assert [y for _, y in edges] == [
        pytest.approx(edge, rel=1e-4) for edge in (high, high, low, low)
    ]
    before = values[50, 3]
    assert edges[0][0] == pytest.approx(4 + (high - before) / (10 - before)), "on the line"
    assert edges[1][0] < edges[2][0]


def test_single_values_outside_the_picture_are_left_out():
    values = np.linspace(0, 1, 1000).reshape(100, 10)
    values[50] = math.nan
    values[50, 3], values[50, 7] = 99, 0.5
    assert dots_of(plots.learning_curves(rw.Table(values), top=0)) == [(50, 8, 0.5)]


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
    assert [row["number"] for row in best_of(figure)] == leaders
    best = best_of(figure)[0]
    assert points_of(best) == study.curve(leaders[0])
    assert "x=" in best["about"], "the configuration is shown"
    assert axis_of(figure, "y")["title"] == "error"
    others = others_of(figure)
    assert set(others) == set(range(12)) - set(leaders)
    once = {trial for trial, points in others.items() if len(points) == 1}
    assert {trial for trial, _, _ in dots_of(figure)} == once, "they are points"
    assert figure.spec["layer"][0]["encoding"]["tooltip"][0]["title"] == "trial"


def test_the_legend_has_the_values_that_ranked_the_trials():
    """Not the last ones: these curves get worse in the end."""
    table = rw.Table([[0.5, 0.2, 0.9], [0.6, 0.3, 0.4], [0.7, 0.8, 0.9]])
    result = rw.simulate(table, rw.FixedResource(3), trials=[0, 1, 2])
    names = list(legend_of(plots.learning_curves(result)))
    assert names == ["1. trial 0: 0.2", "2. trial 1: 0.3", "3. trial 2: 0.7"]
    assert [row.value for row in result.leaderboard()] == [0.2, 0.3, 0.7]
    upwards = rw.simulate(rw.Table(table.values, goal="max"), rw.FixedResource(3), trials=[0, 1, 2])
    names = list(legend_of(plots.learning_curves(upwards)))
    assert names == ["1. trial 0: 0.9", "2. trial 2: 0.9", "3. trial 1: 0.6"]


def test_a_trial_without_a_finite_value_has_none_in_the_legend():
    table = rw.Table([[math.nan, math.inf], [0.6, 0.3]])
    result = rw.simulate(table, rw.FixedResource(2), trials=[0, 1])
    assert list(legend_of(plots.learning_curves(result))) == ["1. trial 1: 0.3", "2. trial 0"]


def test_a_sample_of_a_study_has_its_leaders(study):
    leaders = {row.trial for row in study.leaderboard(2)}
    figure = plots.learning_curves(study.engine, top=0, sample=4)
    assert len(others_of(figure)) == 4
    figure = plots.learning_curves(study, top=2, sample=5, seed=1)
    assert {row["number"] for row in best_of(figure)} == leaders
    assert len(others_of(figure)) == 3


def test_trials_of_a_study_may_be_named(study):
    (only,) = best_of(plots.learning_curves(study, rows=[4]))
    assert only["label"].startswith("1. trial 4")


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
        ({"rows": []}, "there must be at least one"),
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
    assert drawn.spec == engine.spec
    assert best_of(drawn)[0]["number"] == result.best.trial
