"""Baselines of the paper: every configuration is trained equally long, then the best is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from rungwise.core.scheduler import Recipe, Scheduler
from rungwise.errors import InvalidArgumentError
from rungwise.schedulers.one_level import OneLevel
from rungwise.validation import set_frozen, whole


@dataclass(frozen=True, slots=True)
class FixedResource(Recipe):
    """Train every configuration for the same small resource and take the best.

    ``FixedResource(1)`` is the paper's one-epoch baseline; 2, 3 and 5 are those of appendix A.

    Args:
        resource: how far each configuration is trained.
    """

    words: ClassVar[tuple[str, ...]] = ("fixed",)

    resource: int

    def __post_init__(self) -> None:
        set_frozen(self, resource=whole("resource", self.resource, at_least=1))

    @property
    def max_resource(self) -> int:
        """The resource every configuration gets."""
        return self.resource

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A ladder of one rung: a trial that reaches it is done."""
        return OneLevel(self.resource)

    def limited_to(self, max_resource: int) -> FixedResource:
        """The same for another resource; only a study that is extended asks for it."""
        return replace(self, resource=max_resource)


@dataclass(frozen=True, slots=True)
class RandomSearch(Recipe):
    """Train every configuration fully and take the best.

    Args:
        max_resource: the full training.
    """

    words: ClassVar[tuple[str, ...]] = ("random",)

    max_resource: int | None = None

    def __post_init__(self) -> None:
        if self.max_resource is not None:
            set_frozen(self, max_resource=whole("max_resource", self.max_resource, at_least=1))

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A ladder of one rung: a trial that reaches it is done."""
        if self.max_resource is None:
            raise InvalidArgumentError("max_resource", None, "RandomSearch needs a maximum")
        return OneLevel(self.max_resource)

    def limited_to(self, max_resource: int) -> RandomSearch:
        """The same with a maximum."""
        return replace(self, max_resource=max_resource)
