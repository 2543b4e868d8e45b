"""The searchers beyond random search: each keeps the suite's rules, and does what it is for."""

import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from extras import needing

import rungwise as rw
from rungwise.core.proposals import is_repeatable, is_slow
from rungwise.schedulers.codec import recipe_from_json, recipe_to_json
from rungwise.searchers import (
    GP,
    KDE,
    Grid,
    RandomSearcher,
    Sobol,
)
from rungwise.searchers.candidates import draw_neighbour, select_new
from rungwise.searchers.model_warnings import silence_libraries
from rungwise.searchers.observations import Features, gather, normal_scores
from rungwise.space import Choice, Float, Int, Space
from rungwise.testing.searchers import (
    SPACES,
    ListHistory,
    Observation,
    SearcherConformance,
    conditional_space,
    forbidden_space,
    mixed_space,
    proposals,
    tiny_space,
)

LINE = Space.parse({"x": Float(0.0, 1.0)})
PLANE = Space.parse({"x": Float(0.0, 1.0), "y": Float(1e-4, 1.0, log=True)})


class TestSobol(SearcherConformance):
    import_path = "rungwise.searchers:Sobol"


class TestGrid(SearcherConformance):
    import_path = "rungwise.searchers:Grid"


class TestKDE(SearcherConformance):
    import_path = "rungwise.searchers:KDE"


def small_gp():
    """A GP that looks at less, so that the whole suite takes seconds."""
    return GP(startup=4, fit_points=16, points=40, candidates=40)


@pytest.mark.slow
class TestGP(SearcherConformance):
    import_path = "test_searchers:small_gp"
    looks = 14  # ten of a model

    @pytest.fixture(autouse=True, scope="class")
    @staticmethod
    def _importable():
        """The child process of the suite imports the searcher by the name of this file."""
        sys.modules["test_searchers"] = sys.modules[__name__]
        sys.path.insert(0, str(Path(__file__).parent))
        yield
        sys.path.remove(str(Path(__file__).parent))


# -- Sobol ---------------------------------------------------------------------------------------


def test_sobol_fills_the_line_evenly():
    made = [config["x"] for config in proposals(Sobol(), LINE, 0, 64)]
    counts = np.histogram(made, bins=16, range=(0, 1))[0]
    assert counts.tolist() == [4] * 16
    at_random = [config["x"] for config in proposals(RandomSearcher(), LINE, 0, 64)]
    assert np.histogram(at_random, bins=16, range=(0, 1))[0].min() < 3


