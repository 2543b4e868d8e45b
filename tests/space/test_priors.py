from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from extras import needs

from rungwise.space import Choice, Space
from rungwise.space.priors import Weights

NAMES = ("nf", "ni", "bf", "bi", "nl")


@pytest.fixture
def shaped():
    """Every kind of hyperparameter that ConfigSpace draws from itself, by name."""
    cs = needs("configspace", "ConfigSpace")
    return {
        "nf": cs.NormalFloatHyperparameter("nf", mu=3.0, sigma=1.0, lower=0.0, upper=10.0),
        "ni": cs.NormalIntegerHyperparameter("ni", mu=30, sigma=5, lower=1, upper=100),
        "bf": cs.BetaFloatHyperparameter("bf", alpha=2, beta=6, lower=0.0, upper=8.0),
        "bi": cs.BetaIntegerHyperparameter("bi", alpha=3, beta=3, lower=0, upper=50),
        "nl": cs.NormalFloatHyperparameter(
            "nl", mu=1e-3, sigma=1e-3, lower=1e-5, upper=1e-1, log=True
        ),
    }


def parse(hyperparameters):
    configspace = needs("configspace", "ConfigSpace")
    return Space.parse(configspace.ConfigurationSpace(hyperparameters))


@pytest.mark.parametrize("name", NAMES)
def test_a_shaped_prior_is_drawn_as_configspace_draws_it(shaped, name):
    hyperparameter = shaped[name]
    space, rng = parse({name: hyperparameter}), np.random.default_rng(0)
    ours = [space.sample(rng)[name] for _ in range(1500)]
    theirs = hyperparameter.sample_value(1500, seed=np.random.RandomState(0))
    assert {type(value) for value in ours} == {type(hyperparameter.lower)}
    assert all(hyperparameter.lower <= value <= hyperparameter.upper for value in ours)
    spread = float(np.std(theirs))
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=spread / 8)
    assert np.std(ours) == pytest.approx(spread, rel=0.15)


def test_shaped_draws_depend_on_the_generator_alone(shaped):
    space = parse(shaped)
    first = space.sample(np.random.default_rng(1))
    space.sample(np.random.default_rng(2))
    assert space.sample(np.random.default_rng(1)) == first
    assert Space.from_json(space.to_json()).sample(np.random.default_rng(1)) == first


def test_weighted_options_come_in_proportion():
    rng, weights = np.random.default_rng(3), Weights((1.0, 0.0, 3.0, 0.0))
    counts = Counter(weights.draw(Choice(["a", "b", "c", "d"]), rng) for _ in range(4000))
    assert set(counts) == {"a", "c"}
    assert counts["c"] / 4000 == pytest.approx(0.75, abs=0.03)


def test_rounding_never_reaches_an_option_without_weight():
    class Highest:
        def random(self):
            return 1.0  # beyond what a generator returns

    assert Weights((1.0, 2.0, 0.0)).draw(Choice(["a", "b", "c"]), Highest()) == "b"


def test_priors_are_part_of_the_space(shaped):
    weighted = needs("configspace", "ConfigSpace").CategoricalHyperparameter(
        "x", ["a", "b"], weights=[1, 3]
    )
    space = parse({"x": weighted})
    plain = Space.parse({"x": ["a", "b"]})
    assert space != plain
    assert Space.from_json(space.to_json()) == space
    (difference,) = space.describe(plain)
    assert difference.startswith("x is Choice(['a', 'b']) drawn from Weights(weights=(1.0, 3.0)) ")
    assert "drawn from Normal(mu=3.0, sigma=1.0)" in repr(parse({"nf": shaped["nf"]}))
