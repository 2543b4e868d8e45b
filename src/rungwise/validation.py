"""Checks of arguments: each returns the clean value or raises with value, rule and place."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar, cast

from rungwise.errors import InvalidArgumentError, Words

MOST = 2**256
"""The largest whole number: seeds are that long, and a float can still hold it."""

Goal = Literal["min", "max"]
T = TypeVar("T")


def whole(name: str, value: Any, *, at_least: int) -> int:
    """A whole number of at least ``at_least`` (bools are not numbers here)."""
    rule = f"it must be a whole number of at least {at_least}"
    if isinstance(value, bool):
        raise InvalidArgumentError(name, value, rule)
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgumentError(name, value, rule) from None
    if number < at_least:
        raise InvalidArgumentError(name, value, rule)
    if number > MOST:
        raise InvalidArgumentError(name, Words("too large"), "it must be at most 2²⁵⁶")
    return number


def real(name: str, value: Any, *, at_least: float = -math.inf, at_most: float = math.inf) -> float:
    """A finite number within the bounds."""
    bounds = {
        (True, True): f"from {at_least:g} to {at_most:g}",
        (True, False): f"of at least {at_least:g}",
        (False, True): f"of at most {at_most:g}",
        (False, False): "",
    }[(at_least > -math.inf, at_most < math.inf)]
    rule = f"it must be a finite number {bounds}".rstrip()
    # By its name: a worker that starts does not import NumPy for this.
    if isinstance(value, (bool, str)) or type(value).__name__ == "bool_":
        raise InvalidArgumentError(name, value, rule)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(name, value, rule) from None
    if not (math.isfinite(number) and at_least <= number <= at_most):
        raise InvalidArgumentError(name, value, rule)
    return number


def one_of(name: str, value: T, choices: Sequence[T]) -> T:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        raise InvalidArgumentError(name, value, f"it must be {listed}")
    return value


def must_be(name: str, value: Any, kind: type, words: str) -> None:
    """An instance of a class, and not the class itself; ``words`` describe it in the error.

    What is an instance of a protocol inherits from it, or has every member itself. For one that
    lacks only members with a default, the error says where they can be inherited from.
    """
    if not isinstance(value, type):
        # To ask a protocol takes ten times as long, and nearly all parts inherit from theirs.
        if kind in type(value).__mro__ or isinstance(value, kind):
            return
        if Protocol in kind.__bases__:
            lacks = sorted(name for name in _list_members(kind) if not hasattr(value, name))
            if not lacks:
                return
            if not set(lacks) - (vars(kind).keys() - vars(kind)["__abstractmethods__"]):
                words = (
                    f"{words}; the class {type(value).__name__} has no {', '.join(lacks)}: let it "
                    f"inherit from {kind.__module__}.{kind.__name__}, which has defaults"
                )
    raise InvalidArgumentError(name, value, f"it must be {words}")


def _list_members(protocol: type) -> set[str]:
    names = {*vars(protocol), *vars(protocol).get("__annotations__", ())}
    return {name for name in names if name[0] != "_"}


def adopt(own: object, base: type[T]) -> T:
    """Return something of a user's as an instance of a class, also if it does not inherit from it.

    Args:
        own: it has some members of the class; the others are as the class has them.
        base: the class.
    """
    if isinstance(own, base):
        return own
    names = (name for name in dir(base) if name[0] != "_" and hasattr(own, name))
    found = {name: getattr(own, name) for name in names}
    members = {name: staticmethod(one) if callable(one) else one for name, one in found.items()}
    make: Any = type(base)
    adopted: T = make(type(own).__name__, (base,), members)()
    return adopted


def set_frozen(value: object, **clean: object) -> None:
    """Store checked values in a frozen dataclass, as plain numbers."""
    for name, item in clean.items():
        object.__setattr__(value, name, item)


def find_sign(goal: str) -> float:
    """What turns a value into a loss, which is always minimised, and a loss into a value."""
    return 1.0 if goal == "min" else -1.0


def parse_goal(value: Any) -> Goal:
    """``"min"`` or ``"max"``."""
    return cast("Goal", one_of("goal", value, ("min", "max")))


def is_real(value: Any) -> bool:
    """Whether a value is a real number, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def read_number(name: str, value: Any) -> float:
    """A plain number; scalars of NumPy and PyTorch are converted."""
    if type(value) is float:
        return value
    to_number: Callable[[], Any] | None = getattr(value, "item", None)
    if to_number is not None and not isinstance(value, (str, bytes)):
        try:
            value = to_number()  # an array of one number, or a scalar of a library
        except (TypeError, ValueError, RuntimeError):
            raise InvalidArgumentError(name, value, "it must be one number") from None
    if not is_real(value):
        call = ": run.report(epoch, loss=…), with names" if isinstance(value, dict) else ""
        raise InvalidArgumentError(name, value, f"it must be a number{call}")
    try:
        number = float(value)
    except OverflowError:  # too large for a float
        return math.inf if value > 0 else -math.inf
    return value if type(value) is int else number
