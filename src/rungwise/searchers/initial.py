"""Given configurations first, then another searcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rungwise.core.searcher import History, Searcher
from rungwise.errors import InvalidArgumentError, SpaceError
from rungwise.searchers.random import RandomSearcher
from rungwise.space import Space
from rungwise.space.scalars import is_scalar, plain
from rungwise.validation import must_be, set_frozen


@dataclass(frozen=True, slots=True)
class Initial(Searcher):
    """Proposes the given configurations, in their order, and then asks another searcher.

    ``tune(initial=[…])`` does the same for a whole study; this is for composing, for example in a
    comparison of searchers with the same start. Initial configurations of the study count too:
    with ``tune(initial=[…])`` of two configurations the first two given here are left out.

    In a finite space the other searcher proposes none of them again, since it knows what was
    drawn.

    Args:
        configs: the configurations, at least one; each is checked against the space of the study.
        then: the searcher that proposes when they are used up.

    Example:
        >>> from rungwise.testing.searchers import ListHistory
        >>> space = Space.parse({"act": ["relu", "tanh"]})
        >>> searcher = Initial([{"act": "tanh"}])
        >>> searcher.propose(space, ListHistory(space), np.random.default_rng(0))
        {'act': 'tanh'}
    """

    words: ClassVar[tuple[str, ...]] = ()

    configs: Sequence[Mapping[str, Any]]
    then: Searcher = field(default_factory=RandomSearcher)

    def __post_init__(self) -> None:
        configs: Any = self.configs
        if not isinstance(configs, (list, tuple)) or not configs:
            rule = "it must be a list of configurations, at least one"
            raise InvalidArgumentError("configs", configs, rule)
        must_be("then", self.then, Searcher, "a searcher such as RandomSearcher()")
        set_frozen(self, configs=tuple(_plain(*entry) for entry in enumerate(configs)))

    @property
    def slow(self) -> bool:
        """Whether the other searcher takes long to answer."""
        return self.then.slow

    @property
    def repeatable(self) -> bool:
        """Whether a replay may ask the other searcher again."""
        return self.then.repeatable

    def check(self, space: Space) -> None:
        """Raise if one of them is not legal in the space; the error names the first."""
        self._legal(space)

    def propose(
        self, space: Space, history: History, rng: np.random.Generator
    ) -> dict[str, Any] | None:
        """The next configuration to try."""
        # All are checked at once: an error in the last one is raised before the first is trained.
        legal = self._legal(space)
        if len(history) < len(legal):
            return legal[len(history)]
        return self.then.propose(space, history, rng)

    def _legal(self, space: Space) -> list[dict[str, Any]]:
        return [_legal(space, number, config) for number, config in enumerate(self.configs)]


def _plain(number: int, config: Any) -> dict[str, Any]:
    """A configuration as a study file can hold it."""
    if not isinstance(config, Mapping):
        raise InvalidArgumentError(f"configs[{number}]", config, "a configuration must be a dict")
    clean = {name: plain(value) for name, value in config.items()}
    for name, value in clean.items():
        if type(name) is not str or not is_scalar(value):
            rule = "a configuration must map names to text, finite numbers, bools or None"
            raise InvalidArgumentError(f"configs[{number}]", config, rule)
    return clean


def _legal(space: Space, number: int, config: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return space.validate(config)
    except SpaceError as error:
        whole = error.argument == "config"
        place = f"configs[{number}]" + ("" if whole else f"[{error.argument!r}]")
        raise SpaceError(place, error.value, error.rule) from None
