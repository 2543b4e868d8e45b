"""Tables of learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rungwise.benchmarks.nearest import Nearest
from rungwise.errors import TableError, Words
from rungwise.space import Space
from rungwise.space.scalars import canonical, plain
from rungwise.validation import Goal, parse_goal

Floats = NDArray[np.float64]


class Table:
    """Tabulated learning curves: what was measured when each configuration was trained.

    Args:
        values: ``values[row, e - 1]`` is the metric of a row after resource e. Rows may be ragged
            or padded with NaN (runs that diverged); infinite values are legal as well.
        seconds: how long a unit of resource takes: one number, one per row, or one per row
            and resource; 1 by default, so that time counts resource.
        goal: whether the metric is minimised or maximised.
        configs: the configuration of each row.
        space: the search space they come from.
        names: a name for each row.
        nearest: whether any configuration of the space may be asked, and is answered by the
            nearest of the rows; it needs ``configs`` and ``space``.

    Example:
        >>> table = Table([[0.9, 0.5, 0.4], [0.8, 0.6]], seconds=[2.0, 1.5])
        >>> table.rows, table.resources
        (2, 3)
    """

    def __init__(
        self,
        values: ArrayLike | Sequence[Sequence[float]],
        seconds: ArrayLike | None = None,
        goal: Goal = "min",
        *,
        configs: Sequence[Mapping[str, Any]] | None = None,
        space: Any = None,
        names: Sequence[str] | None = None,
        nearest: bool = False,
    ) -> None:
        self.goal: Goal = parse_goal(goal)
        self.values = _clean_values(values)
        self.rows, self.resources = self.values.shape
        self.seconds = _clean_seconds(seconds, self.values.shape)
        self.space = None if space is None else Space.parse(space)
        self.configs = None if configs is None else self._per_row("configs", configs)
        self.names = None if names is None else self._per_row("names", names)
        if self.space is not None and self.configs is not None:
            self.configs = tuple(self.space.validate(config) for config in self.configs)
        self.nearest = self._clean_nearest(nearest)

    def __repr__(self) -> str:
        return f"Table({self.rows} rows × {self.resources} resources, goal={self.goal!r})"

    def leg(self, row: int, start: int, until: int) -> tuple[list[float], list[float]]:
        """The values and seconds of a row after start, up to and with until."""
        values: list[float] = self.values[row, start:until].tolist()
        if self.seconds.ndim == 2:
            return values, self.seconds[row, start:until].tolist()
        unit = float(self.seconds[row] if self.seconds.ndim else self.seconds)
        return values, [unit] * (until - start)

    def find_row(self, config: Mapping[str, Any]) -> int:
        """The row of a configuration: the first that is the same, or else nearest to it.

        Args:
            config: the configuration; without ``nearest`` it must be one of the table's.
        """
        return self.find_rows([config])[0]

    def find_rows(self, configs: Sequence[Mapping[str, Any]]) -> list[int]:
        """The rows of many configurations, see :meth:`find_row`."""
        if self.configs is None:
            raise TableError("configs", None, "rows are found by the configurations of the table")
        asked = configs if self.space is None else [self.space.validate(one) for one in configs]
        found = [self._known.get(_key(config)) for config in asked]
        unknown = [config for config, row in zip(asked, found, strict=True) if row is None]
        if not unknown:
            return [row for row in found if row is not None]
        if not self.nearest:
            rule = "it must be one of the table's configurations, or nearest must be on"
            raise TableError("config", unknown[0], rule)
        others = iter(self._surrogate.rows(unknown).tolist())
        return [next(others) if row is None else row for row in found]

    @cached_property
    def _known(self) -> dict[str, int]:
        """The first row of each configuration."""
        configs = self.configs or ()
        return {_key(config): row for row, config in reversed(list(enumerate(configs)))}

    @cached_property
    def _surrogate(self) -> Nearest:
        assert self.space is not None
        return Nearest(self.space, self.configs or ())

    def _clean_nearest(self, nearest: Any) -> bool:
        nearest = plain(nearest)
        if type(nearest) is not bool:
            raise TableError("nearest", nearest, "it must be True or False")
        if nearest and (self.space is None or self.configs is None):
            rule = "a table needs configs and space to know what is near"
            raise TableError("nearest", nearest, rule)
        return nearest

    def _per_row(self, name: str, items: Any) -> tuple[Any, ...]:
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise TableError(name, items, "it must be a sequence, one item per row")
        if len(items) != self.rows:
            raise TableError(
                name,
                Words(f"of length {len(items)}"),
                f"it needs one for each of {self.rows} rows",
            )
        return tuple(items)

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write values, seconds and goal to a compressed ``.npz`` file of exactly this name."""
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file, values=self.values, seconds=self.seconds, goal=np.array(self.goal)
            )

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        key: str = "values",
        index: int | None = None,
        columns: slice | None = None,
        goal: Goal | None = None,
    ) -> Table:
        """Read an ``.npz`` file.

        Args:
            path: the file; it holds an array [rows, resources] or [tables, rows, resources], and
                optionally ``seconds`` and ``goal``.
            key: the name of the array in the file.
            index: which table of a three-dimensional array.
            columns: which columns are resources 1, 2, …; all by default.
            goal: overrides the goal in the file; ``"min"`` if neither is there.
        """
        arrays = _read_arrays(Path(path))
        if key not in arrays:
            raise TableError(
                "key", key, f"it must be one of the arrays of {path}: {sorted(arrays)}"
            )
        values, seconds = arrays[key], arrays.get("seconds")
        if values.ndim == 3:
            tables = len(values)
            if index is None or not 0 <= index < tables:
                raise TableError(
                    "index", index, f"{key} holds {tables} tables: choose one, counted from 0"
                )
            values = values[index]
            # Seconds may be given for each table, or once for all.
            if (
                seconds is not None
                and seconds.shape[:1] == (tables,)
                and (seconds.ndim == 3 or seconds.shape[1:] == values.shape[:1])
            ):
                seconds = seconds[index]
        elif index is not None:
            raise TableError("index", index, f"{key} holds a single table")
        if values.ndim == 2 and columns is not None:
            if seconds is not None and seconds.shape == values.shape:
                seconds = seconds[:, columns]
            values = values[:, columns]
        if goal is None:
            goal = parse_goal(str(arrays["goal"])) if "goal" in arrays else "min"
        return cls(values, seconds, goal)


