"""Kernel densities over configurations: one kernel around each configuration, and the prior.

A configuration is a row of numbers, one column per parameter: its position in the range of a
number, or its index among a few values; NaN where the parameter is inactive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rungwise.searchers.observations import Floats
from rungwise.space import Choice, Space
from rungwise.space.domains import Domain, is_unordered
from rungwise.space.steps import edges, find_number, value_at

LISTED = 64
"""Whole numbers and ordered options with at most this number of values get a share per value."""

NARROWEST = 100
"""A kernel is never narrower than this part of a range, however many there are."""

Integers = npt.NDArray[np.int64]


class Columns:
    """Turns configurations into rows of numbers, and back.

    Args:
        space: of the configurations.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._listed = [is_listed(parameter.domain) for parameter in space.parameters]

    def of(self, configs: Sequence[Mapping[str, Any]]) -> Floats:
        """One row per configuration."""
        rows = np.full((len(configs), len(self._listed)), np.nan)
        for axis, parameter in enumerate(self._space.parameters):
            name, domain = parameter.name, parameter.domain
            active = [i for i, config in enumerate(configs) if name in config]
            values = [configs[i][name] for i in active]
            rows[active, axis] = (
                [_index(domain, value) for value in values]
                if self._listed[axis]
                else _places(domain, values)
            )
        return rows

    def configs(self, rows: Floats) -> list[dict[str, Any]]:
        """The configurations of rows, without those that are forbidden."""
        found = [self.config(row) for row in rows]
        return [config for config in found if config is not None]

    def config(self, row: Floats) -> dict[str, Any] | None:
        """The configuration of a row; None if it is forbidden."""
        config: dict[str, Any] = {}
        for axis, parameter in enumerate(self._space.parameters):
            if parameter.is_active(config):
                domain, number = parameter.domain, float(row[axis])
                config[parameter.name] = (
                    _value(domain, int(number)) if self._listed[axis] else domain.at(number)
                )
        return None if any(rule.holds(config) for rule in self._space.forbidden) else config


class Kernels(Protocol):
    """The kernels of one parameter, one for each configuration; NaN centres are uniform."""

    def draw(self, which: Integers, rng: np.random.Generator) -> Floats:
        """One number from each of these kernels."""

    def log_density(self, column: Floats) -> Floats:
        """[number, kernel]; 0 where a number is NaN."""


