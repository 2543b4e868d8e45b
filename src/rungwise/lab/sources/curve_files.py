"""Learning curves in plain ``.npz`` files: the arrays ``curves``, ``final`` and ``better``.

One file is one benchmark, named after the file. ``curves`` is [configurations, resources],
``final`` what each configuration comes to at the end, ``better`` ``"higher"`` or ``"lower"``;
``hp_names`` and ``hp`` [configurations, parameters] are optional. NaN means that a run diverged or
had ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rungwise.benchmarks import npz
from rungwise.benchmarks.card import Card
from rungwise.errors import TableError, Words
from rungwise.lab.sources.conversion import ConvertedBenchmark, Floats, check_bounds, today
from rungwise.validation import Goal

NEEDED = frozenset({"curves", "final", "better"})
"""The arrays that every such file has."""

_GOALS: dict[str, Goal] = {"higher": "max", "lower": "min"}


def is_curve_file(path: Path) -> bool:
    """Whether a file is in this form; only the list of its arrays is read."""
    if path.suffix != ".npz" or not path.is_file():
        return False
    return npz.read_names(path) >= NEEDED


def make(paths: list[Path]) -> Iterator[ConvertedBenchmark]:
    """The benchmarks of some files."""
    for path in paths:
        yield read(path)


def read(path: Path) -> ConvertedBenchmark:
    """The benchmark of a file."""
    arrays = npz.unpack_arrays(path, npz.read_file(path, npz.LIMIT), foreign=True)
    missing = sorted(NEEDED - set(arrays))
    if missing:
        rule = f"it must have the arrays {missing}"
        raise TableError(str(path), Words(f"of {sorted(arrays)}"), rule)
    goal = _parse_goal(arrays["better"], path)
    curves, final = arrays["curves"], arrays["final"]
    if curves.ndim != 2 or 0 in curves.shape or curves.dtype.kind not in "iuf":
        rule = "it must hold numbers, [configurations, resources]"
        raise TableError(f"{path}: curves", _describe(curves), rule)
    if final.shape != curves.shape[:1] or final.dtype.kind not in "iuf":
        rule = f"it must hold a number for each of {curves.shape[0]} configurations"
        raise TableError(f"{path}: final", _describe(final), rule)
    values = _clean(curves, f"{path}: curves")
    ends = _clean(final, f"{path}: final")
    held = hold_last_value(values, ends)
    notes = ["what a unit of resource takes is not known: time counts resource"]
    if held:
        notes.append(f"{held} curves end early and keep their last value from there on")
    return ConvertedBenchmark(
        card=Card(
            name=_make_name(path),
            title=f"Learning curves of {path.stem}",
            metric="metric",
            goal=goal,
            resource="unit",
            final_metric="final value",
            unit_seconds="1 per unit of resource",
            source=path.name,
            created=today(),
            details={"final_goal": goal, "notes": notes},
        ),
        values=values[None],
        seconds=np.array(1.0),
        final=ends[None],
        configs=_read_configs(arrays, path),
        names=[str(row) for row in range(len(values))],
    )


def hold_last_value(values: Floats, final: Floats) -> int:
    """Let curves that ended early keep their last value, in place; how many there are.

    A run that diverged has no final value; its curve stays as it is.
    """
    finite = np.isfinite(values)
    ended = np.flatnonzero(np.isfinite(final) & finite.any(axis=1) & ~finite[:, -1])
    for row in ended:
        last = int(np.flatnonzero(finite[row])[-1])
        values[row, last + 1 :] = values[row, last]
    return len(ended)


def _clean(numbers: Any, place: str) -> Floats:
    """A copy as floats; infinite values become NaN, as for a run that diverged."""
    floats = np.array(numbers, dtype=np.float64)
    floats[~np.isfinite(floats)] = np.nan
    return check_bounds(floats, place)


def _parse_goal(better: Any, path: Path) -> Goal:
    word = str(better.item()) if better.size == 1 and better.dtype.kind == "U" else ""
    if word not in _GOALS:
        found = Words(repr(word)) if word else _describe(better)
        raise TableError(f"{path}: better", found, 'it must be "higher" or "lower"')
    return _GOALS[word]


def _read_configs(arrays: dict[str, Any], path: Path) -> list[dict[str, float]] | None:
    """The hyperparameters of each row, if the file has them as numbers."""
    names, values = arrays.get("hp_names"), arrays.get("hp")
    if names is None or values is None or values.dtype.kind not in "iuf":
        return None
    if names.dtype.kind != "U" or values.shape != (len(arrays["curves"]), names.size):
        rule = "it must hold a number for each configuration and each of hp_names"
        raise TableError(f"{path}: hp", _describe(values), rule)
    if not np.isfinite(values).all():
        return None  # conditional parameters: there is no space to say so
    return [dict(zip(map(str, names), row, strict=True)) for row in values.tolist()]


def _make_name(path: Path) -> str:
    """The name of a file as one of a benchmark: without the signs that such names do not have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("._-")[:100] or "curves"


def _describe(array: Any) -> Words:
    return Words(f"{array.dtype} of shape {array.shape}")
