"""A Gaussian process: hyperparameters fitted with BoTorch, predictions with plain algebra."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rungwise.errors import MissingExtraError
from rungwise.searchers.model_warnings import libraries_silent
from rungwise.searchers.observations import Floats

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they warn of each other
        import torch
        from botorch.exceptions.errors import ModelFittingError
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
        from gpytorch.mlls import ExactMarginalLogLikelihood
except ImportError:
    raise MissingExtraError("the searcher GP", "bo") from None

FAILURES = (ModelFittingError, RuntimeError, ValueError, ArithmeticError)
"""What libraries raise when numbers are against them; torch's own errors are RuntimeErrors."""

STEPS = 30
"""How many steps of L-BFGS a fit may take; more change the proposals little."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrices this small are slower on many threads, above all while workers train beside it."""
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
    def fitted(cls, inputs: Floats, scores: Floats) -> Gaussian:
        """The most likely hyperparameters, under BoTorch's priors (Matérn 5/2, one scale each)."""
        x = torch.as_tensor(inputs, dtype=torch.float64)
        y = torch.as_tensor(scores, dtype=torch.float64).unsqueeze(-1)
        covariance = get_covar_module_with_dim_scaled_prior(
            ard_num_dims=x.shape[-1], use_rbf_kernel=False
        )
        with libraries_silent():
            # That the steps were not enough to converge is as it should be; the rest is the
            # libraries' own business.
            model = SingleTaskGP(x, y, covar_module=covariance, outcome_transform=None)
            likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
            fit_gpytorch_mll(
                likelihood, optimizer_kwargs={"options": {"maxiter": STEPS}}, max_attempts=1
            )
        model.eval()
        noise = float(model.likelihood.noise.detach())
        return cls(model.covar_module, noise, float(model.mean_module.constant.detach()))

    def seeing(self, inputs: Floats, scores: Floats) -> Gaussian:
        """The same process, given these observations."""
        made = Gaussian(self._kernel, self._noise, self._constant)
        x = torch.as_tensor(inputs, dtype=torch.float64)
        y = torch.as_tensor(scores, dtype=torch.float64) - self._constant
        with torch.no_grad():
            covariance = self._covariance(x, x)
            covariance.diagonal().add_(self._noise + 1e-8)
            made._inputs = x
            made._factor = torch.linalg.cholesky(covariance)
            made._weights = torch.cholesky_solve(y.unsqueeze(-1), made._factor).squeeze(-1)
        return made

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
