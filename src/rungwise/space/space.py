"""The search space: which configurations there are, and how one is drawn, checked and named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rungwise import lazy_numpy as np
from rungwise.errors import SpaceError
from rungwise.space import codec, configspace
from rungwise.space.domains import Choice, Domain, Float, Int, looks_like_a_range, spell_range
from rungwise.space.foreign import read_range, translate
from rungwise.space.parameters import Parameter, check_name, in_order
from rungwise.space.priors import is_drawable
from rungwise.space.rules import Rule
from rungwise.space.scalars import Scalar, canonical, is_scalar, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LISTED = 1_000_000
"""The largest space whose configurations are listed; a list beyond would fill the memory."""

MAX_DRAWS = 10_000
"""How many draws in a row may be forbidden before sampling gives up on drawing blindly."""

_SHOWN = 6


class Space:
    """A search space; immutable.

    Build one with :meth:`parse`. Parameters are drawn in the space's own order, which is by name,
    with those that depend on others behind them; so what is drawn does not depend on the order in
    which a space was written. Configurations list their values in the order written. Values are
    plain Python ``str``, ``int``, ``float``, ``bool`` and ``None``.

    Example:
        >>> space = Space.parse({"lr": Float(1e-5, 10, log=True), "act": ["relu", "tanh"]})
        >>> space.validate({"lr": 1, "act": "tanh"})
        {'lr': 1.0, 'act': 'tanh'}
    """

    __slots__ = ("_by_name", "_forbidden", "_keys", "_listed", "_parameters", "_text", "_written")

    def __init__(self, parameters: Iterable[Parameter], forbidden: Iterable[Rule] = ()) -> None:
        written = tuple(parameters)
        self._parameters = in_order(written)
        self._written = tuple(parameter.name for parameter in written)
        if not self._parameters:
            raise SpaceError("space", {}, "it must have at least one parameter")
        rules = {canonical(rule.to_json()): rule for rule in forbidden}
        self._forbidden = tuple(rules[text] for text in sorted(rules))
        self._by_name = {parameter.name: parameter for parameter in self._parameters}
        self._text = canonical(codec.space_to_json(self._parameters, self._forbidden))
        self._listed: tuple[dict[str, Scalar], ...] | None = None
        self._keys: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, obj: Any) -> Space:
        """A space from its short form.

        Args:
            obj: a dict of name to :class:`Float`, :class:`Int`, :class:`Choice`, list of options
                or constant; a ``ConfigSpace.ConfigurationSpace``, which is copied, with its
                conditions, forbidden clauses, weights and distributions; or a :class:`Space`.
        """
        if isinstance(obj, Space):
            return obj
        if configspace.is_configuration_space(obj):
            return cls(*configspace.read(obj))
        if isinstance(obj, Mapping):
            return cls(Parameter(check_name(name), _domain(name, obj[name])) for name in obj)
        raise SpaceError(
            "space", obj, "it must be a dict of parameters or a ConfigSpace.ConfigurationSpace"
        )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Space:
        """The space that :meth:`to_json` wrote."""
        return cls(*codec.space_from_json(document))

    def to_json(self) -> dict[str, Any]:
        """The space as plain JSON, without loss."""
        written = (self._by_name[name] for name in self._written)
        return codec.space_to_json(written, self._forbidden)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in the space's own order."""
        return tuple(self._by_name)

    @property
    def written(self) -> tuple[str, ...]:
        """The names of the parameters, in the order in which the space was written."""
        return self._written

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the space's own order."""
        return self._parameters

    @property
    def forbidden(self) -> tuple[Rule, ...]:
        """The rules that no legal configuration fulfils."""
        return self._forbidden

    @property
    def size(self) -> int | None:
        """How many configurations there are at most; ``None`` for infinitely many.

        Conditions and forbidden clauses may leave fewer: :meth:`configurations` counts exactly.
        """
        sizes = [parameter.domain.size for parameter in self._parameters]
        known = [size for size in sizes if size is not None]
        return math.prod(known) if len(known) == len(sizes) else None

    @property
    def drawable(self) -> bool:
        """Whether all priors can be drawn from with the packages that are installed."""
        return all(is_drawable(parameter.prior) for parameter in self._parameters)

    def sample(self, rng: np.random.Generator) -> dict[str, Scalar]:
        """A random configuration, uniform unless the space says otherwise.

        It depends on the state of ``rng`` alone. Inactive parameters are absent.
        """
        for _ in range(MAX_DRAWS):
            config: dict[str, Scalar] = {}
            for parameter in self._parameters:
                if parameter.is_active(config):
                    config[parameter.name] = parameter.draw(rng)
            if not any(rule.holds(config) for rule in self._forbidden):
                return self._arrange(config)
        if self.size is None or self.size > MAX_LISTED:
            rule = f"its forbidden clauses refused {MAX_DRAWS} draws in a row"
            raise SpaceError("space", self, rule)
        legal = self._configurations()
        return dict(legal[int(rng.random() * len(legal))])

    def validate(self, config: Mapping[str, Any]) -> dict[str, Scalar]:
        """The configuration in its plain form, or a :class:`SpaceError` that says what is wrong."""
        if not isinstance(config, Mapping):
            raise SpaceError("config", config, "a configuration must be a dict")
        self._check_names(config)
        legal: dict[str, Scalar] = {}
        for parameter in self._parameters:
            name = parameter.name
            if not parameter.is_active(legal):
                if name in config:
                    why = f"it must be absent unless {parameter.condition}"
                    raise SpaceError(name, config[name], why)
                continue
            if name not in config:
                why = f"{name!r} is missing, and must be given when {parameter.condition}"
                raise SpaceError("config", dict(config), why)
            legal[name] = parameter.domain.accept(name, config[name])
        for rule in self._forbidden:
            if rule.holds(legal):
                raise SpaceError("config", legal, f"the space forbids {rule}")
        return self._arrange(legal)

    def key(self, config: Mapping[str, Any]) -> str:
        """The canonical name of a validated configuration, as JSON text.

        It does not depend on the order of the parameters, and distinguishes 1, 1.0, True and "1".
        """
        values = {name: plain(value) for name, value in config.items()}
        for name, value in values.items():
            if not is_scalar(value):
                raise SpaceError(name, value, "a value must be a str, bool, None or finite number")
        return canonical(values)

    def configurations(self) -> tuple[dict[str, Scalar], ...]:
        """All legal configurations of a finite space, each once."""
        return tuple(dict(config) for config in self._configurations())

    def all_keys(self) -> tuple[str, ...]:
        """The keys of :meth:`configurations`, in the same order."""
        if self._keys is None:
            self._keys = tuple(self.key(config) for config in self._configurations())
        return self._keys

    def encode(self, config: Mapping[str, Any]) -> NDArray[np.float64]:
        """A configuration as a vector in [0, 1], in the order of :attr:`names`.

        Numbers lie between their bounds (in ratios on a log scale), options in their order from 0
        to 1; inactive parameters are NaN.
        """
        legal = self.validate(config)
        vector = np.full(len(self._parameters), np.nan)
        for position, (name, parameter) in enumerate(self._by_name.items()):
            if name in legal:
                vector[position] = parameter.domain.unit(legal[name])
        return vector

    def describe(self, other: Space) -> list[str]:
        """How another space differs from this one, one line each; empty when they are equal."""
        lines = []
        ours, theirs = self._by_name, {known.name: known for known in other.parameters}
        for name in sorted(ours.keys() | theirs.keys()):
            here, there = ours.get(name), theirs.get(name)
            if there is None:
                lines.append(f"{name} is {here} here, and is missing there")
            elif here is None:
                lines.append(f"{name} is {there} there, and is missing here")
            elif _text(here) != _text(there):
                lines.append(f"{name} is {here} here, and {there} there")
        here_only, there_only = _only(self.forbidden, other.forbidden)
        lines += [f"{rule} is forbidden here only" for rule in here_only]
        lines += [f"{rule} is forbidden there only" for rule in there_only]
        return lines

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Space) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {self._by_name[name]}" for name in self._written[:_SHOWN])
        more = len(self._parameters) - _SHOWN
        rest = f", … {more} more" if more > 0 else ""
        forbidden = f", {len(self._forbidden)} forbidden" if self._forbidden else ""
        return f"Space({{{shown}{rest}}}{forbidden})"

    def _arrange(self, config: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """A configuration with its values in the order in which the space was written."""
        return {name: config[name] for name in self._written if name in config}

    def _check_names(self, config: Mapping[str, Any]) -> None:
        """Every name is known, and every parameter that is always active is there."""
        unknown = [name for name in config if name not in self._by_name]
        if unknown:
            rule = f"the space has no {_spelled(unknown)}; it has {_spelled(self._by_name)}"
            raise SpaceError("config", dict(config), rule)
        missing = [
            parameter.name
            for parameter in self._parameters
            if parameter.condition is None and parameter.name not in config
        ]
        if missing:
            raise SpaceError("config", dict(config), f"it must also give {_spelled(missing)}")

    def _configurations(self) -> tuple[dict[str, Scalar], ...]:
        """The list behind :meth:`configurations`, made once; callers get copies."""
        if self._listed is None:
            if self.size is None:
                raise SpaceError("space", self, "only a finite space can be listed")
            if self.size > MAX_LISTED:
                rule = f"it has {self.size} configurations, and at most {MAX_LISTED} are listed"
                raise SpaceError("space", self, rule)
            self._listed = tuple(self._list())
            if not self._listed:
                raise SpaceError("space", self, "its forbidden clauses leave no configuration")
        return self._listed

    def _list(self) -> list[dict[str, Scalar]]:
        """Grows configurations parameter by parameter; inactive ones branch nowhere."""
        grown: list[dict[str, Scalar]] = [{}]
        for parameter in self._parameters:
            grown = [
                {**config, parameter.name: value} if active else config
                for config in grown
                for active in [parameter.is_active(config)]
                for value in (parameter.domain.values() if active else (None,))
            ]
        return [
            self._arrange(config)
            for config in grown
            if not any(rule.holds(config) for rule in self._forbidden)
        ]


def _domain(name: str, written: Any) -> Domain:
    """A domain from its shorthand."""
    if isinstance(written, (Float, Int, Choice)):
        return written
    value = plain(written)
    if looks_like_a_range(value):
        low, high = map(plain, value)
        kind, bounds, log = spell_range(low, high)
        rule = (
            f"two numbers may mean a range or two options: write rungwise.{kind}({bounds}"
            f"{', log=True' * log}) for all values between them, or rungwise.Choice([{low!r}, "
            f"{high!r}]) for these two"
        )
        raise SpaceError(name, written, rule)
    meant = read_range(value)
    if meant is not None:
        rule = f"what is meant is probably rungwise.{meant!r}: a list or tuple has options only"
        raise SpaceError(name, written, rule)
    if isinstance(value, (list, tuple)) or is_scalar(value):
        try:
            return Choice(value if isinstance(value, (list, tuple)) else [value])
        except SpaceError as error:
            raise SpaceError(f"{error.argument} of {name}", error.value, error.rule) from None
    rule = "a parameter must be a Float, Int, Choice, list of options or constant"
    meant = translate(value)
    if meant is not None:
        rule += f"; what W&B writes so is rungwise.{meant!r} here"
    elif isinstance(written, range):
        rule += f": write list({written!r}), or a rungwise.Int"
    elif hasattr(written, "tolist"):
        rule += ": write its options as a list, such as values.tolist()"
    raise SpaceError(name, written, rule)


def _text(parameter: Parameter) -> str:
    return canonical(codec.parameter_to_json(parameter))


def _only(ours: Iterable[Rule], theirs: Iterable[Rule]) -> tuple[list[str], list[str]]:
    """The rules that are on one side only, as text."""
    here, there = (
        {canonical(rule.to_json()): str(rule) for rule in side} for side in (ours, theirs)
    )
    return (
        [here[text] for text in sorted(here.keys() - there.keys())],
        [there[text] for text in sorted(there.keys() - here.keys())],
    )


def _spelled(names: Iterable[Any]) -> str:
    return ", ".join(map(repr, names))
