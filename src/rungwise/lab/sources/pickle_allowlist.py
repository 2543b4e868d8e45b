"""The globals that a pickle of plain data and arrays may name, and what is built for them.

NumPy's own functions are not called with what a file says: a shape of a trillion, or a dtype of
Python objects, would be theirs to survive.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KIND = re.compile(r"[biufcSU][1-9][0-9]{0,5}")
_MOST_DIMENSIONS = 32
_SCALARS = frozenset({type(None), bool, int, float, str, bytes})
_ORDERS = ("<", ">", "|", "=")
_HASHED_OPENLY = frozenset({bool, int, float})
_ODD = frozenset({int, tuple})


class Refused(Exception):  # noqa: N818 - it is no error to anyone but the reader of a pickle
    """A pickle that is not let in.

    Args:
        found: what it is.
        rule: what it must be.
    """

    def __init__(self, found: str, rule: str) -> None:
        super().__init__(found)
        self.found = found
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Reference:
    """A global of a pickle: a name, and what stands in for it."""

    name: str
    make: Callable[[tuple[Any, ...]], Any]


class Kind:
    """A dtype in the making: ``numpy.dtype(text)``, then its state, which tells the byte order."""

    __slots__ = ("dtype",)

    def __init__(self, text: str) -> None:
        self.dtype: np.dtype[Any] = np.dtype(text)

    def build(self, state: Any) -> None:
        """Set the byte order."""
        plain = type(state) is tuple and 5 <= len(state) <= 9 and type(state[1]) is str
        if not plain or state[1] not in _ORDERS or any(part is not None for part in state[2:5]):
            raise _malformed("a dtype must be of plain numbers or texts")
        if state[1] in _ORDERS[:2]:
            self.dtype = self.dtype.newbyteorder(state[1])


class Pending:
    """An array in the making: an empty one, then its state."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: NDArray[Any] = np.empty(0)

    def build(self, state: Any) -> None:
        """Set shape and content."""
        if type(state) is not tuple or len(state) != 5:
            raise _malformed("an array must have a shape, a dtype and bytes")
        _, shape, kind, fortran, raw = state
        self.array = _filled(raw, kind, shape, "F" if fortran is True else "C")


def hashable(items: Iterable[Any]) -> list[Any]:
    """Keys of dicts and members of sets, all plain: hashing one is short, and runs no code."""
    keys = list(items)
    if not set(map(type, keys)) <= _SCALARS:
        for key in keys:
            parts = key if type(key) is tuple else (key,)
            if len(parts) > 64 or not set(map(type, parts)) <= _SCALARS:
                rule = "a key must be a number, a text, or a short tuple of those"
                raise Refused(f"a pickle with a {type(key).__name__} as a key", rule)
    return keys


def odd_keys(keys: Iterable[Any]) -> int:
    """How many keys are such that their author could choose their hashes.

    The hash of a text is secret. That of a number is not, but few of 64 bits share one; the hash of
    a tuple can be chosen with two numbers in it.
    """
    return sum(type(key) in _ODD and _is_odd(key) for key in keys)


def _is_odd(key: Any) -> bool:
    parts = key if type(key) is tuple else (key,)
    numbers = [part for part in parts if type(part) in _HASHED_OPENLY]
    return len(numbers) > 1 or any(type(n) is int and n.bit_length() > 64 for n in numbers)


def _set(given: tuple[Any, ...]) -> set[Any]:
    """Protocols before 4 had no opcode for it."""
    if len(given) != 1 or type(given[0]) is not list:
        raise _malformed("a set must be made of a list")
    return set(hashable(given[0]))


def _ordered(given: tuple[Any, ...]) -> dict[Any, Any]:
    if given:
        raise _malformed("an OrderedDict must begin empty")
    return {}


def _kind(given: tuple[Any, ...]) -> Kind:
    text = given[0] if given else None
    if type(text) is not str or _KIND.fullmatch(text) is None:
        raise _malformed("a dtype must be of plain numbers or texts")
    try:
        return Kind(text)
    except (TypeError, ValueError):  # f7
        raise _malformed("a dtype must be one of NumPy's") from None


def _scalar(given: tuple[Any, ...]) -> Any:
    if len(given) != 2:
        raise _malformed("a scalar must have a dtype and bytes")
    kind, raw = given
    return _filled(raw, kind, (1,), "C")[0]


def _reconstructed(given: tuple[Any, ...]) -> Pending:
    first = given[0] if given else None
    if type(first) is not Reference or first.name != "numpy.ndarray":
        raise _malformed("only a plain ndarray can be made")
    return Pending()


def _from_buffer(given: tuple[Any, ...]) -> NDArray[Any]:
    if len(given) != 4 or type(given[3]) is not str or given[3] not in ("C", "F"):
        raise _malformed("an array must have bytes, a dtype, a shape and an order")
    raw, kind, shape, order = given
    return _filled(raw, kind, shape, order)


def _filled(raw: Any, kind: Any, shape: Any, order: Any) -> NDArray[Any]:
    """An array whose bytes are all there; it cannot be written to."""
    if type(kind) is not Kind or type(raw) is not bytes:
        raise _malformed("an array must be of plain numbers or texts")
    sound = type(shape) is tuple and len(shape) <= _MOST_DIMENSIONS
    if not sound or any(type(size) is not int or size < 0 for size in shape):
        raise _malformed("the shape of an array must be whole numbers")
    promised = math.prod(shape) * kind.dtype.itemsize
    if promised != len(raw):
        raise Refused(
            f"a pickle with an array that promises {promised:,} bytes and has {len(raw):,}",
            "they must agree",
        )
    return np.frombuffer(raw, kind.dtype).reshape(shape, order=order)


def _never(_: tuple[Any, ...]) -> Any:
    raise _malformed("an array must be made by NumPy's functions for it")


def _malformed(rule: str) -> Refused:
    return Refused("a malformed pickle", rule)


_MODULES = ("numpy.core", "numpy._core")  # NumPy 2 renamed it

SETS = ("builtins.set", "__builtin__.set")

ADMITTED: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    **dict.fromkeys(SETS, _set),
    "collections.OrderedDict": _ordered,
    "numpy.dtype": _kind,
    "numpy.ndarray": _never,
    **{f"{module}.multiarray.scalar": _scalar for module in _MODULES},
    **{f"{module}.multiarray._reconstruct": _reconstructed for module in _MODULES},
    **{f"{module}.numeric._frombuffer": _from_buffer for module in _MODULES},
}
"""What a pickle may name, and what is made of it."""