def test_sobol_fills_the_plane_evenly():
    space = Space.parse({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    made = proposals(Sobol(seed=3), space, 0, 256)
    cells = {(int(16 * c["x"]), int(16 * c["y"])) for c in made}
    assert len(cells) == 256  # one each


def test_sobol_has_no_points_of_so_many_dimensions():
    space = Space.parse({f"p{n}": Choice([0, 1]) for n in range(21_202)})
    with pytest.raises(rw.InvalidArgumentError, match="21202, but Sobol's sequence has at most"):
        Sobol().check(space)


def test_another_seed_shifts_the_points():
    first = proposals(Sobol(seed=0), PLANE, 0, 8)
    second = proposals(Sobol(seed=1), PLANE, 0, 8)
    assert not {c["x"] for c in first} & {c["x"] for c in second}


def test_a_point_does_not_depend_on_what_was_reported():
    history, other = ListHistory(LINE), ListHistory(LINE)
    history.add({"x": 0.1}, 1.0)
    other.add({"x": 0.9}, 7.0, 8.0)
    rng = np.random.default_rng
    assert Sobol().propose(LINE, history, rng(0)) == Sobol().propose(LINE, other, rng(9))


def test_a_grid_whose_places_are_all_forbidden_is_refused():
    ends = [{"name": "x", "op": "<", "value": 0.1}, {"name": "x", "op": ">", "value": 0.9}]
    space = Space.from_json({**LINE.to_json(), "forbidden": ends})
    with pytest.raises(rw.InvalidArgumentError, match="points is 2, but every place"):
        Grid(points=2).check(space)


# -- grid ----------------------------------------------------------------------------------------


def all_of(searcher, space):
    history = ListHistory(space)
    while (config := searcher.propose(space, history, np.random.default_rng(0))) is not None:
        history.add(config)
    return [trial.config for trial in history]


def test_a_grid_has_every_combination_once():
    space = Space.parse(
        {"x": Float(0.0, 1.0), "k": Int(1, 100), "few": Int(7, 8), "act": ["relu", "tanh"]}
    )
    made = all_of(Grid(points=3), space)
    assert len(made) == 3 * 3 * 2 * 2 == len({space.key(config) for config in made})
    assert {config["x"] for config in made} == {0.0, 0.5, 1.0}
    assert {config["k"] for config in made} == {1, 50, 100}
    assert {config["few"] for config in made} == {7, 8}


def test_a_grid_on_a_log_scale_has_equal_ratios_and_both_bounds():
    space = Space.parse({"lr": Float(1e-4, 1.0, log=True), "width": Int(1, 1000, log=True)})
    made = all_of(Grid(points=5), space)
    rates = sorted({config["lr"] for config in made})
    assert rates[0] == 1e-4
    assert rates[-1] == 1.0
    np.testing.assert_allclose(np.diff(np.log10(rates)), 1.0)
    assert sorted({config["width"] for config in made}) == [1, 6, 32, 178, 1000]


@pytest.mark.parametrize("make_space", [conditional_space, forbidden_space, tiny_space])
def test_a_grid_of_a_finite_space_is_the_space(make_space):
    space = make_space()
    made = {space.key(config) for config in all_of(Grid(points=5), space)}
    assert made == set(space.all_keys())


def test_the_order_is_mixed_and_the_seeds():
    orders = [[c["x"] for c in all_of(Grid(points=20, seed=s), LINE)] for s in (0, 0, 1)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != sorted(orders[0])


def test_a_grid_too_large_to_list_is_refused():
    space = Space.parse({f"x{i}": Float(0.0, 1.0) for i in range(10)})
    with pytest.raises(rw.InvalidArgumentError, match="9,765,625 places; at most 1,000,000"):
        Grid(points=5).propose(space, ListHistory(space), np.random.default_rng(0))


def test_a_study_on_a_grid_ends_when_it_is_used_up():
    study = rw.tune(
        _train, LINE, metric="loss", goal="min", max_resource=3, searcher=Grid(points=4), workers=1,
        trials=100, show="quiet",
    )  # fmt: skip
    assert study.trials == 4
    assert "there are no others" in study.rule


def _train(config, run):
    for step in run.resources():
        run.report(step, loss=(config["x"] - 0.3) ** 2 / step)


# -- what models see -----------------------------------------------------------------------------


def test_features_tell_options_apart_equally():
    space = Space.parse(
        {"act": ["a", "b", "c"], "size": Choice(["s", "m", "l"], ordered=True), "fixed": 3}
    )
    features = Features(space)
    a, b, c = (features.of({"act": x, "size": "m", "fixed": 3}) for x in "abc")
    assert np.linalg.norm(a - b) == np.linalg.norm(b - c) == np.linalg.norm(a - c) > 0
    assert features.width == 4
    assert features.of({"act": "a", "size": "m", "fixed": 3})[3] == 0.5


@pytest.mark.parametrize("make_space", SPACES)
def test_features_are_different_for_different_configurations(make_space):
    space, rng = make_space(), np.random.default_rng(0)
    features = Features(space)
    configs = {space.key(config): config for config in (space.sample(rng) for _ in range(50))}
    vectors = {tuple(features.of(config)) for config in configs.values()}
    assert len(vectors) == len(configs)
    assert all(0 <= value <= 1 for vector in vectors for value in vector)


def test_scores_are_ranks_and_what_is_infinite_is_worst():
    scores = normal_scores([3.0, math.inf, 1.0, 3.0, math.inf])
    assert scores[2] < scores[0] == scores[3] < scores[1] == scores[4]
    assert np.isfinite(scores).all()
    assert abs(scores.mean()) < 0.1
    assert normal_scores([]).size == 0


def test_points_are_those_of_the_levels_the_highest_first():
    class Levels(ListHistory):
        levels = (1.0, 3.0)

    history = Levels(LINE)
    history.add({"x": 0.1}, 5.0, 4.0, 3.0, 2.0)  # levels 1 and 3
    history.add({"x": 0.2}, 6.0)
    history.add({"x": 0.3})  # under way
    history._append(Observation(3, {"x": 0.4}, [2.0], [1.0]))  # beyond the first level
    history._append(Observation(4, {"x": 0.5}, [], [], failed=True))
    seen = gather(history, limit=100)
    assert [(trial.id, level) for trial, level in zip(seen.trials, seen.levels, strict=True)] == [
        (0, 3.0), (4, 1.0), (3, 1.0), (1, 1.0), (0, 1.0),
    ]  # fmt: skip
    assert [trial.id for trial in seen.pending] == [2]
    assert seen.scores.argmax() == 1
    history_of_failure = Levels(LINE)
    history_of_failure.add({"x": 0.1}, 5.0, 4.0, failed=True)  # at 1, on its way to 3
    failed = gather(history_of_failure, limit=9)
    assert failed.levels.tolist() == [3.0, 1.0]
    assert np.ptp(failed.scores) == 0
    assert len(gather(history, limit=2)) == 2
    # The last report of every trial comes before the last but one of any.
    assert gather(history, limit=100, every=True).levels.tolist() == [4, 2, 1, 1, 3, 2, 1]
    assert len({trial.id for trial in gather(history, limit=4, every=True).trials}) == 4
    assert gather(history, limit=2).levels.tolist() == [3.0, 1.0]
    history._append(Observation(5, {"x": 0.6}, [0.5], [1.0]))  # at no level yet
    history._append(Observation(6, {"x": 0.7}, [4.0], [1.0]))  # beyond both with one report
    assert [
        (trial.id, level)
        for trial, level in zip(
            gather(history, limit=100).trials, gather(history, limit=100).levels, strict=True
        )
        if trial.id > 4
    ] == [(6, 3.0), (5, 0.5)]


@pytest.mark.parametrize("make_space", SPACES)
def test_neighbours_are_legal_and_near(make_space):
    space, rng = make_space(), np.random.default_rng(0)
    moved = same = 0
    for _ in range(200):
        config = space.sample(rng)
        near = draw_neighbour(space, config, rng)
        if near is not None:
            assert space.validate(near) == near
            moved += 1
            same += sum(near.get(name) == value for name, value in config.items()) / len(config)
    assert moved > 50
    assert same / moved > 0.4


def test_what_was_drawn_is_no_candidate_in_a_finite_space():
    space = tiny_space()
    history = ListHistory(space)
    first, second, *_ = space.configurations()
    history.add(first, 1.0)
    assert select_new(space, history, [first, second, second]) == [second]
    line = ListHistory(LINE)
    line.add({"x": 0.5}, 1.0)
    assert select_new(LINE, line, [{"x": 0.5}]) == [{"x": 0.5}]


def test_no_searcher_warns_on_odd_histories():
    space = mixed_space()
    history = ListHistory(space)
    rng = np.random.default_rng(0)
    for number in range(30):
        history.add(space.sample(rng), 1.0 if number % 3 else math.inf, failed=number % 5 == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for searcher in (KDE(random=0.0), Sobol(), Grid()):
            assert searcher.propose(space, history, np.random.default_rng(0))


# -- what a tester found ---------------------------------------------------------------------------


def test_a_kde_learns_from_trials_that_report_now_and_then():
    """At a rung counts the first report at or beyond it, and so it does for the model."""

    class Levels(ListHistory):
        levels = (1.0, 3.0, 9.0)

    history = Levels(LINE)
    for number, x in enumerate(np.linspace(0, 1, 40)):
        history._append(Observation(number, {"x": float(x)}, [2.0, 4.0], [1.0, abs(x - 0.7)]))
    made = [
        KDE(random=0.0).propose(LINE, history, np.random.default_rng(seed))["x"]
        for seed in range(20)
    ]
    assert np.mean(np.abs(np.array(made) - 0.7)) < 0.15


@pytest.mark.parametrize("arguments", [{"good": 2}, {"random": -0.1}, {"good": math.nan}])
def test_shares_of_a_kde_are_checked(arguments):
    with pytest.raises(rw.InvalidArgumentError):
        KDE(**arguments)


def test_a_grid_goes_on_where_its_points_are_not_what_is_drawn():
    """On a table, rows are drawn in their place."""
    history, made = ListHistory(LINE), []
    for _ in range(6):
        made.append(Grid(points=6).propose(LINE, history, np.random.default_rng(0))["x"])
        history.add({"x": 0.123}, 1.0)
    assert len(set(made)) == 6


def test_a_grid_leaves_nothing_out_after_configurations_of_ones_own():
    history = ListHistory(LINE)
    history.add({"x": 0.123})
    history.add({"x": 0.5})  # which is one of the grid's
    left = set()
    while (config := Grid(points=5).propose(LINE, history, np.random.default_rng(0))) is not None:
        history.add(config)
        left.add(config["x"])
    assert left == {0.0, 0.25, 0.75, 1.0}


def test_only_libraries_are_silent_while_they_work():
    with silence_libraries():
        with pytest.warns(UserWarning, match="mine"):
            warnings.warn("mine", stacklevel=1)
        warnings.warn_explicit("theirs", UserWarning, "x.py", 1, module="optuna.samplers")


@pytest.mark.parametrize(
    ("searcher", "match"),
    [
        (rw.searchers.Initial([{"x": 7.0}]), r"configs\[0\]"),
        (rw.searchers.Initial([{"x": 0.5}], then=Grid(points=2_000_000)), "places"),
        pytest.param(
            rw.searchers.OptunaSearcher("tpe", nonsense=1), "nonsense", marks=needing("optuna")
        ),
    ],
)
def test_what_a_searcher_objects_to_it_objects_to_before_a_file_is_written(
    searcher, match, tmp_path
):
    with pytest.raises(rw.RungwiseError, match=match):
        rw.tune(
            _train, LINE, metric="loss", goal="min", max_resource=3, searcher=searcher,
            study=tmp_path / "s.db", show="quiet",
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    table = rw.Table([[1.0, 0.5]], configs=[{"x": 0.5}], space=LINE)
    with pytest.raises(rw.RungwiseError, match=match):
        rw.simulate(table, rw.ASHA(), searcher=searcher, trials=1)


def test_a_searcher_written_before_it_had_a_field_can_be_read():
    document = recipe_to_json(GP(startup=7))
    del document["reports"]
    assert recipe_from_json(document, types=[GP]) == GP(startup=7)
    with pytest.raises(rw.SchemaError, match="unknown"):
        recipe_from_json({**document, "nonsense": 1}, types=[GP])


def test_a_searcher_within_another_tells_what_it_is():
    assert is_slow(rw.searchers.Initial([{"x": 0.5}], then=GP()))
    odd = rw.searchers.AmongRows(KDE())
    assert not is_repeatable(rw.searchers.Initial([{"x": 0.5}], then=odd))
    assert is_repeatable(rw.searchers.Initial([{"x": 0.5}], then=KDE()))
