"""Graphs of plain objects as JSON: the state of an engine and its scheduler, for a snapshot.

Law of this file: what is read becomes data and never code. Only classes that the caller allows are
made, without their constructors, and their attributes are set to what is read.

An object is stored by its structure: its class, and its slots and attributes by name. So a
scheduler needs no code of its own to be stored. What is shared stays shared. Trials are stored
elsewhere and are referred to by their number.
"""

from __future__ import annotations

import base64
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

from rungwise import lazy_numpy as np
from rungwise.core.trials import Trial
from rungwise.errors import SchemaError

PLAIN = frozenset({type(None), bool, int, float, str})
"""What JSON holds as it is; Python's also knows NaN and infinities."""

_SEQUENCES: dict[str, Callable[[], Any]] = {"list": list, "deque": deque, "set": set}


class GraphWriter:
    """Turns objects into JSON.

    Args:
        trials: those that are stored elsewhere, in order.
        allowed: whether objects of a class may be stored.
        arrays: store what is in arrays of NumPy; parts of them may never have been set, so that
            they differ between equal states.

    Attributes:
        nodes: everything that has an identity; others refer to it by its number here.
    """

    def __init__(
        self, trials: Sequence[Trial], allowed: Callable[[type], bool], *, arrays: bool = True
    ) -> None:
        self._arrays = arrays
        self.nodes: list[Any] = []
        self._trials = {id(trial): trial.id for trial in trials}
        self._allowed = allowed
        self._numbers: dict[int, int] = {}

    def write(self, value: Any) -> Any:
        """A value: plain, or a list that begins with a word for what follows."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is tuple:
            return ["tuple", self._write_column(value)]
        if kind is Trial and id(value) in self._trials:
            return ["trial", self._trials[id(value)]]
        if isinstance(value, Enum) and self._allowed(kind):
            return ["enum", name_class(kind), value.value]
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.nodes)
            self.nodes.append(None)
            self.nodes[number] = self._describe(value)
        return ["node", number]

    def _describe(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind in (list, deque):
            return [kind.__name__, self._write_column(list(value))]
        if kind is set:
            # In order, so that equal states are equal texts.
            return ["set", self._write_column(sorted(value))]
        if kind is dict:
            return ["dict", self._write_column(list(value)), self._write_column([*value.values()])]
        if kind is array:
            return ["array", value.typecode, _to_text(value.tobytes())]
        if kind is np.ndarray and value.dtype.kind in "fiub":
            data = np.ascontiguousarray(value).tobytes() if self._arrays else b""
            return ["numpy", value.dtype.str, list(value.shape), _to_text(data)]
        if not self._allowed(kind):
            raise SchemaError(f"objects of {name_class(kind)} cannot be stored")
        names = [name for name in _list_attributes(value) if hasattr(value, name)]
        values = [self.write(getattr(value, name)) for name in names]
        return ["object", name_class(kind), names, values]

    def _write_column(self, values: Sequence[Any]) -> list[Any]:
        """Many values; those of one kind without a word for each."""
        kinds = set(map(type, values))
        if kinds <= PLAIN:
            return ["plain", list(values)]
        if kinds == {Trial} and all(id(value) in self._trials for value in values):
            return ["trials", [value.id for value in values]]
        if kinds == {tuple} and len(set(map(len, values))) == 1 and values[0]:
            return ["rows", [self._write_column(part) for part in zip(*values, strict=True)]]
        return ["mixed", [self.write(value) for value in values]]


class GraphReader:
    """Turns what :class:`GraphWriter` wrote into objects.

    Args:
        nodes: see :class:`GraphWriter`.
        trials: those that are stored elsewhere, in order.
        find_class: a name → the class, or an error if it is not allowed.
    """

    def __init__(
        self, nodes: Sequence[Any], trials: Sequence[Trial], find_class: Callable[[str], type]
    ) -> None:
        self._nodes = nodes
        self._trials = trials
        self._find_class = find_class
        self._made: dict[int, Any] = {}

    def read(self, document: Any) -> Any:
        """A value."""
        if type(document) in PLAIN:
            return document
        word, *rest = document
        if word == "node":
            return self._read_node(*rest)
        if word == "tuple":
            return tuple(self._read_column(rest[0]))
        if word == "trial":
            return self._trials[_check_number(rest[0])]
        if word == "enum":
            return self._find_class(rest[0])(rest[1])
        raise SchemaError(f"{word!r} is no kind of value")

    def _read_node(self, number: int) -> Any:
        if _check_number(number) not in self._made:
            word, *rest = self._nodes[number]
            made: Any
            if word == "object":
                name, names, values = rest
                self._make_object(number, name, names, values)
            elif word == "dict":
                made = self._made[number] = {}
                made.update(zip(*map(self._read_column, rest), strict=True))
            elif word == "array":
                made = self._made[number] = array(rest[0])
                made.frombytes(base64.b64decode(rest[1]))
            elif word == "numpy":
                flat = np.frombuffer(base64.b64decode(rest[2]), np.dtype(rest[0]))
                self._made[number] = flat.reshape(rest[1]).copy()
            else:
                made = self._made[number] = _SEQUENCES[word]()
                add = made.update if word == "set" else made.extend
                add(self._read_column(rest[0]))
        return self._made[number]

    def _make_object(self, number: int, name: str, names: list[str], values: list[Any]) -> None:
        kind: Any = self._find_class(name)
        made = self._made[number] = object.__new__(kind)
        for attribute, value in zip(names, values, strict=True):
            if attribute.startswith("__"):
                raise SchemaError(f"{attribute!r} is no attribute of a state")
            object.__setattr__(made, attribute, self.read(value))

    def _read_column(self, column: list[Any]) -> Sequence[Any]:
        word, values = column
        if word == "plain":
            if not set(map(type, values)) <= PLAIN:
                raise SchemaError("a column holds something else than it says")
            return list(values)
        if word == "trials":
            return [self._trials[_check_number(number)] for number in values]
        if word == "rows":
            return list(zip(*map(self._read_column, values), strict=True))
        return [self.read(value) for value in values]


def name_class(kind: type) -> str:
    """The name under which a class is found again."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _list_attributes(value: Any) -> Iterator[str]:
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots
    yield from getattr(value, "__dict__", ())


def _check_number(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise SchemaError(f"{number!r} is no number of a value")
    return number


def _to_text(data: bytes) -> str:
    return base64.b64encode(data).decode()
