"""TPE: its densities, what it learns from, and what it must not do."""

import math
from collections import Counter

import numpy as np
import pytest
from extras import needs

import rungwise as rw
from rungwise.core.proposals import is_repeatable, is_slow
from rungwise.searchers import TPE, RandomSearcher, candidates
from rungwise.searchers.parzen import LISTED, Columns, Parzen, find_widths
from rungwise.space import Choice, Float, Int, Space
from rungwise.testing.searchers import (
    SPACES,
    ListHistory,
    Observation,
    SearcherConformance,
    conditional_space,
    mixed_space,
)

LINE = Space.parse({"x": Float(0.0, 1.0)})
PLANE = Space.parse({"x": Float(0.0, 1.0), "y": Float(1e-4, 1.0, log=True)})


class TestTPE(SearcherConformance):
    import_path = "rungwise.searchers:TPE"


def make_density(space, configs):
    return Parzen(space, Columns(space).of(configs), np.ones(len(configs)))


def draw_configs(space, density, count):
    columns = Columns(space)
    drawn = [columns.config(row) for row in density.draw(count, np.random.default_rng(0))]
    return [config for config in drawn if config is not None]


def log_densities(space, density, configs):
    return density.log_density(Columns(space).of(configs))


def propose(history, space, count=20, **options):
    return [
        TPE(**options).propose(space, history, np.random.default_rng(seed)) for seed in range(count)
    ]


# -- densities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make_space", SPACES)
def test_rows_become_the_configurations_they_came_from(make_space):
    space, rng = make_space(), np.random.default_rng(0)
    configs = [space.sample(rng) for _ in range(50)]
    columns = Columns(space)
    for config, row in zip(configs, columns.of(configs), strict=True):
        again = columns.config(row)
        assert again.keys() == config.keys()
        for name, value in config.items():
            close = type(value) is float and not isinstance(space, Choice)
            assert type(again[name]) is type(value)
            assert again[name] == (pytest.approx(value) if close else value)


def test_rows_hold_the_positions_of_the_domains():
    space = Space.parse(
        {
            "a": Float(-2.0, 5.0), "b": Float(1e-5, 10.0, log=True),
            "c": Int(1, 5000, log=True), "d": Int(-300, 300),
        }
    )  # fmt: skip
    configs = [space.sample(np.random.default_rng(seed)) for seed in range(20)]
    expected = [[p.domain.place(c[p.name]) for p in space.parameters] for c in configs]
    assert Columns(space).of(configs) == pytest.approx(np.array(expected))


def test_densities_add_up_to_one():
    space = Space.parse({"x": Float(0.0, 1.0), "kind": ["a", "b", "c"]})
    places = [{"x": 0.02, "kind": "a"}, {"x": 0.9, "kind": "b"}, {"x": 0.5, "kind": "a"}]
    xs = (np.arange(4000) + 0.5) / 4000
    grid = [{"x": float(x), "kind": kind} for x in xs for kind in "abc"]
    found = np.exp(log_densities(space, make_density(space, places), grid))
    assert found.sum() / len(xs) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (Int(0, 1), 1), (Int(1, 8), 3), (Int(1, LISTED, log=True), 1), (Int(1, LISTED), 50),
        (Choice(["s", "m", "l"], ordered=True), "m"), (Choice(["s", "m", "l"]), "m"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [1, 20, 400])
def test_the_shares_of_values_add_up_to_one_and_are_what_is_drawn(domain, value, count):
    space = Space.parse({"k": domain})
    density = make_density(space, [{"k": value}] * count)
    values = list(domain.values())
    shares = np.exp(log_densities(space, density, [{"k": one} for one in values]))
    assert shares.sum() == pytest.approx(1)
    drawn = Counter(config["k"] for config in draw_configs(space, density, 4000))
    assert [drawn[one] / 4000 for one in values] == pytest.approx(shares.tolist(), abs=0.04)
    assert values[int(np.argmax(shares))] == value
    assert len(drawn) > 1  # never only one


def test_draws_of_numbers_follow_the_density():
    space = Space.parse({"k": Int(1, 5000, log=True)})
    density = make_density(space, [{"k": 40}] * 30)
    drawn = [config["k"] for config in draw_configs(space, density, 4000)]
    assert np.exp(np.mean(np.log(drawn))) == pytest.approx(40, rel=0.2)
    probabilities = np.exp(log_densities(space, density, [{"k": k} for k in (1, 40, 5000)]))
    assert probabilities[1] > 10 * max(probabilities[0], probabilities[2])


