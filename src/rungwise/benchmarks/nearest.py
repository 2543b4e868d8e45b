"""The nearest recorded configuration: a 1-NN surrogate over the encoded space.

The paper asks its PD1 tables this way: a configuration drawn from the space is answered by the
recorded one that is nearest to it (section 5.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.space import Space
from rungwise.space.domains import is_unordered

PAIRS = 2**20
"""How many distances are in memory at a time: 8 MiB of them."""


class Nearest:
    """Finds the nearest of recorded configurations.

    The distance is Euclidean. Numbers and ordered options differ by what :meth:`Space.encode` says
    (from 0 to 1 over their range, in ratios on a log scale), other options by 1 if they are not
    the same, as if each were a corner at 1/√2 on an axis of its own. A parameter that is active in
    one configuration only differs by 1, one that is active in neither by 0. Of rows that are
    equally near, the lowest is found.

    Args:
        space: where the configurations are from.
        configs: the recorded ones.
    """

    def __init__(self, space: Space, configs: Sequence[Mapping[str, Any]]) -> None:
        self._space = space
        self._recorded = self._encode(configs)
        self._named = np.array([is_unordered(parameter.domain) for parameter in space.parameters])

    def rows(self, configs: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
        """The row of the recorded configuration nearest to each of these."""
        asked = self._encode(configs)
        found = np.empty(len(asked), dtype=np.int64)
        step = max(1, PAIRS // len(self._recorded))
        for begin in range(0, len(asked), step):
            part = asked[begin : begin + step]
            found[begin : begin + step] = self._distances(part).argmin(axis=1)
        return found

    def distances(self, config: Mapping[str, Any]) -> NDArray[np.float64]:
        """The squared distance of a configuration to each of the recorded ones."""
        found: NDArray[np.float64] = self._distances(self._encode([config]))[0]
        return found

    def _encode(self, configs: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        vectors = np.empty((len(configs), len(self._space.parameters)))
        for number, config in enumerate(configs):
            vectors[number] = self._space.encode(config)
        return vectors

    def _distances(self, asked: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared distances [asked, recorded]."""
        total = np.zeros((len(asked), len(self._recorded)))
        for axis, named in enumerate(self._named):
            here, there = asked[:, axis, None], self._recorded[None, :, axis]
            absent, missing = np.isnan(here), np.isnan(there)
            apart = (here != there).astype(np.float64) if named else np.square(here - there)
            if absent.any() or missing.any():
                apart = np.where(absent | missing, (absent != missing).astype(np.float64), apart)
            total += apart
        return total
