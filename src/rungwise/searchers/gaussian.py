"""A Gaussian process: hyperparameters fitted with analytic gradients, predictions by plain algebra.

The kernel is Matérn 5/2 with a length scale for each column, on scores that are about standard
normal, so its variance is 1. The priors are those of Hvarfner et al. (2024): length scales grow
with the square root of the dimension, so that many columns do not make all points far apart.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from rungwise.searchers.observations import Floats

FAILURES = (LinAlgError, ValueError, ArithmeticError)
"""What NumPy and SciPy raise on numerical problems."""

STEPS = 30
"""How many steps of L-BFGS a fit may take; more steps change the proposals little."""

JITTER = 1e-8
"""Is added to the variance of an observation, so that equal points do no harm."""

SCALE_PRIOR = (math.sqrt(2), math.sqrt(3))
"""Mean (at one column) and standard deviation of the logarithm of a length scale."""

NOISE_PRIOR = (-4.0, 1.0)
"""Mean and standard deviation of the logarithm of the variance of an observation."""

LOG_SCALES = (math.log(0.025), 6.0)
LOG_NOISE = (math.log(1e-4), 2.0)
MEANS = (-3.0, 3.0)
"""Where hyperparameters are searched."""


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of the process; to find them takes some milliseconds."""
    return ThreadpoolController()


def use_one_thread() -> AbstractContextManager[Any]:
    """Small matrices are slower on many threads, above all while workers train at the same time."""
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A Gaussian process with fixed hyperparameters.

    Args:
        scales: the length scale of each column.
        noise: the variance of an observation.
        mean: the mean far from all data.
    """

    scales: Floats
    noise: float
    mean: float

    @classmethod
    def fit(cls, inputs: Floats, scores: Floats) -> Gaussian:
        """The most likely hyperparameters under the priors."""
        width = inputs.shape[1]
        likelihood = _Likelihood(inputs, scores)
        # From the modes of the priors.
        scale, noise = (
            centre - spread**2
            for centre, spread in ((likelihood.centre, SCALE_PRIOR[1]), NOISE_PRIOR)
        )
        start = np.append(np.full(width, scale), [noise, 0.0])
        found = minimize(
            likelihood, start, jac=True, method="L-BFGS-B",
            bounds=[*[LOG_SCALES] * width, LOG_NOISE, MEANS], options={"maxiter": STEPS},
        )  # fmt: skip
        return cls(np.exp(found.x[:width]), math.exp(found.x[width]), float(found.x[width + 1]))

    def condition_on(self, inputs: Floats, scores: Floats) -> Conditioned:
        """The process, given these observations."""
        return Conditioned(self, inputs, scores)

    def covariance(self, a: Floats, b: Floats) -> Floats:
        """The covariance of each point of a with each point of b."""
        left, right = a / self.scales, b / self.scales
        squares = (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1)
        return _matern(np.sqrt(5 * np.maximum(squares - 2 * left @ right.T, 0.0)))


class Conditioned:
    """A Gaussian process, given observations."""

    def __init__(self, process: Gaussian, inputs: Floats, scores: Floats) -> None:
        self._process = process
        self._inputs = inputs
        covariance = process.covariance(inputs, inputs)
        covariance[np.diag_indices_from(covariance)] += process.noise + JITTER
        self._factor = cholesky(covariance, lower=True, check_finite=False)
        self._weights = cho_solve((self._factor, True), scores - process.mean, check_finite=False)

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the process itself (without noise) at these points."""
        between = self._process.covariance(inputs, self._inputs)
        mean = self._process.mean + between @ self._weights
        solved = solve_triangular(self._factor, between.T, lower=True, check_finite=False)
        variance = 1.0 - np.square(solved).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, 1e-12))


class _Likelihood:
    """−log(likelihood × priors) and its gradient.

    The hyperparameters are the logarithms of the length scales, of the noise, and the mean. The
    priors are densities of the scales and the noise themselves, as in BoTorch.

    Reference:
        Rasmussen and Williams (2006), Gaussian processes for machine learning, section 5.4.1.
    """

    def __init__(self, inputs: Floats, scores: Floats) -> None:
        self._scores = scores
        count, self._width = inputs.shape
        # [column, pair of points]: the squared differences, which do not change during a fit.
        columns = inputs.T
        self._squares = np.square(columns[:, :, None] - columns[:, None, :]).reshape(
            self._width, count * count
        )
        self.centre = SCALE_PRIOR[0] + 0.5 * math.log(self._width)

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        """The value and the gradient at these hyperparameters."""
        width, count = self._width, len(self._scores)
        scales, noise, mean = at[:width], float(at[width]), float(at[width + 1])
        inverse = np.exp(-2 * scales)
        distances = np.sqrt(5 * np.einsum("d,dp->p", inverse, self._squares))
        decay = np.exp(-distances)
        covariance = ((1 + distances + distances * distances / 3) * decay).reshape(count, count)
        covariance[np.diag_indices(count)] += math.exp(noise) + JITTER
        factor = cholesky(covariance, lower=True, check_finite=False)
        residuals = self._scores - mean
        weights = cho_solve((factor, True), residuals, check_finite=False)
        value = 0.5 * residuals @ weights + np.log(np.diag(factor)).sum()
        lower = np.tril(dpotri(factor, lower=1)[0])
        slopes = 0.5 * (lower + np.tril(lower, -1).T - np.outer(weights, weights))
        gradient = np.empty(width + 2)
        # dk/d(log scale) = 5/3 (1 + r) exp(−r) · (difference / scale)², with r = √5 · distance
        pulls = slopes.ravel() * (1 + distances) * decay
        gradient[:width] = np.einsum("dp,p->d", self._squares, pulls)
        gradient[:width] *= 5 / 3 * inverse
        gradient[width] = np.trace(slopes) * math.exp(noise)
        gradient[width + 1] = -weights.sum()
        away = (scales - self.centre) / SCALE_PRIOR[1]
        loud = (noise - NOISE_PRIOR[0]) / NOISE_PRIOR[1]
        value += 0.5 * (away @ away + loud * loud) + scales.sum() + noise
        gradient[:width] += away / SCALE_PRIOR[1] + 1
        gradient[width] += loud / NOISE_PRIOR[1] + 1
        return float(value), gradient


def _matern(distances: Floats) -> Floats:
    """The Matérn kernel with ν = 5/2, of distances in length scales times √5."""
    found: Floats = (1 + distances + distances * distances / 3) * np.exp(-distances)
    return found
