"""A restricted unpickler for untrusted files.

A pickle is a program that may import and call anything. :class:`RestrictedUnpickler` resolves only
the names on an allow-list, and gives none of them itself: each is a stand-in that checks what it
is called with and cannot be changed, since NumPy's own functions would accept a dtype of Python
objects, and a pickle could alter the dtypes that the whole process shares. So nothing is imported
or called for a file.

What a pickle of a few bytes can still do is ask for a lot of memory, or for keys whose hashes take
forever. Python's unpickler has no limits for that, so :func:`load` is called in a process that
has them: ``limited_processes.py``.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from rungwise.errors import TableError, Words
from rungwise.lab.sources.source_errors import damaged

LIMIT = 8 * 2**20
"""The most bytes of one pickle; a real architecture has a third of a MB."""

_PLAIN_DTYPE = re.compile(r"[biuf][1248]")
_BYTE_ORDERS = ("<", ">", "|", "=")
_ALLOWED_RULE = "only plain containers, numbers, texts and NumPy's scalars are allowed"


class Readable(Protocol):
    """What can be read from."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


def load(stream: Readable, name: str | Path, *, limit: int = LIMIT) -> Any:
    """What a pickle holds: plain containers, numbers and texts.

    Args:
        stream: the pickle, uncompressed as it is read.
        name: which file it is, for errors.
        limit: the most bytes that are read.

    Raises:
        TableError: it is damaged, too large, or asks for anything else.
        MemoryError: it asks for more memory than this process may have.
    """
    try:
        return _load(stream, limit)
    except _Refused as refused:
        raise TableError(str(name), Words(refused.found), refused.rule) from None
    except MemoryError:
        raise
    except Exception as error:  # a damaged pickle raises a dozen kinds
        raise damaged(name, error) from error


def _load(stream: Readable, limit: int) -> Any:
    content = stream.read(limit + 1)
    if len(content) > limit:
        size = f"a pickle of more than {limit:,} bytes"
        raise _Refused(size, "no architecture is that large")
    file = io.BytesIO(content)
    found = RestrictedUnpickler(file).load()
    if file.read(1):
        raise _Refused("a pickle followed by extra data", "it must be one pickle")
    if isinstance(found, (_StandIn, _Dtype)):
        raise _Refused("a pickle of a function", "it must hold data")
    return found


class RestrictedUnpickler(pickle.Unpickler):
    """Python's unpickler, which finds nothing but the names on the allow-list."""

    def find_class(self, module: str, name: str, /) -> Any:
        """The stand-in for a global; nothing is imported."""
        stand_in = ALLOWED.get(f"{module}.{name}")
        if stand_in is None:
            asked = f"{module}.{name}"[:200]
            raise _Refused(f"a pickle that asks for {asked!r}", _ALLOWED_RULE)
        return stand_in

    def persistent_load(self, _pid: Any, /) -> NoReturn:
        """Refuse objects that are kept elsewhere."""
        raise _Refused("a pickle that asks for a persistent object", _ALLOWED_RULE)


class _Refused(Exception):  # noqa: N818 - load() makes an error with the file's name of it
    """A pickle that is not allowed.

    Args:
        found: what it is.
        rule: what it must be.
    """

    def __init__(self, found: str, rule: str) -> None:
        super().__init__(found)
        self.found = found
        self.rule = rule


class _StandIn:
    """What a pickle gets in place of a global: it can be called, and not be changed."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __call__(self, *given: Any) -> Any:
        return self._make(*given)

    def __setstate__(self, _state: Any) -> NoReturn:  # without it, a pickle could set attributes
        raise _Refused("a pickle that sets the state of a function", _ALLOWED_RULE)


class _Dtype:
    """A dtype in the making: ``numpy.dtype("f8", False, True)``, then its state."""

    __slots__ = ("dtype",)

    def __init__(self, text: Any, *_flags: Any) -> None:
        if type(text) is not str or _PLAIN_DTYPE.fullmatch(text) is None:
            raise _malformed("a dtype must be of plain numbers")
        self.dtype: np.dtype[Any] = np.dtype(text)

    def __setstate__(self, state: Any) -> None:
        """Set the byte order, the one thing that the state of a plain dtype says."""
        plain = type(state) is tuple and 5 <= len(state) <= 9 and type(state[1]) is str
        if not plain or state[1] not in _BYTE_ORDERS or any(p is not None for p in state[2:5]):
            raise _malformed("a dtype must be of plain numbers")
        if state[1] in _BYTE_ORDERS[:2]:
            self.dtype = self.dtype.newbyteorder(state[1])


def _make_scalar(dtype: Any, raw: Any) -> Any:
    if type(dtype) is not _Dtype or type(raw) is not bytes:
        raise _malformed("a scalar must have a dtype and bytes")
    if len(raw) != dtype.dtype.itemsize:
        promised = dtype.dtype.itemsize
        raise _malformed(f"a scalar that promises {promised} bytes must not have {len(raw):,}")
    return np.frombuffer(raw, dtype.dtype)[0]


def _make_dict(*given: Any) -> dict[Any, Any]:
    if given:
        raise _malformed("an OrderedDict must begin empty")
    return {}


def _malformed(rule: str) -> _Refused:
    return _Refused("a malformed pickle", rule)


ALLOWED = {
    "collections.OrderedDict": _StandIn(_make_dict),
    "numpy.dtype": _StandIn(_Dtype),
    "numpy.core.multiarray.scalar": _StandIn(_make_scalar),
    "numpy._core.multiarray.scalar": _StandIn(_make_scalar),  # as NumPy 2 names it
}
"""What a pickle may name, and what it gets; the files of NATS-Bench name nothing else."""
