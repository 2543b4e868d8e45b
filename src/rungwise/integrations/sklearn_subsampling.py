"""Folds of scikit-learn with part of their samples; the same in every wave of candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, resample

from rungwise.errors import InvalidArgumentError


def check_constant(splitter: Any) -> None:
    """Candidates of different waves are compared on the same folds."""
    shuffles = getattr(splitter, "shuffle", hasattr(splitter, "random_state"))
    fixed = isinstance(getattr(splitter, "random_state", 0), (int, np.integer))
    if shuffles and not fixed:
        rule = (
            "it must give the same folds at every call: set its random_state to a number, or "
            "shuffle=False"
        )
        raise InvalidArgumentError("cv", splitter, rule)


class Subsampling:
    """A splitter that takes part of each fold, both of its training and of its test data.

    Args:
        base: the splitter.
        fraction: the part.
        seed: which samples.
    """

    def __init__(self, base: Any, fraction: float, seed: int) -> None:
        self._base, self._fraction, self._seed = base, fraction, seed

    def get_n_splits(self, *given: Any, **params: Any) -> int:
        """As many as the splitter has."""
        return int(self._base.get_n_splits(*given, **params))

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[tuple[Any, Any]]:  # noqa: N803
        """The folds, smaller."""
        state = check_random_state(self._seed)
        for train, test in self._base.split(X, y, **params):
            yield self._take(train, state), self._take(test, state)

    def _take(self, indices: Any, state: Any) -> Any:
        count = max(1, int(self._fraction * len(indices)))
        return resample(indices, replace=False, n_samples=count, random_state=state)
