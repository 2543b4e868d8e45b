"""Arrays as bytes that compress well, and back.

A learning curve changes little from one resource to the next, so what is stored is the change (of
whole numbers, modulo their width), folded so that small changes of either sign are small numbers
(0, −1, 1, −2, … become 0, 1, 2, 3, …), and all low bytes together, then all high ones. Measured on
curves of real training, this saves a third over the plain array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.errors import TableError, Words
from rungwise.validation import real

Floats = NDArray[np.float64]
Stored = NDArray[Any]

NAN, PLUS, MINUS = 65535, 65534, 65533
"""The counts that stand for NaN, ∞ and −∞."""

LARGEST = MINUS - 1
"""The largest count that stands for a number."""


FURTHEST = 2**53
"""The furthest offset: beyond, not every whole number is a float."""


def encode(
    name: str, values: Floats, quantum: float | None, *, delta: bool
) -> tuple[Stored, dict[str, Any]]:
    """The array to store for values, and how to read it.

    Args:
        name: what they are, for errors.
        values: the numbers; NaN and infinity are legal.
        quantum: values are multiples of this, or near enough: they are stored as counts of it.
            Without it they are stored as float32.
        delta: whether neighbours on the last axis are alike, so that their difference is stored.
    """
    form: dict[str, Any] = {"shape": list(values.shape), "delta": delta}
    values = np.atleast_1d(values)
    if quantum is None:
        with np.errstate(over="ignore"):
            single = values.astype("<f4")
        lost = np.isfinite(values) & ~np.isfinite(single)
        if lost.any():
            raise TableError(name, float(values[lost][0]), "it must fit into a 32-bit float")
        return _packed(single.view("<u4"), delta=delta), {"dtype": "float32", **form}
    quantum = real(f"quantum of {name}", quantum, at_least=0)
    if quantum == 0:
        raise TableError(f"quantum of {name}", quantum, "it must be positive")
    counts, offset = _counts(name, values, quantum)
    scaling = {"dtype": "uint16", "scale": quantum, "offset": offset, "missing": NAN}
    return _packed(counts, delta=delta), {**scaling, **form}


def decode(name: str, stored: Stored, form: Any) -> Numbers:
    """The numbers of an array that :func:`encode` made; the form is not trusted."""
    shape = _checked(name, form)
    width, dtype = (4, "<u4") if form["dtype"] == "float32" else (2, "<u2")
    expected = (width, *(shape or (1,)))
    if stored.dtype != np.uint8 or stored.shape != expected:
        found = Words(f"of {stored.dtype} {stored.shape}")
        raise TableError(name, found, f"its card says uint8 {expected}")
    decoded = _unpacked(stored, dtype, delta=form["delta"]).reshape(shape)
    return Numbers(decoded.view("<f4") if width == 4 else decoded, form)


class Numbers:
    """An array as it was stored, each part of which becomes float64 when it is asked for.

    Args:
        array: float32 or float64 numbers, or uint16 counts.
        form: how counts are read; None for numbers.
    """

    __slots__ = ("_array", "_form", "shape")

    def __init__(self, array: Stored, form: Mapping[str, Any] | None = None) -> None:
        self._array = array
        self._form = form
        self.shape = array.shape

    def __getitem__(self, index: Any) -> Floats:
        """A copy of a part, in its natural unit."""
        part = self._array[index]
        if self._form is None or part.dtype.kind == "f":
            return np.array(part, dtype=np.float64)
        counts = part.astype(np.float64) + self._form["offset"]
        scale = self._form["scale"]
        per_unit = round(1 / scale) if scale > 1e-9 else 0
        # 9123 / 10000 is the float that is written 0.9123; 9123 × 0.0001 need not be.
        exact = per_unit > 0 and 1 / per_unit == scale
        values: Floats = counts / per_unit if exact else counts * scale
        for count, meaning in ((NAN, np.nan), (PLUS, np.inf), (MINUS, -np.inf)):
            values[part == count] = meaning
        return values


def _checked(name: str, form: Any) -> tuple[int, ...]:
    """The shape that a form tells, once the form is known to be sound."""
    place = f"encoding of {name}"
    if not isinstance(form, Mapping) or form.get("dtype") not in ("float32", "uint16"):
        raise TableError(place, form, "its dtype must be 'float32' or 'uint16'")
    shape = form.get("shape")
    if not isinstance(shape, list) or any(type(size) is not int or size < 1 for size in shape):
        raise TableError(place, form, "its shape must be a list of whole numbers from 1 on")
    if type(form.get("delta")) is not bool:
        raise TableError(place, form, "its delta must be true or false")
    if form["dtype"] == "uint16":
        offset = form.get("offset")
        if form.get("missing") != NAN or type(offset) is not int or abs(offset) > FURTHEST:
            raise TableError(place, form, f"it must have an offset, and missing = {NAN}")
        if real(f"scale in the {place}", form.get("scale")) <= 0:
            raise TableError(place, form, "its scale must be positive")
    return tuple(shape)


def _counts(name: str, values: Floats, quantum: float) -> tuple[Stored, int]:
    finite = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore"):
        raw = np.rint(values / quantum)
    low, high = (float(raw[finite].min()), float(raw[finite].max())) if finite.any() else (0.0, 0.0)
    offset = 0.0 if low >= 0 and high <= LARGEST else low
    if not high - offset <= LARGEST or not abs(offset) <= FURTHEST:
        rule = (
            f"they must span at most {LARGEST} quanta of {quantum!r}: "
            "take a larger quantum, or none for 32-bit floats"
        )
        span = Words(f"from {low * quantum:g} to {high * quantum:g}")
        raise TableError(name, span, rule)
    counts = np.zeros(values.shape, dtype="<u2")
    counts[finite] = raw[finite] - offset
    counts[np.isnan(values)] = NAN
    counts[values == np.inf] = PLUS
    counts[values == -np.inf] = MINUS
    return counts, int(offset)


def _packed(numbers: Stored, *, delta: bool) -> Stored:
    """Numbers in planes of bytes: uint8 [bytes, …]."""
    whole = _folded(numbers) if delta else numbers
    split = np.ascontiguousarray(whole).view(np.uint8).reshape(*numbers.shape, numbers.itemsize)
    return np.ascontiguousarray(np.moveaxis(split, -1, 0))


def _unpacked(planes: Stored, dtype: str, *, delta: bool) -> Stored:
    whole = np.ascontiguousarray(np.moveaxis(planes, 0, -1)).view(dtype)[..., 0]
    if not delta:
        return whole
    return np.cumsum((whole >> 1) ^ (0 - (whole & 1)), axis=-1, dtype=dtype)


def _folded(numbers: Stored) -> Stored:
    """Differences along the last axis, without their sign."""
    changes = numbers.copy()
    changes[..., 1:] -= numbers[..., :-1]  # unsigned: modulo the width
    top = 8 * numbers.itemsize - 1
    return ((changes << 1) ^ (0 - (changes >> top))).astype(numbers.dtype)
