"""The fields of events and decisions: what each may be, and how a log holds it.

A dataclass is the table: each field is annotated with its :class:`Form`. The codec, the fast paths
of logs and the checks of events follow from it. A field that has a default is left out of a log
where it has that value, so that a new field changes no log that has none of it, and old logs are
read without it. The fields of the first version are :data:`WRITTEN` all the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter, itemgetter
from typing import Annotated, Any, get_type_hints

from rungwise.errors import SchemaError

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Form:
    """What a field may be, and how a log holds it.

    Attributes:
        wanted: what it must be, for messages.
        accepts: whether a value is legal.
        read: makes the value of what a log holds, given with its place; raises
            :class:`SchemaError`.
        write: makes what a log holds of a value.
        plain: the types of values that a log holds as they are, if they are finite.
        noun: what messages call the field, if not by its name.
        bounds: between which numbers a value of these types must be; None if any is legal.
    """

    wanted: str
    accepts: Callable[[Any], bool]
    read: Callable[[Any, str], Any]
    write: Callable[[Any], Any] = _same
    plain: tuple[type, ...] = ()
    noun: str = ""
    bounds: tuple[float, float] | None = None


WRITTEN = "written"
"""Marks a field that is in every log, also where it has its default."""


# -- forms -----------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value is a plain number."""
    kind = type(value)
    if kind is float or kind is int:
        return True
    # NumPy's float64 is a float; its other kinds round differently, and bools are not numbers.
    return isinstance(value, (int, float)) and kind is not bool


def number_to_json(value: float) -> float | str:
    """A float as JSON can hold it."""
    if isinstance(value, int) or math.isfinite(value):
        # NumPy scalars may be subclasses of float or int; the log gets plain numbers.
        return value if type(value) in (int, float) else value.__float__()
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def number_from_json(value: Any, place: str) -> float:
    """The float that :func:`number_to_json` wrote."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise SchemaError(f"{place} is {value!r}, but a number was expected.")


def make_number(
    wanted: str, low: float = -math.inf, high: float = math.inf, noun: str = ""
) -> Form:
    """The form of a number, which may be NaN if it has no bounds.

    Args:
        wanted: what it must be, for messages.
        low: the smallest.
        high: the largest.
        noun: see :class:`Form`.
    """
    bounds = None if (low, high) == (-math.inf, math.inf) else (low, high)

    def accepts(value: Any) -> bool:
        return is_number(value) and (bounds is None or low <= value <= high)

    plain = (int, float)
    return Form(wanted, accepts, number_from_json, number_to_json, plain, noun, bounds)


def make_checked(wanted: str, accepts: Callable[[Any], bool], *plain: type) -> Form:
    """The form of a value that is its own JSON.

    Args:
        wanted: what it must be, for messages.
        accepts: whether a value is that.
        plain: see :class:`Form`.
    """

    def read(value: Any, place: str) -> Any:
        if not accepts(value):
            raise SchemaError(f"{place} is {value!r}, but {wanted} was expected.")
        return value

    return Form(wanted, accepts, read, plain=plain)


def read_object(value: Any, place: str) -> dict[str, Any]:
    """An object of a log as a dict of its own."""
    if not isinstance(value, Mapping):
        raise SchemaError(f"{place} is {value!r}, but an object was expected.")
    return dict(value)


Whole = Annotated[int, make_checked("a whole number", lambda value: type(value) is int, int)]
Number = Annotated[float, make_number("a plain number (NaN is one)")]
Text = Annotated[str, make_checked("text", lambda value: isinstance(value, str))]
Config = Annotated[
    Mapping[str, Any],
    Form("a configuration", lambda value: isinstance(value, Mapping), read_object, dict),
]


# -- tables ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a table.

    Attributes:
        name: its name.
        form: what it may be.
        default: what it is if a log does not have it; ``MISSING`` if every log has it.
    """

    name: str
    form: Form
    default: Any = MISSING


