"""Domains: the values that one parameter may take.

A domain maps a number in [0, 1) to a value (``at``; uniform numbers give uniform values) and a
legal value back: to [0, 1] with the bounds at 0 and 1 (``unit``), or to a position that ``at``
gives it for (``place``). It says which values are legal (``accept``) and how many there are
(``size``), and lists them if they are finitely many (``values``). Every argument is checked when
the domain is built.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

from rungwise.errors import SpaceError
from rungwise.space.scalars import Scalar, identity, is_number, is_scalar, plain
from rungwise.space.steps import check_step, count_values, edges, find_number, hits, value_at

INT_LIMIT = 2**53
"""The last whole number that every float, and so every JSON reader, can still distinguish."""


@dataclass(frozen=True, slots=True)
class Float:
    """A real number between two bounds, both included.

    Args:
        low: the smallest value.
        high: the largest value.
        log: whether equal ratios, not equal differences, are equally likely.
        step: the difference between one value and the next; every number is allowed without it.

    Example:
        >>> Float(1e-5, 10, log=True)
        Float(1e-05, 10.0, log=True)
        >>> list(Float(0, 0.5, step=0.1).values())
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for bound in ("low", "high"):
            value = plain(getattr(self, bound))
            if not is_number(value) or not _fits_float(value):
                raise SpaceError(bound, value, "it must be a finite number")
            object.__setattr__(self, bound, float(value))
        _check_range(self)

    def __repr__(self) -> str:
        return _range_repr(self)

    @property
    def size(self) -> int | None:
        """How many values there are; None for infinitely many."""
        return None if self.step is None else count_values(self.low, self.high, self.step)

    def at(self, u: float) -> float:
        """The value at a position in [0, 1)."""
        if self.step is not None:
            return _stepped_at(self, self.step, u)
        if self.log:
            value = math.exp(_between(math.log(self.low), math.log(self.high), u))
        else:
            value = _between(self.low, self.high, u)
        return min(max(value, self.low), self.high)

    def unit(self, value: Any) -> float:
        """Where a legal value lies in [0, 1]."""
        return _unit(self, value)

    def place(self, value: Any) -> float:
        """The position that ``at`` gives a legal value for."""
        return self.unit(value) if self.step is None else _stepped_place(self, self.step, value)

    def cell(self, value: Any) -> tuple[float, float]:
        """From where to where ``at`` gives a legal value; a point where there are no steps."""
        if self.step is None:
            return self.place(value), self.place(value)
        return _stepped_cell(self, self.step, value)

    def accept(self, name: str, value: Any) -> float:
        """The value as a float; whole numbers are accepted, too."""
        number = plain(value)
        if not is_number(number) or not self.low <= number <= self.high:
            raise SpaceError(name, value, f"it must be a number from {self.low!r} to {self.high!r}")
        if self.step is not None:
            return float(_accept_stepped(self, self.step, name, number))
        return float(number) + 0.0  # -0.0 and 0.0 are one configuration

    def values(self) -> Iterator[Scalar]:
        """All values, in order; a continuum cannot be listed."""
        if self.step is None:
            raise SpaceError("domain", self, "only a finite domain can be listed")
        return _list_stepped(self, self.step)


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number between two bounds, both included.

    Args:
        low: the smallest value.
        high: the largest value.
        log: whether equal ratios, not equal differences, are equally likely.
        step: the difference between one value and the next; 1 by default.

    Example:
        >>> Int(1, 5)
        Int(1, 5)
        >>> list(Int(16, 64, step=16).values())
        [16, 32, 48, 64]
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for bound in ("low", "high"):
            value = plain(getattr(self, bound))
            if type(value) is not int or abs(value) > INT_LIMIT:
                raise SpaceError(bound, value, "it must be a whole number within ±2**53")
            object.__setattr__(self, bound, value)
        _check_range(self)

    def __repr__(self) -> str:
        return _range_repr(self)

    @property
    def size(self) -> int:
        """How many values there are."""
        return (self.high - self.low) // (self.step or 1) + 1

    def at(self, u: float) -> int:
        """The value at a position in [0, 1).

        On the log scale a number k owns the ratios from k - ½ to k + ½ steps, so that the bounds
        are not drawn half as often as they should be.
        """
        if self.step is not None:
            return int(_stepped_at(self, self.step, u))
        if self.log:
            low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
            value = round(math.exp(_between(low, high, u)))
        else:
            value = self.low + int(u * self.size)
        return min(max(value, self.low), self.high)

    def unit(self, value: Any) -> float:
        """Where a legal value lies in [0, 1]."""
        return _unit(self, value)

    def place(self, value: Any) -> float:
        """A position in [0, 1) that ``at`` gives a legal value for, well within its part."""
        return _stepped_place(self, self.step or 1, value)

    def cell(self, value: Any) -> tuple[float, float]:
        """From where to where ``at`` gives a legal value."""
        return _stepped_cell(self, self.step or 1, value)

    def accept(self, name: str, value: Any) -> int:
        """The value as an int; 3.0 is taken for 3."""
        number = plain(value)
        if not is_number(number) or number != int(number) or not self.low <= number <= self.high:
            raise SpaceError(
                name, value, f"it must be a whole number from {self.low} to {self.high}"
            )
        return int(number if self.step is None else _accept_stepped(self, self.step, name, number))

    def values(self) -> Iterator[Scalar]:
        """All values, in order."""
        return iter(range(self.low, self.high + 1, self.step or 1))


