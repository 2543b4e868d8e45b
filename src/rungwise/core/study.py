"""The specification of a study: everything its decisions depend on, besides the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rungwise.core.checks import Goal, goal_of, whole
from rungwise.core.limits import Limits
from rungwise.core.scheduling import Recipe
from rungwise.errors import InvalidArgumentError
from rungwise.searchers.base import Searcher
from rungwise.space import Space


@dataclass(frozen=True, slots=True)
class Study:
    """What is searched, how, and until when.

    Args:
        scheduler: the recipe of the scheduler, for example ``rw.PASHA(max_resource=200)``.
        limits: when the study ends.
        goal: whether the metric is to be minimised or maximised.
        space: the search space; not needed when ``initial`` holds every configuration.
        searcher: who proposes configurations.
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
        goal_of(self.goal)
        whole("seed", self.seed, at_least=0)
        if not isinstance(self.scheduler, Recipe):
            raise InvalidArgumentError(
                "scheduler", self.scheduler, "it must be a recipe such as rungwise.PASHA(…)"
            )
        if (self.space is None) != (self.searcher is None):
            raise InvalidArgumentError(
                "searcher", self.searcher, "it goes together with a space: give both or neither"
            )
        if self.space is None and not self.initial:
            raise InvalidArgumentError(
                "space", None, "a study needs a space to search or initial configurations"
            )
        if self.space is not None:
            for config in self.initial:
                self.space.validate(config)