def _key(config: Mapping[str, Any]) -> str:
    """A text that differs where configurations do, also in the types of values."""
    rule = "it must be a dict of str, bool, None and finite numbers"
    if not isinstance(config, Mapping):
        raise TableError("config", config, rule)
    try:
        return canonical({name: plain(value) for name, value in config.items()})
    except (TypeError, ValueError):
        raise TableError("config", config, rule) from None


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        # Opened here, not by NumPy, so that the file is closed whatever is wrong with it.
        with path.open("rb") as raw:
            file = np.load(raw, allow_pickle=False)
            if isinstance(file, np.ndarray):
                raise TableError("path", str(path), "it must be an .npz file with named arrays")
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise TableError("path", str(path), "there is no such file") from None
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        if isinstance(error, TableError):
            raise
        rule = f"it must be an .npz file without pickled objects ({error})"
        raise TableError("path", str(path), rule) from error


def _clean_values(values: Any) -> Floats:
    shape_rule = "it must be [rows, resources] with at least one of each"
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        if isinstance(values, np.ndarray) and values.dtype != object:
            array = _reals(values)
        else:
            curves = [_reals(curve) for curve in values]
            if any(curve.ndim != 1 for curve in curves):
                raise TableError("values", Words("nested otherwise"), shape_rule)
            width = max((curve.size for curve in curves), default=0)
            array = np.full((len(curves), width), np.nan)
            for row, curve in enumerate(curves):
                array[row, : curve.size] = curve
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError("values", values, "it must hold numbers") from None
    if array.ndim != 2 or 0 in array.shape:
        raise TableError("values", Words(f"of shape {array.shape}"), shape_rule)
    if not np.isfinite(array).any():
        raise TableError(
            "values", Words(f"of shape {array.shape}"), "at least one value must be finite"
        )
    array.flags.writeable = False
    return array


def _reals(values: Any) -> Floats:
    """A fresh array of floats; complex numbers are none."""
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError("complex")
    return np.array(array, dtype=np.float64)


def _clean_seconds(seconds: Any, shape: tuple[int, int]) -> Floats:
    try:
        array = _reals(1.0 if seconds is None else seconds)
    except (TypeError, ValueError, OverflowError):
        raise TableError("seconds", seconds, "it must hold numbers") from None
    rows, resources = shape
    if array.shape not in ((), (rows,), (rows, resources)):
        rule = f"it must be one number, one for each of {rows} rows, or of shape {shape}"
        raise TableError("seconds", Words(f"of shape {array.shape}"), rule)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        rule = "every unit of resource must take a finite, non-negative time"
        raise TableError("seconds", float(array[wrong].ravel()[0]), rule)
    array.flags.writeable = False
    return array