@dataclass(frozen=True, slots=True, init=False)
class Choice:
    """One of a few options.

    Options are JSON scalars. 1, 1.0, True and "1" are four different options.

    Args:
        options: the options, at least one; a single one makes a constant.
        ordered: whether the order of the options means something (small, medium, large).

    Example:
        >>> Choice(["relu", "tanh"])
        Choice(['relu', 'tanh'])
    """

    options: tuple[Scalar, ...]
    ordered: bool = field(default=False, kw_only=True)
    _index: dict[tuple[type, Scalar], int] = field(repr=False, hash=False)

    def __init__(self, options: Sequence[Scalar], *, ordered: bool = False) -> None:
        if isinstance(options, (str, bytes)) or not isinstance(options, Sequence):
            raise SpaceError("options", options, "it must be a list or tuple of options")
        ordered = plain(ordered)
        if type(ordered) is not bool:
            raise SpaceError("ordered", ordered, "it must be True or False")
        index: dict[tuple[type, Scalar], int] = {}
        for option in map(plain, options):
            if not is_scalar(option):
                raise SpaceError(
                    "options", option, "an option must be a str, bool, None or finite number"
                )
            if identity(option) in index:
                raise SpaceError("options", options, f"{option!r} is listed twice")
            index[identity(option)] = len(index)
        if not index:
            raise SpaceError("options", options, "it must have at least one option")
        object.__setattr__(self, "options", tuple(option for _, option in index))
        object.__setattr__(self, "ordered", ordered)
        object.__setattr__(self, "_index", index)

    def __repr__(self) -> str:
        return f"Choice({list(self.options)!r}{', ordered=True' if self.ordered else ''})"

    @property
    def size(self) -> int:
        """How many options there are."""
        return len(self.options)

    def at(self, u: float) -> Scalar:
        """The option at a position in [0, 1)."""
        return self.options[min(int(u * len(self.options)), len(self.options) - 1)]

    def unit(self, value: Any) -> float:
        """The position of an option among the others, from 0 for the first to 1 for the last."""
        return self.index(value) / max(len(self.options) - 1, 1)

    def place(self, value: Any) -> float:
        """A position in [0, 1) that ``at`` gives an option for, in the middle of its part."""
        return (self.index(value) + 0.5) / len(self.options)

    def cell(self, value: Any) -> tuple[float, float]:
        """From where to where ``at`` gives an option."""
        return self.index(value) / len(self.options), (self.index(value) + 1) / len(self.options)

    def index(self, value: Scalar) -> int:
        """The position of an option."""
        return self._index[identity(value)]

    def accept(self, name: str, value: Any) -> Scalar:
        """The option that was meant: 1 is taken for 1.0 if only 1.0 is an option."""
        meant = plain(value)
        if is_scalar(meant):
            found = self._index.get(identity(meant))
            if found is None and is_number(meant):
                found = self._numeric_twin(meant)
            if found is not None:
                return self.options[found]
        listed = ", ".join(map(repr, self.options))
        raise SpaceError(name, value, f"it must be {'one of ' * (self.size > 1)}{listed}")

    def _numeric_twin(self, number: float) -> int | None:
        """The option with the same value but of the other numeric type."""
        other: type = int if type(number) is float else float
        return self._index.get((other, number))

    def values(self) -> Iterator[Scalar]:
        """All options, in order."""
        return iter(self.options)


