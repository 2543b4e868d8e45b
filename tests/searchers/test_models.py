"""Searchers that learn: models propose near what was good, and what they are told counts."""

import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from scipy.linalg import LinAlgError

import rungwise as rw
from rungwise.searchers import (
    GP,
    KDE,
    RandomSearcher,
    candidates,
    gaussian,
    gp,
    kde,
    model_warnings,
)
from rungwise.searchers.gp import log_expected_improvement
from rungwise.searchers.observations import gather
from rungwise.space import Choice, Float, Int, Space
from rungwise.testing.searchers import (
    ListHistory,
    conditional_space,
)

LINE = Space.parse({"x": Float(0.0, 1.0)})
PLANE = Space.parse({"x": Float(0.0, 1.0), "y": Float(1e-4, 1.0, log=True)})


def study_of(searcher, space, loss, count, seed=0):
    """A study one trial at a time, each with one loss at resource 1."""
    history = ListHistory(space)
    made = []
    for number in range(count):
        config = searcher.propose(space, history, np.random.default_rng([seed, number]))
        made.append(loss(config))
        history.add(config, made[-1])
    return made


def bowl(config):
    return (config["x"] - 0.3) ** 2 + (math.log10(config["y"]) + 2) ** 2


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("make", [KDE, lambda: GP(candidates=200)], ids=["KDE", "GP"])
def test_models_find_a_bowl_faster_than_chance(make):
    searched = np.array([study_of(make(), PLANE, bowl, 40, seed) for seed in range(5)])
    chance = np.array([study_of(RandomSearcher(), PLANE, bowl, 40, seed) for seed in range(5)])
    assert searched[:, 20:].mean() < 0.6 * chance[:, 20:].mean()
    # To draw near the best so far is not enough: what counts is what is found.
    assert np.median(searched.min(axis=1)) < 0.5 * np.median(chance.min(axis=1))


def test_a_gp_does_not_propose_what_is_under_way():
    history = ListHistory(PLANE)
    rng = np.random.default_rng(1)
    for _ in range(15):
        config = PLANE.sample(rng)
        history.add(config, bowl(config))
    made = []
    for number in range(4):  # four workers ask before any of them reports
        config = GP().propose(PLANE, history, np.random.default_rng([5, number]))
        history.add(config)
        made.append(PLANE.encode(config))
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(made) for b in made[:i]]
    assert min(gaps) > 0.02


def test_a_gp_learns_from_the_highest_level_with_enough_reports():
    """Early losses point left, late ones right: with enough late ones it goes right."""

    def lateness(count):
        history = ListHistory(LINE)
        for number, x in enumerate(np.linspace(0.02, 0.98, 24)):
            curve = (float(x), 0.5 + x / 10, 0.05 * (1 - x)) if number % 24 < count else (float(x),)
            history.add({"x": float(x)}, *curve)
        return np.mean(
            [
                GP(startup=8).propose(LINE, history, np.random.default_rng(seed))["x"]
                for seed in range(5)
            ]
        )

    assert lateness(0) < 0.2
    assert lateness(24) > 0.8


def test_a_gp_does_not_aim_where_only_failures_were_heading_for():
    class Levels(ListHistory):
        levels = (1.0, 3.0)

    history = Levels(LINE)
    for number, x in enumerate(np.linspace(0.02, 0.98, 30)):
        history.add({"x": float(x)}, abs(x - 0.3), failed=number % 2 == 1)
    seen = gather(history, limit=100)
    judge = gp._Model(LINE, history, seen, fit_points=100, enough=10)
    assert judge._here == judge._time(1.0)


def test_a_gp_may_aim_at_the_ceiling_where_few_have_been():
    """Early losses point left; the six that came to the ceiling, too few for a rung, right."""
    history = ListHistory(LINE)
    for number, x in enumerate(np.linspace(0.02, 0.98, 24)):
        late = (0.6 - 0.55 * x,) if number % 4 == 3 else ()
        history.add({"x": float(x)}, 0.6 + 0.3 * x, *late)
    at = {
        aim: [
            GP(startup=8, aim=aim).propose(LINE, history, np.random.default_rng(seed))["x"]
            for seed in range(5)
        ]
        for aim in ("rung", "ceiling")
    }
    assert np.mean(at["rung"]) < 0.2
    assert np.mean(at["ceiling"]) > 0.8


def test_a_gp_may_learn_from_reports_between_the_rungs():
    class Levels(ListHistory):
        levels = (1.0, 3.0)

    history = Levels(LINE)
    for x in np.linspace(0.02, 0.98, 24):  # at the first rung all are alike, then they are not
        history.add({"x": float(x)}, 1.0, 0.2 + abs(x - 0.8))
    at = {
        reports: GP(startup=8, reports=reports).propose(LINE, history, np.random.default_rng(1))
        for reports in ("rungs", "all")
    }
    at_random = RandomSearcher().propose(LINE, history, np.random.default_rng(1))
    assert at["rungs"] == at_random  # there is nothing to learn from
    assert at["all"] != at_random


