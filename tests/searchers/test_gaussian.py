"""The Gaussian process of the searcher GP: its gradients, its predictions, its threads."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import gamma, kv
from threadpoolctl import threadpool_info

from rungwise.searchers import gaussian
from rungwise.searchers.gaussian import Gaussian


def make_data(count=40, width=4, seed=0):
    rng = np.random.default_rng(seed)
    inputs = rng.random((count, width))
    inputs[:, -1] = 1.0  # a column in which all points are equal
    scores = np.sin(6 * inputs[:, 0]) + 0.5 * inputs[:, 1] + 0.05 * rng.standard_normal(count)
    return inputs, (scores - scores.mean()) / scores.std()


def test_the_gradient_is_that_of_the_value():
    inputs, scores = make_data()
    likelihood = gaussian._Likelihood(inputs, scores)
    for seed in range(3):
        at = np.append(np.random.default_rng(seed).normal(0, 0.7, 4), [-2.0, 0.2])
        value, gradient = likelihood(at)
        assert np.isfinite(value)
        numeric = approx_fprime(at, lambda where: likelihood(where)[0], 1e-6)
        assert gradient == pytest.approx(numeric, rel=1e-3, abs=1e-3)


def test_the_covariance_is_the_matern_kernel():
    """By its general formula, with a Bessel function."""
    process = Gaussian(np.array([0.5, 2.0]), 0.01, 0.0)
    a, b = np.random.default_rng(1).random((2, 5, 2))
    distance = np.sqrt(2 * 2.5) * np.linalg.norm((a[:, None] - b) / process.scales, axis=2)
    expected = 2 ** (1 - 2.5) / gamma(2.5) * distance**2.5 * kv(2.5, distance)
    assert process.covariance(a, b) == pytest.approx(expected)
    assert np.diag(process.covariance(a, a)) == pytest.approx(np.ones(5), abs=1e-6)


def test_predictions_are_those_of_the_textbook():
    inputs, scores = make_data()
    process = Gaussian(np.array([0.3, 1.0, 5.0, 1.0]), 0.02, 0.1)
    asked = np.random.default_rng(2).random((6, 4))
    noisy = process.covariance(inputs, inputs) + (0.02 + gaussian.JITTER) * np.eye(len(inputs))
    between = process.covariance(asked, inputs)
    mean, deviation = process.condition_on(inputs, scores).predict(asked)
    assert mean == pytest.approx(0.1 + between @ np.linalg.solve(noisy, scores - 0.1))
    variance = 1 - np.diag(between @ np.linalg.solve(noisy, between.T))
    assert deviation**2 == pytest.approx(variance, abs=1e-8)


def test_a_fit_finds_which_columns_matter_and_how_loud_the_noise_is():
    process = Gaussian.fit(*make_data(100))
    assert process.scales[0] < process.scales[1] < process.scales[2]
    assert 0.001 < process.noise < 0.05


def test_a_fit_survives_points_that_are_equal_and_scores_that_are_not():
    inputs = np.zeros((20, 3))
    process = Gaussian.fit(inputs, np.linspace(-1, 1, 20))
    mean, deviation = process.condition_on(inputs, np.linspace(-1, 1, 20)).predict(inputs[:2])
    assert np.isfinite(mean).all()
    assert np.isfinite(deviation).all()


def test_its_algebra_is_on_one_thread_and_other_work_is_not():
    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = threads()
    with gaussian.use_one_thread():
        assert set(threads()) <= {1}
    assert threads() == before
