"""The 1-NN surrogate against brute force, and studies on it."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rungwise as rw
from rungwise.benchmarks import Table, nearest
from rungwise.benchmarks.nearest import Nearest
from rungwise.core.engine import Engine
from rungwise.core.limits import Limits
from rungwise.core.seeding import generator
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError, SpaceError, TableError
from rungwise.space import Space
from rungwise.space.domains import Choice, Float
from rungwise.space.parameters import Parameter
from rungwise.space.rules import compare

OPTIMIZER = Choice(["adam", "sgd", None])
MIXED = Space(
    [
        Parameter("lr", Float(1e-5, 10.0, log=True)),
        Parameter("decay", Float(0.0, 4.0)),
        Parameter("units", rw.Int(1, 9, log=True)),
        Parameter("size", Choice(["s", "m", "l"], ordered=True)),
        Parameter("optimizer", OPTIMIZER),
        Parameter(
            "momentum",
            Float(0.0, 1.0),
            condition=compare({"optimizer": OPTIMIZER}, "optimizer", "==", "sgd"),
        ),
        Parameter(
            "warm",
            Choice([True, False]),
            condition=compare({"decay": Float(0.0, 4.0)}, "decay", ">", 2.0),
        ),
    ]
)


def position(domain, value):
    """Where a number lies between its bounds, written down once more."""
    if isinstance(domain, Choice):
        return domain.options.index(value) / (len(domain.options) - 1)
    low, high = domain.low, domain.high
    if domain.log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def distance(space, left, right):
    """The square of the distance, one parameter after the other."""
    total = 0.0
    for parameter in space.parameters:
        name, domain = parameter.name, parameter.domain
        if (name in left) != (name in right):
            total += 1
        elif name not in left:
            continue
        elif isinstance(domain, Choice) and not domain.ordered:
            corners = [[o is v for o in domain.options] for v in (left[name], right[name])]
            total += sum((a / 2**0.5 - b / 2**0.5) ** 2 for a, b in zip(*corners, strict=True))
        else:
            total += (position(domain, left[name]) - position(domain, right[name])) ** 2
    return total


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_brute_force_finds_the_same(seed, rows):
    rng = np.random.default_rng(seed)
    recorded = [MIXED.sample(rng) for _ in range(rows)]
    asked = [MIXED.sample(rng) for _ in range(10)]
    found = Nearest(MIXED, recorded).rows(asked)
    for config, row in zip(asked, found.tolist(), strict=True):
        distances = [distance(MIXED, config, other) for other in recorded]
        assert distances[row] == pytest.approx(min(distances), abs=1e-12)
        assert all(gone > distances[row] - 1e-12 for gone in distances[:row])


GRID = Space.parse({"a": rw.Int(0, 2), "b": rw.Int(0, 2), "c": ["x", "y"]})


@given(
    st.lists(st.sampled_from(GRID.configurations()), min_size=1, max_size=12),
    st.sampled_from(GRID.configurations()),
)
def test_the_lowest_of_equally_near_rows_is_found(recorded, asked):
    """On a grid of halves and wholes, distances are exact and often equal."""
    distances = [round(4 * distance(GRID, asked, other), 9) for other in recorded]
    (row,) = Nearest(GRID, recorded).rows([asked])
    assert row == distances.index(min(distances))


def test_logarithms_are_near_in_ratios():
    space = Space.parse({"lr": rw.Float(1e-4, 1.0, log=True)})
    table = Table([[1.0], [2.0]], configs=[{"lr": 1e-3}, {"lr": 1e-1}], space=space, nearest=True)
    assert table.find_row({"lr": 9e-3}) == 0
    assert table.find_row({"lr": 1.1e-2}) == 1


def test_another_option_is_as_far_as_a_whole_range():
    space = Space.parse({"x": rw.Float(0.0, 1.0), "c": ["a", "b", "d"], "y": rw.Float(0.0, 1.0)})
    recorded = [{"x": 0.0, "c": "d", "y": 0.5}, {"x": 0.98, "c": "a", "y": 0.5}]
    assert Nearest(space, recorded).rows([{"x": 0.0, "c": "a", "y": 0.5}]).tolist() == [1]
    recorded[1]["x"], recorded[1]["y"] = 1.0, 0.6
    assert Nearest(space, recorded).rows([{"x": 0.0, "c": "a", "y": 0.5}]).tolist() == [0]


def test_parts_of_a_question_make_no_difference(monkeypatch):
    rng = np.random.default_rng(5)
    recorded, asked = ([MIXED.sample(rng) for _ in range(30)] for _ in range(2))
    whole = Nearest(MIXED, recorded).rows(asked).tolist()
    for pairs in (1, 30, 70, 899, 900):
        monkeypatch.setattr(nearest, "PAIRS", pairs)
        assert Nearest(MIXED, recorded).rows(asked).tolist() == whole


def test_no_question_no_answer():
    assert Nearest(GRID, [GRID.configurations()[0]]).rows([]).tolist() == []


def test_many_questions_take_little_memory():
    """2,000 questions to 15,625 rows: their distances together would take 238 MiB."""
    space = Space.parse({f"edge{edge}": ["a", "b", "c", "d", "e"] for edge in range(6)})
    recorded = space.configurations()
    found = Nearest(space, recorded)
    asked = list(recorded[::8])
    tracemalloc.start()
    rows = found.rows(asked).tolist()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == list(range(0, len(recorded), 8))
    assert peak < 64 * 2**20


# -- tables ------------------------------------------------------------------------------------


def line(points, **more):
    """A table over the interval from 0 to 1."""
    space = Space.parse({"x": rw.Float(0.0, 1.0)})
    values = [[point, point / 2, point / 4] for point in points]
    return Table(values, configs=[{"x": point} for point in points], space=space, **more)


def test_rows_of_configurations():
    table = line([0.2, 0.8, 0.2])
    assert not table.nearest
    assert table.find_row({"x": 0.8}) == 1
    assert table.find_row({"x": 0.2}) == 0  # the first of two
    assert table.find_rows([{"x": 0.8}, {"x": 0.2}, {"x": 0.8}]) == [1, 0, 1]
    with pytest.raises(TableError, match=r"config is {'x': 0.3}, .* nearest must be on"):
        table.find_row({"x": 0.3})
    with pytest.raises(SpaceError, match="x is 3"):
        table.find_row({"x": 3})


def test_nearest_rows():
    table = line([0.2, 0.8, 0.2, 0.4], nearest=True)
    assert table.find_rows([{"x": 0.29}, {"x": 0.8}, {"x": 0.31}, {"x": 1}, {"x": 0.0}]) == [
        0,
        1,
        3,
        1,
        0,
    ]
    assert table.find_row({"x": 0.4}) == 3
    with pytest.raises(SpaceError, match="x is 3"):
        table.find_row({"x": 3})


def test_the_same_configuration_comes_before_one_as_near():
    """Bounds so close that all positions round to one: only the exact row is right."""
    low = 1.0
    high = float(np.nextafter(low, 2))
    space = Space.parse({"x": rw.Float(low, high, log=True)})
    table = Table([[1.0], [2.0]], configs=[{"x": low}, {"x": high}], space=space, nearest=True)
    assert table.find_row({"x": high}) == 1


def test_rows_without_a_space():
    configs = [{"a": 1}, {"a": True}, {"a": 1.0}, {"b": None}]
    table = Table([[1.0]] * 4, configs=configs)
    assert [table.find_row(config) for config in configs] == [0, 1, 2, 3]
    assert table.find_row({"a": np.float64(1)}) == 2
    for wrong in ({"a": "1"}, {"a": [1]}, {"a": float("nan")}, 5):
        with pytest.raises(TableError, match="config is"):
            table.find_row(wrong)


def test_tables_without_configurations_know_no_rows():
    with pytest.raises(TableError, match="configs is None"):
        Table([[1.0]]).find_row({"x": 1})


def test_nearest_needs_configurations_and_a_space():
    space = Space.parse({"x": rw.Float(0.0, 1.0)})
    for more in ({}, {"space": space}, {"configs": [{"x": 0.5}]}):
        with pytest.raises(TableError, match=r"nearest is True, .* configs and space"):
            Table([[1.0]], nearest=True, **more)
    with pytest.raises(TableError, match="nearest is 1"):
        Table([[1.0]], nearest=1, space=space, configs=[{"x": 0.5}])


# -- studies -----------------------------------------------------------------------------------


def test_a_study_draws_from_the_space():
    table = line([0.1, 0.3, 0.9], nearest=True)
    result = rw.simulate(table, rw.FixedResource(1), trials=40, seed=3)
    drawn = [table.space.sample(generator(3, "searcher", trial))["x"] for trial in range(40)]
    nearest_rows = [min(range(3), key=lambda row: abs([0.1, 0.3, 0.9][row] - x)) for x in drawn]
    assert result.rows == nearest_rows
    assert len(result.rows) == 40 > table.rows
    assert result.best.row == 0
    assert result.rows != rw.simulate(table, rw.FixedResource(1), trials=40, seed=4).rows


def test_a_study_with_more_trials_begins_the_same():
    table = line([0.1, 0.3, 0.9], nearest=True)
    few, many = (rw.simulate(table, rw.RandomSearch(), trials=n, seed=1).rows for n in (5, 12))
    assert many[:5] == few


def test_a_study_draws_what_a_searcher_would():
    """The configurations are those that a tuned study with the same seed tries."""
    table = line(np.linspace(0, 1, 1001).tolist(), nearest=True)
    drawn = rw.simulate(table, rw.FixedResource(1), trials=6, seed=2).rows
    study = Study(
        rw.PASHA(max_resource=3),
        Limits(trials=6),
        space=table.space,
        searcher=rw.searchers.RandomSearcher(),
        seed=2,
    )
    propose = Engine(study).proposer
    assert drawn == [table.find_row(propose(trial)) for trial in range(6)]
    assert len(set(drawn)) == 6


def test_the_random_baseline_is_the_first_draw():
    table = line([0.1, 0.3, 0.9], nearest=True)
    for seed in range(5):
        first = rw.simulate(table, rw.FixedResource(1), trials=3, seed=seed).rows[0]
        assert rw.random_configuration(table, seed=seed).best.row == first


def test_rows_can_still_be_given():
    table = line([0.1, 0.3, 0.9], nearest=True)
    assert rw.simulate(table, rw.FixedResource(1), trials=[2, 2, 0]).rows == [2, 2, 0]
    with pytest.raises(InvalidArgumentError, match="trials is 0"):
        rw.simulate(table, rw.FixedResource(1), trials=0)


def test_without_nearest_rows_are_drawn_as_ever():
    table = line([0.1, 0.3, 0.9])
    assert sorted(rw.simulate(table, rw.FixedResource(1), trials=3).rows) == [0, 1, 2]