def test_failed_trials_and_nan_keep_a_gp_away():
    history = ListHistory(LINE)
    for x in np.linspace(0.01, 0.99, 20):
        bad = x < 0.5
        history.add({"x": float(x)}, math.inf if bad else 1.0 + (x - 0.7) ** 2, failed=bool(bad))
    made = [
        GP(startup=8).propose(LINE, history, np.random.default_rng(seed))["x"] for seed in range(6)
    ]
    assert min(made) > 0.45


@pytest.mark.parametrize(
    "make", [lambda: KDE(random=0.0), lambda: GP(startup=8)], ids=["KDE", "GP"]
)
def test_who_looks_good_and_then_fails_is_kept_away_from(make):
    history = ListHistory(LINE)
    for x in np.linspace(0.01, 0.99, 24):
        better = bool(x < 0.5)  # half of the range: the best losses, and no trial that gets through
        losses = ((x - 0.25) ** 2,) if better else (2 + (x - 0.75) ** 2, 1 + (x - 0.75) ** 2)
        history.add({"x": float(x)}, *losses, failed=better)
    made = [make().propose(LINE, history, np.random.default_rng(seed))["x"] for seed in range(6)]
    assert min(made) > 0.45


@pytest.mark.parametrize("make", [lambda: KDE(random=0.0), GP], ids=["KDE", "GP"])
def test_workers_get_no_near_copies(make):
    """Even where a model is sure of its optimum."""
    space = rw.Space.parse({"a": rw.Float(0.0, 1.0), "b": rw.Int(1, 1000, log=True)})
    history, rng = ListHistory(space), np.random.default_rng(0)
    for _ in range(40):
        config = space.sample(rng)
        history.add(config, float(((space.encode(config) - 0.4) ** 2).sum()))
    waiting = []
    for number in range(5):
        config = make().propose(space, history, np.random.default_rng([5, number]))
        history.add(config)  # it has told nothing yet
        waiting.append(space.encode(config))
    gaps = [np.abs(a - b).max() for i, a in enumerate(waiting) for b in waiting[:i]]
    assert min(gaps) >= candidates.NEAR


def test_near_copies_fill_up_where_there_is_nothing_else():
    ranked = [{"x": 0.5}, {"x": 0.52}, {"x": 0.9}, {"x": 0.48}]
    assert candidates.keep_apart(LINE, ranked, [{"x": 0.51}], 1) == [{"x": 0.9}]
    assert candidates.keep_apart(LINE, ranked, [{"x": 0.51}], 3) == [
        ranked[2],
        ranked[0],
        ranked[1],
    ]
    assert candidates.keep_apart(LINE, ranked, [], 2) == ranked[:2]


def test_options_and_inactive_parameters_set_configurations_apart():
    space = rw.Space.parse({"x": rw.Float(0.0, 1.0), "kind": ["a", "b"]})
    ranked = [{"x": 0.5, "kind": "a"}, {"x": 0.5, "kind": "b"}]
    assert candidates.keep_apart(space, ranked, [{"x": 0.5, "kind": "a"}], 1) == ranked[1:]
    space = conditional_space()
    rng = np.random.default_rng(0)
    found = [space.sample(rng) for _ in range(50)]
    other = next(config for config in found if config.keys() != found[0].keys())
    assert candidates.keep_apart(space, [found[0], other], [found[0]], 1) == [other]


def test_a_kde_draws_where_its_density_is():
    space = rw.Space.parse({"k": rw.Int(1, 1024, log=True)})
    density = kde._Density(space, [{"k": 8}] * 30)
    drawn = Counter(density.draw(np.random.default_rng(seed))["k"] for seed in range(3000))
    assert drawn[8] > 0.1 * drawn.total()
    assert max(range(1, 1025), key=lambda k: density.log_density({"k": k})) == 8
    assert 7 < np.exp(np.mean(np.log(list(drawn.elements())))) < 9


def test_the_densities_of_a_kde_add_up_to_one():
    space = rw.Space.parse({"x": rw.Float(0.0, 1.0), "kind": ["a", "b", "c"]})
    places = [{"x": 0.02, "kind": "a"}, {"x": 0.9, "kind": "b"}, {"x": 0.5, "kind": "a"}]
    density = kde._Density(space, places)
    xs = (np.arange(2000) + 0.5) / 2000
    total = sum(
        np.mean([math.exp(density.log_density({"x": float(x), "kind": kind})) for x in xs])
        for kind in "abc"
    )
    assert total == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (Int(0, 1), 1), (Int(1, 8), 3), (Int(1, 200, log=True), 1), (Int(1, 200, log=True), 150),
        (Choice(["s", "m", "l"], ordered=True), "m"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [1, 20, 400])
