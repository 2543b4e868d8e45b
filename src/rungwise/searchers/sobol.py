"""Quasi-random search: Sobol's points fill the space more evenly than random ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rungwise.core.searcher import History, Searcher
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.random import RandomSearcher
from rungwise.searchers.unit_cube import place_point
from rungwise.space import Space
from rungwise.validation import whole

BITS = 30
"""How many binary digits a coordinate has."""


@dataclass(frozen=True, slots=True)
class Sobol(Searcher):
    """The points of Sobol's sequence, moved at random; trial n gets point n.

    They are moved by a digital shift of their binary digits, so that they stay as evenly spread as
    before.

    If a point is forbidden, or its configuration was drawn before in a finite space, a random one
    is proposed instead. Weights and priors of a space are ignored: quasi-random is uniform.

    Args:
        seed: of the digital shift, which digits change in each dimension.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        whole("seed", self.seed, at_least=0)

    def propose(self, space: Space, history: History, rng: np.random.Generator) -> dict[str, Any]:
        """The next configuration to try; there always is one."""
        free = [p for p in space.parameters if p.domain.size != 1]
        if free:
            names = [parameter.name for parameter in free]
            point = self._point(len(history), len(free))
            config = place_point(space, dict(zip(names, point, strict=True)))
            if config is not None and (
                space.size is None or history.times_drawn(space.key(config)) == 0
            ):
                return config
        return RandomSearcher().propose(space, history, rng)

    def check(self, space: Space) -> None:
        """Raise if the space has more dimensions than Sobol's sequence."""
        from scipy.stats import qmc  # noqa: PLC0415

        free = sum(parameter.domain.size != 1 for parameter in space.parameters)
        if free > qmc.Sobol.MAXDIM:
            rule = f"Sobol's sequence has at most {qmc.Sobol.MAXDIM:,} dimensions"
            raise InvalidArgumentError("the number of parameters", free, rule)

    def _point(self, number: int, dimensions: int) -> list[float]:
        from scipy.stats import qmc  # noqa: PLC0415 - a second of import that few studies need

        sequence = qmc.Sobol(dimensions, scramble=False, bits=BITS)
        if number:
            sequence.fast_forward(number)
        digits = (sequence.random(1)[0] * 2**BITS).astype(np.int64)
        shift = np.random.default_rng([self.seed, dimensions]).integers(2**BITS, size=dimensions)
        point: list[float] = (((digits ^ shift) + 0.5) / 2**BITS).tolist()
        return point