class Table:
    """The fields of a dataclass, from their annotations.

    Args:
        kind: the dataclass.
        name: what logs call it, if not by its name.

    Attributes:
        kind: the dataclass.
        name: what logs call it.
        fields: its fields.
        get_optional: returns the values of the fields that may be left out.
        defaults: what these are where they are left out.
        plain: how a value is read that is nothing but numbers: the dataclass, the length of its
            document, what picks its values, and the types that these may have.
    """

    def __init__(self, kind: type, name: str = "") -> None:
        self.kind: Callable[..., Any] = kind
        self.name = name or kind.__name__
        hints = get_type_hints(kind, include_extras=True)
        found = []
        for each in fields(kind):
            notes = hints[each.name].__metadata__
            default = MISSING if WRITTEN in notes else each.default
            found.append(Field(each.name, notes[0], default))
        written = [one for one in found if one.default is MISSING]
        optional = found[len(written) :]
        if written + optional != found:
            raise TypeError(f"{self.name}: fields that may be left out must be the last ones")
        self.fields = tuple(found)
        self._written = tuple(written)
        self._get_written = _make_getter(attrgetter, written)
        self.get_optional = _make_getter(attrgetter, optional)
        self.defaults = tuple(one.default for one in optional)
        self._writers = [(one.name, one.form.write, one.default) for one in optional]
        # What nearly all entries of logs are: numbers, written as they are.
        plain = [one.form.plain for one in written]
        self._bounds = [
            (place, *one.form.bounds) for place, one in enumerate(written) if one.form.bounds
        ]
        self._types = frozenset(itertools.product(*plain))
        pick = _make_getter(itemgetter, written)
        self.plain = (self.kind, 1 + len(written), pick, self._types)
        self._needed = frozenset(one.name for one in written)
        self._known = frozenset(one.name for one in found) | {"kind"}
        parts = "".join(f', "{one.name}": %r' for one in written)
        self._template = f'{{"kind": "{self.name}"{parts}}}'

    # -- checking ------------------------------------------------------------------------------

    def find_flaw(self, value: Any) -> str | None:
        """Which field of a value breaks its rule, and how; None if all are legal."""
        if self._is_plain(value):
            return None
        for field in self.fields:
            if not field.form.accepts(getattr(value, field.name)):
                return f"its {field.form.noun or field.name} must be {field.form.wanted}"
        return None

    def _is_plain(self, value: Any) -> bool:
        """Whether it is nothing but numbers within their bounds, as nearly all are."""
        values = self._get_written(value)
        if (*map(type, values),) not in self._types:
            return False
        for place, low, high in self._bounds:
            if not low <= values[place] <= high:
                return False
        return not self.defaults or self.get_optional(value) == self.defaults

    # -- writing -------------------------------------------------------------------------------

    def to_json(self, value: Any) -> dict[str, Any]:
        """A value as a plain dict."""
        written = {one.name: one.form.write(getattr(value, one.name)) for one in self._written}
        return {"kind": self.name, **written, **self.list_unusual(value)}

    def list_unusual(self, value: Any) -> dict[str, Any]:
        """Name → JSON of what could be left out, and does not have its default."""
        held = self.get_optional(value)
        if held == self.defaults:
            return {}
        pairs = zip(held, self._writers)  # noqa: B905 - they are of one length; this is quicker
        return {name: write(its) for its, (name, write, default) in pairs if its != default}

    def to_plain_text(self, value: Any) -> str | None:
        """The text of its JSON without :meth:`list_unusual`; None unless it is finite numbers."""
        values = self._get_written(value)
        if (*map(type, values),) not in self._types:
            return None
        try:
            return self._template % values if math.isfinite(sum(values)) else None
        except OverflowError:  # of a whole number that is no float
            return None

    # -- reading -------------------------------------------------------------------------------

    def from_json(self, data: Mapping[str, Any]) -> Any:
        """The value that :meth:`to_json` wrote."""
        given = data.keys()
        if not (given >= self._needed and given <= self._known):
            missing, unknown = sorted(self._needed - given), sorted(given - self._known)
            raise SchemaError(f"{self.name} lacks {missing} and has the unknown {unknown}.")
        place = f"{self.name}."
        return self.kind(
            **{
                one.name: one.form.read(data[one.name], place + one.name)
                for one in self.fields
                if one.name in given
            }
        )


def _make_getter(make: Any, listed: list[Field]) -> Callable[[Any], tuple[Any, ...]]:
    """What returns the values of some fields, always as a tuple."""
    names = [one.name for one in listed]
    if not names:
        return lambda _: ()
    get: Callable[[Any], Any] = make(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


def find_table(tables: Mapping[str, Table], data: Any, place: str) -> Table:
    """The table of what a log holds, by its kind.

    Args:
        tables: those that there are, by their names.
        data: what the log holds.
        place: what it is, for the error.
    """
    name = data.get("kind")
    table = tables.get(name) if type(name) is str else None
    if table is None:
        raise SchemaError(f"{place} is of kind {name!r}, but must be one of {sorted(tables)}.")
    return table
