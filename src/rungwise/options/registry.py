"""The names of schedulers, criteria, searchers, backends and so on, derived from their classes.

A class that its package exports has a name on the command line, in study files and in Python
(``scheduler="asha"``) without being listed anywhere else. The rule: the name of the class in small
letters, with hyphens between words and without the suffix of its family (``AsyncHyperband`` is
``async-hyperband``, ``RandomSearcher`` is ``random``). A class with another short name defines it:
``words: ClassVar = ("halving",)``; ``words = ()`` is for one that only Python can compose. An
exported alias is a name as well, and the full name of a class always works.

Law of this file: it imports no package that it names. Packages are looked up when a name is
asked for, so that any layer may import the registry and nothing is loaded before it is needed.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rungwise.errors import InvalidArgumentError
from rungwise.scalars import scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Classes of one kind, by the names that users write.

    Args:
        noun: what one of them is called, which is also the argument that takes it.
        package: the package that exports them.
        default: the class that is listed first.
        member: an attribute that all of them have, and nothing else that the package exports.
        suffix: the end of a class name that is no part of its short name.
        other_words: names that stand for no single class.
        page: where the documentation lists them.
    """

    noun: str
    package: str
    default: str
    member: str
    suffix: str = ""
    other_words: tuple[str, ...] = ()
    page: str

    # -- names ---------------------------------------------------------------------------------

    def classes(self) -> dict[str, tuple[str, ...]]:
        """The exported names of the classes, each with its short names; the default first."""
        return {name: self._words(name, kind) for name, kind in self._members(self._exports())}

    def words(self) -> tuple[str, ...]:
        """Every short name, in the order for documentation."""
        return (*self.other_words, *(word for words in self.classes().values() for word in words))

    def find(self, word: str, argument: str | None = None, given: Any = None) -> Any:
        """The class that a name means.

        Args:
            word: the name, in small or capital letters.
            argument: where it was written, for the error.
            given: what was written there, if that was more than the name.
        """
        wanted = word.lower()
        # First those whose own name fits, so that no other class is loaded for it.
        exports = self._exports()
        fitting = [name for name in exports if wanted in (name.lower(), self._derived(name))]
        for name, kind in self._members([*fitting, *exports]):
            words = self._words(name, kind)
            if wanted in words or (words and wanted == name.lower()):
                return kind
        rule = f"{suggest(wanted, self.words())}its name must be one of {', '.join(self.words())}"
        raise InvalidArgumentError(argument or self.noun, word if given is None else given, rule)

    def _exports(self) -> list[str]:
        names = importlib.import_module(self.package).__all__
        return sorted(names, key=lambda name: (name != self.default, name.lower()))

    def _members(self, names: list[str]) -> Iterator[tuple[str, Any]]:
        package = importlib.import_module(self.package)
        for name in names:
            kind = getattr(package, name)
            if isinstance(kind, type) and hasattr(kind, self.member) and not _is_protocol(kind):
                yield name, kind

    def _words(self, name: str, kind: Any) -> tuple[str, ...]:
        # Only the class's own attribute: a subclass has a name of its own.
        own: tuple[str, ...] | None = vars(kind).get("words")
        if own is None or (own and name != kind.__name__):
            return (self._derived(name),)
        return own

    def _derived(self, name: str) -> str:
        short = name.removesuffix(self.suffix) or name
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", short).lower()

    # -- values --------------------------------------------------------------------------------

    def build(self, text: str, argument: str | None = None) -> Any:
        """A value from ``NAME`` or ``NAME:option,…``; an option is a value or ``name=value``.

        Args:
            text: what was written.
            argument: where, for the errors.

        Example:
            >>> SEARCHERS.build("gp:startup=20,points=200").points
            200
            >>> RANKINGS.build("soft:0.02")
            Soft(epsilon=0.02)
        """
        word, options = self.parse(text, argument)
        return self.make(word, options, argument, text)

    def parse(self, text: str, argument: str | None = None) -> tuple[str, dict[str, Any]]:
        """The name and the options that such a text gives, before anything is made of them."""
        where = argument or self.noun
        word, _, written = text.partition(":")
        kind = self.find(word, where, text)
        known = list_parameters(kind)
        options: dict[str, Any] = {}
        for place, part in enumerate(written.split(",") if written else ()):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not part.strip():
                rule = "an option is missing before or after a comma"
                raise InvalidArgumentError(where, text, rule)
            if not equals:
                if place >= len(known):
                    raise InvalidArgumentError(where, text, _describe(word, kind))
                key, value = known[place], key
            if key in options:
                raise InvalidArgumentError(where, text, f"{key!r} is given twice")
            try:
                options[key] = scalar(value)
            except ValueError:
                raise InvalidArgumentError(where, text, "the number has too many digits") from None
        return word, options

    def make(
        self,
        word: str,
        options: Mapping[str, Any],
        argument: str | None = None,
        given: Any = None,
        beside: Collection[str] = (),
    ) -> Any:
        """A value from a name and options by name.

        Args:
            word: the name.
            options: what it is made with.
            argument: where that was written, for the errors.
            given: what was written there.
            beside: the options that were written elsewhere, as arguments of their own.
        """
        where, shown = argument or self.noun, word if given is None else given
        kind = self.find(word, where, given)
        parameters = inspect.signature(kind).parameters.values()
        known = list_parameters(kind)
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            for key in options:
                if key not in known:
                    rule = f"{suggest(key, known)}{_describe(word, kind)}"
                    raise InvalidArgumentError(where, shown, rule)
        needed = [one.name for one in parameters if one.default is one.empty and one.name in known]
        if not set(needed) <= set(options):
            rule = f"it must be {word}:{','.join(needed).upper()}"
            raise InvalidArgumentError(where, shown, rule)
        try:
            return kind(**options)
        except InvalidArgumentError as error:
            alone = error.argument.rpartition(" of ")[2] in beside
            place = error.argument if alone else f"{error.argument} of {where}"
            raise InvalidArgumentError(place, error.value, error.rule) from None
        except TypeError:  # a name that no option can have, where any is passed on
            raise InvalidArgumentError(where, shown, _describe(word, kind)) from None

    def resolve(self, argument: str, value: Any) -> Any:
        """Return the value itself, or the one that a name means."""
        if not is_name(value):
            return value
        return self.make(*self.unfold(value, argument), argument, value)

    def unfold(self, given: Any, argument: str | None = None) -> tuple[str, dict[str, Any]]:
        """Return the name and the options in ``NAME:option,…`` or ``{"type": NAME, option: …}``.

        Args:
            given: what was written, see :func:`is_name`.
            argument: where, for the errors.
        """
        if isinstance(given, str):
            return self.parse(given, argument)
        word = given.get("type")
        if not isinstance(word, str):
            rule = f"it must be one of {', '.join(self.words())}"
            raise InvalidArgumentError(f"type of {argument or self.noun}", word, rule)
        return word, {key: value for key, value in given.items() if key != "type"}

    def choose(
        self,
        given: Any,
        beside: Mapping[str, Any],
        default: type,
        usual: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """Return the value that is asked for: as it is, or by a name with options beside it.

        Args:
            given: a value, a name (see :func:`is_name`), or None for the default.
            beside: options of its class that are arguments of their own.
            default: its class where only options are given, or nothing.
            usual: options that it has where they are not given, if its class has them.
        """
        if given is not None and not is_name(given):
            for name, value in beside.items():
                word = (given if isinstance(given, type) else type(given)).__name__
                rule = f"give it to the {self.noun}: {self.noun}={word}({name}={value!r}, …)"
                raise InvalidArgumentError(name, value, rule)
            return given
        word, written = self.unfold(given) if given is not None else (default.__name__, {})
        kind = self.find(word, given=given)
        known = list_parameters(kind)
        for name, value in beside.items():
            if name in written:
                rule = f"it must be given once, here or for the {self.noun}"
                raise InvalidArgumentError(name, value, rule)
            if name not in known:
                which = f"the {self.noun} {kind.__name__}"
                rule = f"{which} has no such option; its options are {', '.join(known)}"
                raise InvalidArgumentError(name, value, rule)
        more = {name: value for name, value in usual.items() if name in known}
        options = {**more, **beside, **written}
        return self.make(word, options, given=given, beside={*more, *beside} - set(written))


def is_name(given: Any) -> bool:
    """Return whether a value is the name of another: ``NAME:option,…`` or ``{"type": NAME, …}``."""
    return isinstance(given, (str, Mapping))


def list_parameters(kind: Any) -> list[str]:
    """What a class can be made with, in order; more of any name where it passes them on."""
    found = inspect.signature(kind).parameters.values()
    return [
        one.name for one in found if one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "options"
    ]


def suggest(word: str, known: Any) -> str:
    """``did you mean 'asha'? `` for a word that is nearly a known one, else nothing."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def _is_protocol(kind: Any) -> bool:
    return bool(getattr(kind, "_is_protocol", False)) or inspect.isabstract(kind)


def _describe(word: str, kind: Any) -> str:
    known = list_parameters(kind)
    if not known:
        return f"{word} has no options"
    return f"the options of {word} are {', '.join(known)}"


SCHEDULERS = Family(
    noun="scheduler",
    package="rungwise.schedulers",
    default="PASHA",
    member="limited_to",
    page="docs/schedulers.md",
)
RANKINGS = Family(
    noun="ranking",
    package="rungwise.rankings",
    default="Noise",
    member="judge",
    page="docs/criteria.md",
)
SEARCHERS = Family(
    noun="searcher",
    package="rungwise.searchers",
    default="RandomSearcher",
    member="propose",
    suffix="Searcher",
    page="docs/searchers.md",
)
BACKENDS = Family(
    noun="backend",
    package="rungwise.backends",
    default="Local",
    member="prepare",
    page="docs/tuning.md",
)
DISPLAYS = Family(
    noun="show",
    package="rungwise.display",
    default="",
    member="begin",
    suffix="Display",
    other_words=("auto",),
    page="docs/tuning.md",
)
CALLBACKS = Family(
    noun="track",
    package="rungwise.callbacks",
    default="",
    member="reported",
    page="docs/tracking.md",
)
FAMILIES: Mapping[str, Family] = {
    family.noun: family
    for family in (SCHEDULERS, RANKINGS, SEARCHERS, BACKENDS, DISPLAYS, CALLBACKS)
}