def test_whole_numbers_and_ordered_options_have_their_share_of_a_density(domain, value, count):
    density = kde._Density(Space.parse({"k": domain}), [{"k": value}] * count)
    shares = [
        (high - low) * math.exp(density.log_density({"k": one}))
        for one in domain.values()
        for low, high in [domain.cell(one)]
    ]
    assert sum(shares) == pytest.approx(1, abs=1e-4)  # what is reflected thrice is left out
    drawn = Counter(density.draw(np.random.default_rng(seed))["k"] for seed in range(400))
    assert len(drawn) > 1  # never stuck on one


def test_what_a_centre_lacks_is_uniform_around_it():
    space = conditional_space()
    rng = np.random.default_rng(0)
    found = [space.sample(rng) for _ in range(200)]
    without = [config for config in found if config.keys() != found[0].keys()]
    drawn = [space.key(kde._Density(space, without[:9]).draw(rng)) for _ in range(20)]
    assert drawn  # legal, whatever is active
    density = kde._Density(space, without[:9])
    assert all(math.isfinite(density.log_density(config)) for config in found)


def test_what_failed_is_never_good_for_a_kde():
    history = ListHistory(LINE)
    for x in np.linspace(0.0, 1.0, 50):
        history.add({"x": float(x)}, float(x), failed=bool(x > 0.15))
    good, bad = KDE(good=0.5)._split(LINE, history)
    assert (len(good), len(bad)) == (4, 46)  # half of those that did not fail
    assert max(config["x"] for config in good) <= 0.15


def test_who_was_left_behind_is_bad_for_a_kde():
    class Levels(ListHistory):
        levels = (1.0, 3.0)

    history = Levels(LINE)
    for x in np.linspace(0.0, 1.0, 20):
        history.add({"x": float(x)}, *((x, x, x) if x < 0.5 else (x,)))
    good, bad = KDE()._split(LINE, history)
    assert (len(good), len(bad)) == (3, 17)
    assert max(config["x"] for config in bad) == 1.0


def test_a_failed_fit_is_told_and_the_proposal_is_random(monkeypatch):
    times = iter(range(1, 100))

    def broken(*_):
        raise LinAlgError(f"not positive definite, order {next(times)}")

    monkeypatch.setattr(model_warnings, "_warned", set())
    monkeypatch.setattr(gaussian.Gaussian, "fit", broken)
    history = ListHistory(LINE)
    for x in np.linspace(0, 1, 15):
        history.add({"x": float(x)}, float(x))
    with pytest.warns(rw.ModelWarning, match="not positive definite.*random"):
        config = GP().propose(LINE, history, np.random.default_rng(3))
    GP().propose(LINE, history, np.random.default_rng(4))  # told once
    assert config == RandomSearcher().propose(LINE, history, np.random.default_rng(3))


def test_a_model_is_not_loaded_before_it_is_asked():
    code = (
        "import sys, rungwise.searchers as s\n"
        "s.GP(); print([name for name in ('torch', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        {"startup": 1},
        {"points": 0},
        {"candidates": 1.5},
        {"fit_points": None},
        {"reports": "some"},
        {"aim": "sky"},
    ],
)
def test_settings_of_a_gp_are_checked(arguments):
    with pytest.raises(rw.InvalidArgumentError):
        GP(**arguments)


def test_expected_improvement_is_right_where_it_can_be_computed_and_beyond():
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(size=8), rng.uniform(0.1, 2, 8)
    draws = rng.standard_normal((400_000, 1)) * deviation + mean
    expected = np.maximum(0.2 - draws, 0).mean(0)
    found = np.exp(log_expected_improvement(0.2, mean, deviation))
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=1e-4)
    far = log_expected_improvement(0.0, np.array([1.0, 10, 100, 1e6]), np.ones(4))
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
    # φ(u)/u² for large −u.
    np.testing.assert_allclose(far[2], -5000 - 0.5 * np.log(2 * np.pi) - 2 * np.log(100), rtol=1e-4)


def test_a_kde_needs_enough_reports_of_one_level():
    history = ListHistory(PLANE)
    rng = np.random.default_rng(0)
    for _ in range(7):  # two parameters: it wants eight
        config = PLANE.sample(rng)
        history.add(config, bowl(config))
    at_random = RandomSearcher().propose(PLANE, history, np.random.default_rng(4))
    searcher = KDE(random=0.0)
    assert searcher.propose(PLANE, history, np.random.default_rng(4)) == at_random
    config = PLANE.sample(rng)
    history.add(config, bowl(config))
    assert searcher.propose(PLANE, history, np.random.default_rng(4)) != at_random


@pytest.mark.parametrize("good", [0.0, 0.5, 0.95, 1.0])
def test_a_kde_lives_with_any_share_of_good_ones(good):
    late = study_of(KDE(good=good, random=0.0), LINE, lambda config: config["x"], 30)
    assert len(late) == 30
