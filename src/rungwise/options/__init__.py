"""Options that are written once: a dataclass field with its text, its check and its flag.

What :func:`rungwise.tune` checks, the flags of the command line, the keys of study files and the
reference page all follow from the fields. Law of this file: a check is ``check(name, value)``. It
returns the clean value, or raises an :class:`InvalidArgumentError` that calls the value ``name``;
so one check serves Python (``retries``), a study file (``retries (study.yaml, line 7)``) and the
command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from rungwise.errors import InvalidArgumentError
from rungwise.validation import one_of, real, set_frozen, whole

Check = Callable[[str, Any], Any]
T = TypeVar("T")

REQUIRED: Any = MISSING
"""The default of an option that has none."""

_KEY = "rungwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes:
        name: the keyword of Python and the key of study files.
        default: its default; :data:`REQUIRED` where it has none.
        text: what it means, in plain English, for every place that lists options.
        flag_text: what the help of the command line says instead of it, where that differs.
        check: ``check(name, value)``, see above.
        kind: how the command line reads it: ``int``, ``float`` or ``str``; ``bool`` for a switch.
        words: what it may be instead of a number, or all it may be if ``kind`` is ``str``.
        metavar: what the command line shows for the value; by its kind if None.
        repeatable: whether the flag may come several times, for a list.
        keyword: whether :func:`rungwise.tune` has it as a keyword of its own.
        flag: whether the command line has it.
        key: whether study files have it.
        fixed: whether it stays as it was when a study is resumed.
        family: the family in :mod:`rungwise.options.registry` whose names it takes.
    """

    name: str = ""
    default: Any = None
    text: str
    flag_text: str | None = None
    check: Check
    kind: type = str
    words: tuple[str, ...] = ()
    metavar: str | None = None
    repeatable: bool = False
    keyword: bool = True
    flag: bool = True
    key: bool = True
    fixed: bool = False
    family: str | None = None

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    @property
    def flag_name(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    def parse(self, text: Any) -> Any:
        """The value that the command line gives, where a number or a word may be given."""
        if self.kind is int and isinstance(text, str) and text.lstrip("-").isdecimal():
            return int(text)
        return text

    def check_written(self, name: str, value: Any) -> Any:
        """The clean value of a study file, in which 1e3 is a whole number too."""
        if self.kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)
        return self.check(name, value)


def option(default: Any = None, *, text: str, check: Check, **more: Any) -> Any:
    """A dataclass field that is an option.

    Args:
        default: its default; :data:`REQUIRED` for none.
        text: what it means, in plain English.
        check: ``check(name, value)``; not asked about None where that is the default.
        more: the other attributes of :class:`Option`.
    """
    written = Option(default=default, text=text, check=check, **more)
    return field(default=default, metadata={_KEY: written})


def list_options(*kinds: type) -> tuple[Option, ...]:
    """The options among the fields of dataclasses, in their order."""
    return tuple(
        _named(each.metadata[_KEY], each.name)
        for kind in kinds
        for each in fields(kind)
        if _KEY in each.metadata
    )


def _named(written: Option, name: str) -> Option:
    values = {key: getattr(written, key) for key in Option.__dataclass_fields__}
    return Option(**{**values, "name": name})


def check_options(value: Any) -> None:
    """Check every option of a frozen dataclass and store the clean values: for __post_init__."""
    for each in list_options(type(value)):
        given = getattr(value, each.name)
        if given is not None or each.default is not None:
            set_frozen(value, **{each.name: each.check(each.name, given)})


def take(kind: type[T], given: Mapping[str, Any]) -> T:
    """The dataclass of options, from those of the given arguments that belong to it."""
    names = (each.name for each in list_options(kind))
    return kind(**{name: given[name] for name in names if name in given})


# -- checks --------------------------------------------------------------------------------------


def check_nothing(name: str, value: Any) -> Any:  # noqa: ARG001 - the form of a check
    """Anything: what is checked where it is used."""
    return value


def make_count_check(
    at_least: int, word: str | None = None, *, at_most: int | None = None
) -> Check:
    """The check for a whole number, or one word instead."""

    def check(name: str, value: Any) -> int | str:
        if word is not None and isinstance(value, str) and value == word:
            return word
        if word is None:
            return _count(name, value, at_least, at_most)
        try:
            return _count(name, value, at_least, at_most)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(name, value, f"{error.rule}, or {word!r}") from None

    return check


def _count(name: str, value: Any, at_least: int, at_most: int | None) -> int:
    number = whole(name, value, at_least=at_least)
    if at_most is not None and number > at_most:
        raise InvalidArgumentError(name, value, f"it must be at most {at_most}")
    return number


def check_number(name: str, value: Any) -> float:
    """A finite number."""
    return real(name, value)


def check_not_negative(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    return real(name, value, at_least=0)


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    number = real(name, value)
    if number <= 0:
        raise InvalidArgumentError(name, value, "it must be above 0")
    return number


LONGEST = 1e9
"""The longest time that may be given, in seconds: 30 years. Clocks of systems end not far above."""


def check_time(name: str, value: Any) -> float:
    """A number of seconds above 0."""
    check_positive(name, value)
    return real(name, value, at_most=LONGEST)


def check_wait(name: str, value: Any) -> float:
    """A number of seconds, perhaps 0."""
    check_not_negative(name, value)
    return real(name, value, at_most=LONGEST)


def make_word_check(*words: str) -> Check:
    """The check for one of a few words."""

    def check(name: str, value: Any) -> Any:
        return one_of(name, value, words)

    return check


def check_switch(name: str, value: Any) -> bool:
    """True or False; NumPy's too."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise InvalidArgumentError(name, value, "it must be True or False")


def check_modules(name: str, value: Any) -> tuple[str, ...]:
    """Names of modules, as a tuple."""
    single = isinstance(value, (str, Mapping)) or not isinstance(value, Iterable)
    names = () if single else tuple(value)
    if single or not all(isinstance(each, str) for each in names):
        raise InvalidArgumentError(name, value, "it must be a list of module names")
    return names
