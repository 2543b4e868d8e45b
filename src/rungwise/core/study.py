"""The specification of a study: everything its decisions depend on, besides the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rungwise.core.limits import Limits
from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import Searcher
from rungwise.errors import InvalidArgumentError
from rungwise.space import Space
from rungwise.space.scalars import plain
from rungwise.validation import Goal, must_be, parse_goal, set_frozen, whole


@dataclass(frozen=True, slots=True)
class Study:
    """What is searched, how, and until when.

    Args:
        scheduler: the recipe of the scheduler, for example ``rw.PASHA(max_resource=200)``.
        limits: when the study ends.
        goal: whether the metric is to be minimised or maximised.
        space: the search space; not needed when ``initial`` holds every configuration.
        searcher: proposes configurations.
        initial: configurations to try first, in this order.
        seed: the source of all randomness.
    """

    scheduler: Recipe
    limits: Limits
    goal: Goal = "min"
    space: Space | None = None
    searcher: Searcher | None = None
    initial: Sequence[Mapping[str, Any]] = field(default=())
    seed: int = 0

    def __post_init__(self) -> None:
        parse_goal(self.goal)
        must_be("scheduler", self.scheduler, Recipe, "a recipe such as rungwise.PASHA(…)")
        must_be("limits", self.limits, Limits, "a Limits")
        set_frozen(self, seed=whole("seed", self.seed, at_least=0))
        if (self.space is None) != (self.searcher is None):
            raise InvalidArgumentError(
                "searcher", self.searcher, "space and searcher must be given together, or neither"
            )
        initial = tuple(_plain_config(config) for config in self.initial)
        if self.space is not None:
            space = Space.parse(self.space)
            must_be("searcher", self.searcher, Searcher, "a searcher such as RandomSearcher()")
            initial = tuple(space.validate(config) for config in initial)
            set_frozen(self, space=space)
        elif not initial:
            raise InvalidArgumentError(
                "space", None, "a study needs a space to search or initial configurations"
            )
        set_frozen(self, initial=initial)


_PLAIN = frozenset({str, bool, int, float, type(None)})


def _plain_config(given: Any) -> dict[str, Any]:
    """A configuration that JSON can hold without loss."""
    if not isinstance(given, Mapping):
        raise InvalidArgumentError("initial", given, "a configuration must be a dict")
    config = {name: plain(value) for name, value in given.items()}
    for name, value in config.items():
        # NaN is not equal to itself, so a log that is read again would differ.
        if type(value) not in _PLAIN or type(name) is not str or value != value:  # noqa: PLR0124
            rule = "a configuration must map names to plain text, numbers, bools or None"
            raise InvalidArgumentError("initial", config, rule)
    return config