class Parzen:
    """A mixture of products of kernels.

    Args:
        space: of the configurations.
        rows: the configurations, as :class:`Columns` has them.
        weights: of the configurations; the prior counts as one more, of weight 1.
    """

    def __init__(self, space: Space, rows: Floats, weights: Floats) -> None:
        self._space = space
        shares = np.append(weights, 1.0)
        self._shares = shares / shares.sum()
        centres = np.vstack([rows, np.full(rows.shape[1], np.nan)])
        self._kernels = [
            _make_kernels(parameter.domain, centres[:, axis])
            for axis, parameter in enumerate(space.parameters)
        ]

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Rows from the mixture; every parameter has a value, also if it will be inactive."""
        ends = np.cumsum(self._shares[:-1])
        which = np.searchsorted(ends, rng.random(count), side="right")
        return np.column_stack([kernels.draw(which, rng) for kernels in self._kernels])

    def log_density(self, rows: Floats) -> Floats:
        """The logarithm of the density at these rows.

        Which parameters are inactive follows from the others, so it adds nothing.
        """
        total = np.log(self._shares) + np.zeros((len(rows), 1))
        for axis, kernels in enumerate(self._kernels):
            total += kernels.log_density(rows[:, axis])
        found: Floats = np.logaddexp.reduce(total, axis=1)
        return found

    def log_ratio(self, rows: Floats, other: Parzen) -> Floats:
        """How much likelier rows are here than in another density, all parameters jointly."""
        return self.log_density(rows) - other.log_density(rows)

    def log_ratios(self, rows: Floats, other: Parzen) -> Floats:
        """The same of each number by itself: [row, column]."""
        return self.log_densities(rows) - other.log_densities(rows)

    def log_densities(self, rows: Floats) -> Floats:
        """[row, column]: the logarithm of the density of each number by itself."""
        shares = np.log(self._shares)
        each = [
            np.logaddexp.reduce(shares + kernels.log_density(rows[:, axis]), axis=1)
            for axis, kernels in enumerate(self._kernels)
        ]
        return np.column_stack(each)


def is_listed(domain: Domain) -> bool:
    """Whether every value has a share of its own: unordered options, and a few ordered ones."""
    return is_unordered(domain) or (domain.size is not None and domain.size <= LISTED)


def _make_kernels(domain: Domain, centres: Floats) -> Kernels:
    if is_unordered(domain) or domain.size == 1:
        return _Shares.around_options(domain.size or 1, centres)
    if domain.size is not None and domain.size <= LISTED:
        return _Shares.around_numbers(domain, centres)
    return _Normals(centres, least=0.0 if domain.size is None else 0.5 / domain.size)


class _Normals:
    """Normal kernels in a range from 0 to 1, truncated at its ends.

    Args:
        centres: where they are.
        least: the smallest width.
    """

    def __init__(self, centres: Floats, least: float) -> None:
        from scipy.special import ndtr  # noqa: PLC0415 - an import that few studies need

        self._uniform = np.isnan(centres)
        self._centres = np.where(self._uniform, 0.5, centres)
        self._widths = np.maximum(find_widths(centres), least)
        self._low = ndtr(-self._centres / self._widths)
        self._high = ndtr((1 - self._centres) / self._widths)
        self._log_scale = np.log((self._high - self._low) * self._widths * np.sqrt(2 * np.pi))

    def draw(self, which: Integers, rng: np.random.Generator) -> Floats:
        from scipy.special import ndtri  # noqa: PLC0415

        at = rng.random(len(which))
        low, high = self._low[which], self._high[which]
        near = self._centres[which] + self._widths[which] * ndtri(low + at * (high - low))
        found: Floats = np.where(self._uniform[which], at, np.clip(near, 0.0, 1 - 1e-12))
        return found

    def log_density(self, column: Floats) -> Floats:
        gaps = (column[:, None] - self._centres) / self._widths
        found: Floats = -0.5 * gaps * gaps - self._log_scale
        found[:, self._uniform] = 0.0
        found[np.isnan(column)] = 0.0
        return found


class _Shares:
    """The probability of each value, for each kernel.

    Args:
        shares: [kernel, value].
    """

    def __init__(self, shares: Floats) -> None:
        self._shares = shares / shares.sum(axis=1, keepdims=True)

    @classmethod
    def around_options(cls, size: int, centres: Floats) -> _Shares:
        """Options without an order: most of the weight stays, less the fewer kernels there are."""
        known = ~np.isnan(centres)
        shares = np.full((len(centres), size), 1 / len(centres))
        shares[known, centres[known].astype(np.int64)] += 1
        return cls(shares)

    @classmethod
    def around_numbers(cls, domain: Any, centres: Floats) -> _Shares:
        """Ordered values: what of a normal kernel falls into the part of each."""
        from scipy.special import ndtr  # noqa: PLC0415

        cells = np.array([domain.cell(value) for value in domain.values()])
        known = ~np.isnan(centres)
        middles = cells.mean(axis=1)[centres[known].astype(np.int64)]
        places = np.full(len(centres), np.nan)
        places[known] = middles
        widths = find_widths(places)[known, None]
        shares = np.tile(cells[:, 1] - cells[:, 0], (len(centres), 1))
        high, low = ((cells[:, end] - middles[:, None]) / widths for end in (1, 0))
        shares[known] = np.maximum(ndtr(high) - ndtr(low), 1e-300)
        return cls(shares)

    def draw(self, which: Integers, rng: np.random.Generator) -> Floats:
        ends = np.cumsum(self._shares[which], axis=1)[:, :-1]
        found: Floats = (rng.random(len(which))[:, None] >= ends).sum(axis=1).astype(np.float64)
        return found

    def log_density(self, column: Floats) -> Floats:
        known = ~np.isnan(column)
        found = np.zeros((len(column), len(self._shares)))
        found[known] = np.log(self._shares)[:, column[known].astype(np.int64)].T
        return found


def find_widths(centres: Floats) -> Floats:
    """How wide the kernels are: up to the further of a kernel's two neighbours.

    Not narrower than n kernels can resolve, nor wider than the range, as in the original TPE.

    Args:
        centres: in a range from 0 to 1; a NaN has the width 1.
    """
    widths = np.ones(len(centres))
    known = np.flatnonzero(~np.isnan(centres))
    if len(known) == 0:
        return widths
    order = known[np.argsort(centres[known], kind="stable")]
    gaps = np.diff(centres[order], prepend=0.0, append=1.0)
    if len(known) > 1:
        gaps[0] = gaps[-1] = 0.0  # the ends of the range are no neighbours
    least = 1 / min(NARROWEST, len(known) + 2)
    widths[order] = np.clip(np.maximum(gaps[:-1], gaps[1:]), least, 1.0)
    return widths


def _index(domain: Any, value: Any) -> int:
    if isinstance(domain, Choice):
        return domain.index(value)
    return find_number(domain.low, domain.step or 1, value)


def _places(domain: Any, values: Sequence[float]) -> Floats:
    """The positions of numbers, all at once."""
    low, high, at = domain.low, domain.high, np.array(values, dtype=np.float64)
    if domain.size is not None:  # half a step to either side
        low, high = edges(low, high, domain.step or 1) if domain.log else _widen(domain)
    if domain.log:
        low, high, at = math.log(low), math.log(high), np.log(at)
    # Halves, because high - low may overflow.
    width = high / 2 - low / 2 or 1.0
    places: Floats = np.clip((at / 2 - low / 2) / width, 0.0, 1.0)
    return places


def _value(domain: Any, index: int) -> Any:
    if isinstance(domain, Choice):
        return domain.options[index]
    return value_at(domain.low, domain.step or 1, index)


def _widen(domain: Any) -> tuple[float, float]:
    half = (domain.step or 1) / 2
    return domain.low - half, domain.high + half