def test_a_density_sees_how_parameters_belong_together():
    """Two good places at opposite corners: the other two corners are not good."""
    space = Space.parse({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    good = [{"x": 0.1, "y": 0.1}, {"x": 0.9, "y": 0.9}] * 10
    density = make_density(space, good)
    same, other = log_densities(space, density, [{"x": 0.1, "y": 0.1}, {"x": 0.1, "y": 0.9}])
    assert same > other + 2


def test_widths_reach_to_the_further_neighbour_within_bounds():
    widths = find_widths(np.array([0.5, 0.1, np.nan, 0.2]))
    # Between 0.1 and 0.2 lies the first; 3 kernels cannot resolve less than 1/5.
    assert widths == pytest.approx([0.3, 0.2, 1.0, 0.3])
    assert find_widths(np.array([0.3])) == pytest.approx([0.7])
    assert find_widths(np.array([np.nan])).tolist() == [1.0]


def test_what_a_centre_lacks_is_uniform_around_it():
    space = conditional_space()
    found = [space.sample(np.random.default_rng(seed)) for seed in range(200)]
    without = [config for config in found if config.keys() != found[0].keys()]
    density = make_density(space, without[:9])
    assert draw_configs(space, density, 20)
    assert np.isfinite(log_densities(space, density, found)).all()


def test_the_density_of_each_number_is_that_of_a_space_with_it_alone():
    space = Space.parse({"x": Float(0.0, 1.0), "kind": ["a", "b", "c"]})
    places = [{"x": 0.02, "kind": "a"}, {"x": 0.9, "kind": "b"}, {"x": 0.5, "kind": "a"}]
    asked = [{"x": 0.4, "kind": "c"}, {"x": 0.1, "kind": "a"}]
    each = make_density(space, places).log_densities(Columns(space).of(asked))
    for axis, name in enumerate(space.names):
        alone = Space.parse({name: space.parameters[axis].domain})
        cut = [[{name: config[name]} for config in configs] for configs in (places, asked)]
        expected = log_densities(alone, make_density(alone, cut[0]), cut[1])
        assert each[:, axis] == pytest.approx(expected)


# -- what it learns ------------------------------------------------------------------------------


def bowl(config):
    return (config["x"] - 0.3) ** 2 + (math.log10(config["y"]) + 2) ** 2


@pytest.mark.no_cover
def test_it_finds_a_bowl_faster_than_chance():
    def lowest(searcher, seed):
        history = ListHistory(PLANE)
        for number in range(40):
            config = searcher.propose(PLANE, history, np.random.default_rng([seed, number]))
            history.add(config, bowl(config))
        return min(trial.losses[0] for trial in history)

    searched = [lowest(TPE(), seed) for seed in range(10)]
    chance = [lowest(RandomSearcher(), seed) for seed in range(10)]
    assert np.median(searched) < 0.5 * np.median(chance)


def test_it_is_random_until_enough_has_reported():
    history, rng = ListHistory(PLANE), np.random.default_rng(0)
    for _ in range(9):
        config = PLANE.sample(rng)
        history.add(config, bowl(config))
    history.add(PLANE.sample(rng))  # no report yet
    at_random = RandomSearcher().propose(PLANE, history, np.random.default_rng(4))
    assert TPE().propose(PLANE, history, np.random.default_rng(4)) == at_random
    assert TPE(startup=9).propose(PLANE, history, np.random.default_rng(4)) != at_random


def test_whoever_failed_is_bad_even_with_the_best_losses():
    history = ListHistory(LINE)
    for x in np.linspace(0.01, 0.99, 40):
        history.add({"x": float(x)}, float(x), failed=bool(x < 0.5))
    assert np.mean([config["x"] > 0.5 for config in propose(history, LINE)]) > 0.9


def test_a_trial_that_got_further_is_better_whatever_its_loss():
    class Levels(ListHistory):
        levels = (1.0, 3.0)

    history = Levels(LINE)
    for number, x in enumerate(np.linspace(0.0, 1.0, 40)):
        # The loss is worse where the trials got further.
        losses = [5.0, 5.0, 5.0] if x > 0.9 else [float(x)]
        resources = [float(r) for r in range(1, len(losses) + 1)]
        history._append(Observation(number, {"x": float(x)}, resources, losses))
    assert np.mean([config["x"] > 0.7 for config in propose(history, LINE)]) > 0.9


@pytest.mark.parametrize("joint", [0.0, 1.0])
def test_workers_get_no_near_copies(joint):
    space = Space.parse({"a": Float(0.0, 1.0), "b": Int(1, 1000, log=True)})
    history, rng = ListHistory(space), np.random.default_rng(0)
    for _ in range(40):
        config = space.sample(rng)
        history.add(config, float(((space.encode(config) - 0.4) ** 2).sum()))
    waiting = []
    for number in range(4):
        config = TPE(joint=joint).propose(space, history, np.random.default_rng([5, number]))
        history.add(config)  # no report yet
        waiting.append(space.encode(config))
    gaps = [np.abs(a - b).max() for i, a in enumerate(waiting) for b in waiting[:i]]
    assert min(gaps) >= candidates.NEAR


def test_a_joint_proposal_keeps_together_what_belongs_together():
    space = Space.parse({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    history, rng = ListHistory(space), np.random.default_rng(0)
    for _ in range(120):
        config = space.sample(rng)
        history.add(config, abs(config["x"] - config["y"]) + 0.5 * (0.2 < config["x"] < 0.8))

    def distance(joint):
        made = propose(history, space, 30, joint=joint)
        return np.mean([abs(config["x"] - config["y"]) for config in made])

    assert distance(1.0) < 0.6 * distance(0.0)


def test_a_running_trial_makes_its_place_less_likely():
    def near(*, running):
        history = ListHistory(LINE)
        for x in np.linspace(0.0, 1.0, 30):
            history.add({"x": float(x)}, (x - 0.3) ** 2)
        for _ in range(10 * running):
            history.add({"x": 0.3})
        return np.mean([abs(c["x"] - 0.3) < 0.05 for c in propose(history, LINE, 40)])

    assert near(running=True) < near(running=False) - 0.2


def test_it_keeps_away_from_an_option_that_is_never_good():
    history = ListHistory(mixed_space())
    for seed in range(60):
        config = mixed_space().sample(np.random.default_rng(seed))
        history.add(config, {"relu": 0.0, "tanh": 1.0, None: 2.0}[config["act"]] + seed / 1e3)
    made = Counter(config["act"] for config in propose(history, mixed_space()))
    assert made["relu"] >= 18


# -- in a study ----------------------------------------------------------------------------------


def test_a_replay_takes_its_proposals_from_the_log():
    """So a better version of it does not invalidate old studies."""
    assert not is_slow(TPE())
    assert not is_repeatable(TPE())


def test_old_studies_of_the_kernel_densities_stay_what_they_were():
    assert rw.searchers.KDE is not TPE
    assert is_repeatable(rw.searchers.KDE())


@pytest.mark.parametrize(
    "arguments",
    [
        {"joint": 1.5},
        {"good": 0.0},
        {"good": 1},
        {"good": math.nan},
        {"startup": 1},
        {"candidates": 0},
    ],
)
def test_its_arguments_are_checked(arguments):
    with pytest.raises(rw.InvalidArgumentError):
        TPE(**arguments)


def test_jointly_it_proposes_from_the_distribution_of_optunas():
    """An oracle: mean and deviation of what both propose for one history, by parameter."""
    needs("optuna")
    space = Space.parse({
        "lr": Float(1e-5, 10.0, log=True), "momentum": Float(0.0, 1.0), "layers": Int(1, 6),
        "units": Int(8, 2000, log=True), "act": ["relu", "tanh", "gelu"],
    })  # fmt: skip
    history, rng = ListHistory(space), np.random.default_rng(0)
    for _ in range(40):
        config = space.sample(rng)
        place = space.encode(config)
        history.add(config, float(((place[1:] - 0.6) ** 2).sum()) + 0.3 * (config["act"] == "relu"))

    def spread(searcher):
        rngs = map(np.random.default_rng, range(100))
        made = [space.encode(searcher.propose(space, history, each)) for each in rngs]
        return np.array([np.mean(made, axis=0), np.std(made, axis=0)])

    theirs = spread(rw.searchers.OptunaSearcher("tpe"))
    assert spread(TPE(joint=1)) == pytest.approx(theirs, abs=0.06)
    apart = spread(TPE(joint=0))
    assert np.abs(apart - theirs).max() > 0.12  # each parameter by itself is something else