Domain: TypeAlias = Float | Int | Choice


def looks_like_a_range(options: Any) -> TypeGuard[Sequence[float]]:
    """Whether a list of options may be meant as a range: it holds two different numbers."""
    if not isinstance(options, (list, tuple)) or len(options) != 2:
        return False
    low, high = map(plain, options)
    return is_number(low) and is_number(high) and low != high


def spell_range(low: float, high: float) -> tuple[str, str, bool]:
    """(type, its bounds, whether a logarithm suits) of the range that two numbers may mean."""
    low, high = min(low, high), max(low, high)
    kind = "Float" if float in (type(low), type(high)) else "Int"
    return kind, f"{low!r}, {high!r}", low > 0 and high / low >= 100


def is_unordered(domain: Domain) -> TypeGuard[Choice]:
    """Whether the values of a domain are options without an order: none is nearer than another."""
    return isinstance(domain, Choice) and not domain.ordered


def _check_range(domain: Float | Int) -> None:
    log = plain(domain.log)
    if type(log) is not bool:
        raise SpaceError("log", log, "it must be True or False")
    object.__setattr__(domain, "log", log)
    if not domain.low < domain.high:
        rule = f"it must be less than high = {domain.high!r} in {domain!r}"
        raise SpaceError("low", domain.low, rule)
    if domain.log and domain.low <= 0:
        raise SpaceError("low", domain.low, f"it must be positive on a log scale, in {domain!r}")
    object.__setattr__(domain, "step", check_step(domain.step, domain.low, domain.high))


def _stepped_at(domain: Float | Int, step: float, u: float) -> float:
    """The value at a position in [0, 1), of a domain with steps."""
    last = count_values(domain.low, domain.high, step) - 1
    if domain.log:
        low, high = map(math.log, edges(domain.low, domain.high, step))
        number = find_number(domain.low, step, math.exp(_between(low, high, u)))
    else:
        number = int(u * (last + 1))
    return value_at(domain.low, step, min(max(number, 0), last))


def _stepped_place(domain: Float | Int, step: float, number: float) -> float:
    """Where a number lies in [0, 1], between half a step below low and half a step above high."""
    if domain.log:
        low, high = edges(domain.low, domain.high, step)
        return (math.log(max(number, low)) - math.log(low)) / (math.log(high) - math.log(low))
    return (number - domain.low + step / 2) / (domain.high - domain.low + step)


def _stepped_cell(domain: Float | Int, step: float, value: float) -> tuple[float, float]:
    half = step / 2
    return _stepped_place(domain, step, value - half), _stepped_place(domain, step, value + half)


def _accept_stepped(domain: Float | Int, step: float, name: str, number: float) -> float:
    """The value that a number within the bounds is, but for rounding."""
    if hits(domain.low, step, number):
        return value_at(domain.low, step, find_number(domain.low, step, number))
    near = value_at(domain.low, step, find_number(domain.low, step, number))
    rule = (
        f"it must be {domain.low!r} or a whole number of steps of {step!r} above it: the nearest "
        f"is {near!r}"
    )
    raise SpaceError(name, number, rule)


def _list_stepped(domain: Float | Int, step: float) -> Iterator[Scalar]:
    for number in range(count_values(domain.low, domain.high, step)):
        yield value_at(domain.low, step, number)


def _range_repr(domain: Float | Int) -> str:
    log = ", log=True" if domain.log else ""
    step = "" if domain.step is None else f", step={domain.step!r}"
    return f"{type(domain).__name__}({domain.low!r}, {domain.high!r}{log}{step})"


def _fits_float(number: float) -> bool:
    """Whether a number, however long an int, becomes a finite float."""
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def _between(low: float, high: float, u: float) -> float:
    """Linear interpolation that cannot overflow, however far apart the bounds are."""
    return (1.0 - u) * low + u * high


def _unit(domain: Float | Int, value: float) -> float:
    low, high, at = domain.low, domain.high, value
    if domain.log:
        low, high, at = math.log(low), math.log(high), math.log(at)
    width = high / 2 - low / 2  # halves, because high - low may overflow
    if width == 0:  # bounds so close that rounding makes them one
        return 0.0
    return min(max((at / 2 - low / 2) / width, 0.0), 1.0)
