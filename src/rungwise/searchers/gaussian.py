"""A Gaussian process: hyperparameters fitted with BoTorch, predictions with plain algebra."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rungwise.errors import MissingExtraError
from rungwise.searchers.model_warnings import silence_libraries
from rungwise.searchers.observations import Floats

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they warn about each other
        import torch
        from botorch.exceptions.errors import ModelFittingError
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
        from gpytorch.mlls import ExactMarginalLogLikelihood
except ImportError:
    raise MissingExtraError("the searcher GP", "bo") from None

FAILURES = (ModelFittingError, RuntimeError, ValueError, ArithmeticError)
"""What the libraries raise on numerical problems; torch's own errors are RuntimeErrors."""

STEPS = 30
"""How many steps of L-BFGS a fit may take; more steps change the proposals little."""


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Small matrices are slower on many threads, above all while workers train at the same time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Gaussian:
    """A Gaussian process with fixed hyperparameters.

    Args:
        kernel: gives the covariance of two sets of points.
        noise: the variance of an observation.
        constant: the mean far from all data.
    """

    def __init__(self, kernel: Any, noise: float, constant: float) -> None:
        self._kernel, self._noise, self._constant = kernel, noise, constant
        self._inputs: Any = None
        self._factor: Any = None
        self._weights: Any = None

    @classmethod
    def fit(cls, inputs: Floats, scores: Floats) -> Gaussian:
        """The most likely hyperparameters, under BoTorch's priors (Matérn 5/2, one scale each)."""
        x = torch.as_tensor(inputs, dtype=torch.float64)
        y = torch.as_tensor(scores, dtype=torch.float64).unsqueeze(-1)
        covariance = get_covar_module_with_dim_scaled_prior(
            ard_num_dims=x.shape[-1], use_rbf_kernel=False
        )
        with silence_libraries():
            # A warning that the steps were not enough to converge is expected; other warnings of
            # the libraries do not concern the user.
            model = SingleTaskGP(x, y, covar_module=covariance, outcome_transform=None)
            likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
            fit_gpytorch_mll(
                likelihood, optimizer_kwargs={"options": {"maxiter": STEPS}}, max_attempts=1
            )
        model.eval()
        noise = float(model.likelihood.noise.detach())
        return cls(model.covar_module, noise, float(model.mean_module.constant.detach()))

    def condition_on(self, inputs: Floats, scores: Floats) -> Gaussian:
        """The same process, given these observations."""
        process = Gaussian(self._kernel, self._noise, self._constant)
        x = torch.as_tensor(inputs, dtype=torch.float64)
        y = torch.as_tensor(scores, dtype=torch.float64) - self._constant
        with torch.no_grad():
            covariance = self._covariance(x, x)
            covariance.diagonal().add_(self._noise + 1e-8)
            process._inputs = x
            process._factor = torch.linalg.cholesky(covariance)
            process._weights = torch.cholesky_solve(y.unsqueeze(-1), process._factor).squeeze(-1)
        return process

    def predict(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the process itself (without noise) at these points."""
        x = torch.as_tensor(inputs, dtype=torch.float64)
        with torch.no_grad():
            between = self._covariance(x, self._inputs)
            mean = self._constant + between @ self._weights
            solved = torch.linalg.solve_triangular(self._factor, between.T, upper=False)
            variance = self._kernel(x, diag=True) - solved.square().sum(0)
            return np.asarray(mean), np.asarray(variance.clamp_min(1e-12).sqrt())

    def _covariance(self, a: Any, b: Any) -> Any:
        return self._kernel(a, b).to_dense()
