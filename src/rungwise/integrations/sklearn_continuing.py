"""Estimators of scikit-learn that go on where they stopped, instead of starting again.

``BaseSearchCV`` clones its estimator for every fit, so nothing of an earlier fit is left. The
subclass made here keeps what it has learned in a file, one for each configuration and each fold,
and ``fit`` goes on from there. For the caller it is the estimator itself.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
from sklearn.base import is_classifier

PASSES = "partial_fit"
"""The resource that stands for passes over the training data."""

EXACT = frozenset(
    {
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor"),
    }
)
"""Estimators for which going on with ``warm_start`` equals training from scratch."""


PLAIN = (str, int, float, bool, type(None))


def is_exact(estimator: Any, resource: str) -> bool:
    """Whether continuing is known to give the same model as training from scratch."""
    owner, _, name = resource.rpartition("__")
    inner = estimator.get_params()[owner] if owner else estimator
    kind = type(inner)
    counted = "max_iter" if kind.__name__.startswith("Hist") else "n_estimators"
    if not kind.__module__.startswith("sklearn.") or kind.__name__ not in EXACT:
        return False
    seed = inner.get_params().get("random_state")
    # A generator would have gone on; only a number gives the same model again.
    return name == counted and isinstance(seed, (int, np.integer, type(None)))


def make_continuing(estimator: Any, resource: str, folder: Path, passes: int) -> Any:
    """An estimator of the same kind whose ``fit`` continues.

    Args:
        estimator: the estimator; it is not changed.
        resource: its parameter that counts, or :data:`PASSES`.
        folder: where fitted estimators are kept.
        passes: the number of passes if ``set_params`` was given none.
    """
    kind = type(estimator)

    @functools.wraps(kind.fit)  # scikit-learn reads from its signature what can be routed to it
    def fit(self: Any, X: Any, y: Any = None, **given: Any) -> Any:  # noqa: N803 - its names
        return _fit(self, X, y, given)

    more = {
        "_rungwise_resource": resource,
        "_rungwise_folder": str(folder),
        "_rungwise_passes": passes,
        "set_params": _set_params,
        "fit": fit,
        "_rungwise_kind": kind,
    }
    continuing = type(kind.__name__, (kind,), {**more, "__module__": kind.__module__})
    made: Any = object.__new__(continuing)
    made.__dict__.update(estimator.__dict__)
    return made


def restore_kind(estimator: Any) -> None:
    """Make a fitted estimator one of its own kind again."""
    kind = getattr(type(estimator), "_rungwise_kind", None)
    if kind is not None:
        estimator.__class__ = kind
        for name in [name for name in vars(estimator) if name.startswith("_rungwise_")]:
            delattr(estimator, name)


def _set_params(self: Any, **params: Any) -> Any:
    if self._rungwise_resource == PASSES and PASSES in params:
        self._rungwise_passes = int(params.pop(PASSES))
    return self._rungwise_kind.set_params(self, **params)


def _fit(self: Any, X: Any, y: Any, given: Mapping[str, Any]) -> Any:  # noqa: N803
    resource = self._rungwise_resource
    params = self.get_params()
    amount = self._rungwise_passes if resource == PASSES else params.pop(resource)
    place = _find_place(self._rungwise_folder, params, X, y, given)
    # Written by this very fit, to a folder that only this user may read.
    before = pickle.loads(place.read_bytes()) if place.exists() else None  # noqa: S301
    if before is not None and before["amount"] <= amount:
        self.__dict__.update({**before["state"], "_rungwise_passes": self._rungwise_passes})
    else:
        before = None
    if resource == PASSES:
        _pass(self, X, y, given, done=0 if before is None else before["amount"])
    else:
        owner = resource.rpartition("__")[0]
        warm = f"{owner}__warm_start" if owner else "warm_start"
        self.set_params(**{resource: amount, warm: True})
        if before is None or before["amount"] < amount:
            self._rungwise_kind.fit(self, X, *(() if y is None else (y,)), **given)
    partial = place.with_suffix(f".{id(self)}")
    # joblib.dump would take several times as long for an ensemble of small trees.
    partial.write_bytes(pickle.dumps({"amount": amount, "state": self.__dict__}))
    partial.replace(place)
    return self


def _pass(self: Any, X: Any, y: Any, given: Mapping[str, Any], *, done: int) -> None:  # noqa: N803
    """Train for the passes that are missing."""
    for number in range(done, self._rungwise_passes):
        first = {"classes": np.unique(y)} if number == 0 and is_classifier(self) else {}
        self.partial_fit(X, *(() if y is None else (y,)), **first, **given)


def _find_place(folder: str, params: Mapping[str, Any], *data: Any) -> Path:
    """The file of this configuration on these data."""
    config = {name: _identify(value) for name, value in params.items() if "warm_start" not in name}
    return Path(folder, joblib.hash((sorted(config.items()), data)))


def _identify(value: Any) -> str:
    """A text that only equal values have in common: of a long array, ``repr`` leaves most out."""
    if type(value) in PLAIN:
        return repr(value)
    try:
        return str(joblib.hash(value))
    except (pickle.PicklingError, TypeError, AttributeError):  # a lambda, or what holds one
        return hashlib.sha256(cloudpickle.dumps(value)).hexdigest()
