"""A benchmark: recorded learning curves of many configurations, with what is known about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rungwise.benchmarks import arrays
from rungwise.benchmarks.arrays import Arrays
from rungwise.benchmarks.card import Card
from rungwise.benchmarks.table import Table
from rungwise.errors import TableError
from rungwise.space import Space
from rungwise.validation import Goal, must_be, whole

Floats = NDArray[np.float64]


class Benchmark:
    """Learning curves of real training: configurations × resources × seeds.

    Load one with :func:`rungwise.benchmarks.load`, or make one with :meth:`from_arrays`.

    Attributes:
        card: what is known about it.
        name: its name.
        goal: whether the metric is minimised or maximised.
        rows: how many configurations there are.
        resources: how many values a curve has at most.
        seeds: how often each was trained; a ``seed`` below is a number from 0 to ``seeds - 1``.
        space: the search space, None if there is none.
        configs: the configuration of each row, None if unknown.
        names: a name for each row, None if there are none.
    """

    def __init__(self, card: Card, content: Arrays) -> None:
        content.check(card)
        self.card = card
        self.name = card.name
        self.goal: Goal = card.goal
        self.seeds, self.rows, self.resources = content.values.shape
        self.space: Space | None = card.search_space()
        self.configs: tuple[dict[str, Any], ...] | None = content.configs
        self.names: tuple[str, ...] | None = content.names
        self._arrays = content

    @classmethod
    def from_arrays(
        cls,
        card: Card,
        *,
        values: ArrayLike,
        seconds: ArrayLike = 1.0,
        final: ArrayLike | None = None,
        configs: Sequence[Mapping[str, Any]] | None = None,
        names: Sequence[str] | None = None,
    ) -> Benchmark:
        """A benchmark in memory; arguments as in :func:`rungwise.benchmarks.store.write`.

        Example:
            >>> made = Benchmark.from_arrays(Card(name="tiny"), values=[[[0.9, 0.5], [0.8, 0.7]]])
            >>> made.rows, made.resources, made.seeds
            (2, 2, 1)
        """
        must_be("card", card, Card, "a rungwise.benchmarks.Card")
        content = arrays.make_arrays(
            card, values=values, seconds=seconds, final=final, configs=configs, names=names
        )
        _, rows, resources = content.values.shape
        return cls(replace(card, rows=rows, resources=resources), content)

    def __repr__(self) -> str:
        shape = f"{self.rows} rows × {self.resources} resources × {self.seeds} seeds"
        return f"Benchmark({self.name!r}, {shape}, goal={self.goal!r})"

    def values(self, seed: int = 0) -> Floats:
        """The curves of a seed: [rows, resources], NaN where there is no value."""
        return self._arrays.values[self._seed(seed)]

    def seconds(self, seed: int = 0) -> Floats:
        """How long a unit of resource takes: one number, [rows] or [rows, resources]."""
        number = self._seed(seed)
        shared = len(self._arrays.seconds.shape) < 2
        return self._arrays.seconds[... if shared else number]

    def final(self, seed: int = 0) -> Floats:
        """What is reported of each row after full training; else its value at the last resource."""
        number = self._seed(seed)
        if self._arrays.final is None:
            return self._arrays.values[number, :, -1]
        return self._arrays.final[number]

    def table(
        self, seed: int = 0, *, nearest: bool = False, resources: int | Sequence[int] | None = None
    ) -> Table:
        """The curves of a seed as a table to simulate on.

        Args:
            seed: which of the training runs, counted from 0.
            nearest: whether any configuration of the space may be asked for, and is answered by
                the nearest recorded one.
            resources: how many of the resources, from the first on; or which ones, ascending, to
                make coarser curves (``range(4, 201, 4)`` makes four units one). All by default.
        """
        kept = self._resources(resources)
        times = self.seconds(seed)
        if times.ndim == 2:
            ends = np.concatenate([np.zeros((self.rows, 1)), np.cumsum(times, axis=1)], axis=1)
            times = np.diff(ends[:, [0, *kept]], axis=1) if _gaps(kept) else times[:, : len(kept)]
        elif _gaps(kept):
            times = np.multiply.outer(times, np.diff([0, *kept])) * np.ones((self.rows, 1))
        return Table(
            self.values(seed)[:, np.array(kept) - 1],
            times,
            self.goal,
            configs=self.configs,
            space=self.space,
            names=self.names,
            nearest=nearest,
        )

    def _seed(self, seed: Any) -> int:
        number = whole("seed", seed, at_least=0)
        if number >= self.seeds:
            rule = f"{self.name} has the seeds 0 to {self.seeds - 1}"
            raise TableError("seed", seed, rule)
        return number

    def _resources(self, resources: Any) -> Sequence[int]:
        """Which resources become 1, 2, … of a table."""
        if resources is None:
            return range(1, self.resources + 1)
        if not isinstance(resources, Sequence):
            last = whole("resources", resources, at_least=1)
            kept: Sequence[int] = range(1, last + 1)
        else:
            kept = [whole("resources", resource, at_least=1) for resource in resources]
        if not kept or any(after <= before for before, after in pairwise(kept)):
            raise TableError(
                "resources", resources, "at least one is required, and they must ascend"
            )
        if kept[-1] > self.resources:
            raise TableError("resources", kept[-1], f"the curves end at {self.resources}")
        return kept


def _gaps(kept: Sequence[int]) -> bool:
    return kept[-1] != len(kept)
