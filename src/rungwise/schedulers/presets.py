"""The schedulers by name: recipes that combine the parts.

Each is a frozen value: it can be reused for many studies, compared, and written to JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal, TypeVar

from rungwise.core.ladder import Ladder
from rungwise.core.rungs import Cut, FloorCut, QuantileCut
from rungwise.core.scheduler import Recipe, Scheduler
from rungwise.errors import InvalidArgumentError
from rungwise.options.registry import RANKINGS
from rungwise.rankings import Noise, Ranking
from rungwise.schedulers.base import CeilingOver
from rungwise.schedulers.ceilings import Check, Fixed, Progressive
from rungwise.schedulers.halving import Halving
from rungwise.schedulers.hyperband import AsyncBrackets, SyncBrackets
from rungwise.schedulers.promotion import Promotion
from rungwise.schedulers.stopping import Stopping
from rungwise.validation import must_be, one_of, set_frozen, whole

Promote = Literal["floor", "quantile"]
Variant = Literal["promotion", "stopping"]
L = TypeVar("L", bound="OnLadder")


@dataclass(frozen=True, slots=True)
class OnLadder(Recipe):
    """Base of the recipes that use a ladder of rungs."""

    min_resource: int = 1
    max_resource: int | None = None
    eta: int = 3

    def __post_init__(self) -> None:
        ladder = self.ladder  # checks the three
        set_frozen(self, min_resource=ladder.levels[0], eta=ladder.eta)
        if self.max_resource is not None:
            set_frozen(self, max_resource=ladder.max_resource)

    @property
    def ladder(self) -> Ladder:
        """The rung levels."""
        return Ladder.between(self.min_resource, self.max_resource, eta=self.eta)

    def limited_to(self: L, max_resource: int) -> L:  # noqa: PYI019 - Self needs Python 3.11
        """The same with a maximum."""
        return replace(self, max_resource=max_resource)

    def ending_ladder(self) -> Ladder:
        """The rung levels of a scheduler that needs a maximum."""
        if self.max_resource is None:
            rule = f"{type(self).__name__} needs a maximum (PASHA does not)"
            raise InvalidArgumentError("max_resource", None, rule)
        return self.ladder


@dataclass(frozen=True, slots=True)
class PASHA(OnLadder):
    """Progressive ASHA: the ceiling rises only while the ranking of configurations is unstable.

    Args:
        min_resource: r, the smallest resource at which configurations can be compared.
        max_resource: R, the safety net; without it the ladder is open-ended.
        eta: η, the reduction factor; one in η trials of a rung continues.
        ranking: the criterion for "stable", or its name; the paper's by default.
        promote: ``"floor"``: the best ⌊n/η⌋ of a rung may be promoted; ``"quantile"``: losses up
            to the 1/η quantile, as in the authors' code.
        check: ``"rung"``: compare rankings when a trial arrives in the top rung;
            ``"report"``: after every report, as in the authors' code.
        variant: ``"promotion"`` pauses trials at rungs and promotes the best later;
            ``"stopping"`` lets them continue or stops them, for systems that cannot pause.

    Example:
        >>> PASHA(max_resource=200).ladder.levels
        (1, 3, 9, 27, 81, 200)

    Reference:
        Bohdal et al., PASHA: Efficient HPO and NAS with Progressive Resource Allocation (2023).
    """

    ranking: Ranking = field(default_factory=Noise)
    promote: Promote = "floor"
    check: Check = "rung"
    variant: Variant = "promotion"

    def __post_init__(self) -> None:
        _check_family(self)
        one_of("check", self.check, ("rung", "report"))
        ranking = RANKINGS.resolve("ranking", self.ranking)
        words = "a criterion such as rungwise.rankings.Noise(), or its name"
        must_be("ranking", ranking, Ranking, words)
        set_frozen(self, ranking=ranking)

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A fresh scheduler for one study."""
        ceiling = partial(Progressive, ranking=self.ranking, check=self.check)
        return _family_member(self, ceiling)

    def noise_percentile(self) -> float | None:
        """That of the criterion."""
        return self.ranking.noise_percentile()


@dataclass(frozen=True, slots=True)
class ASHA(OnLadder):
    """Asynchronous successive halving with a fixed maximum of training.

    Args:
        min_resource: r, the smallest resource at which configurations can be compared.
        max_resource: R, the training of the best ones.
        eta: η, the reduction factor; one in η trials of a rung continues.
        promote: see :class:`PASHA`.
        variant: see :class:`PASHA`.

    Reference:
        Li et al., A System for Massively Parallel Hyperparameter Tuning (2020).
    """

    promote: Promote = "floor"
    variant: Variant = "promotion"

    def __post_init__(self) -> None:
        _check_family(self)

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A fresh scheduler for one study."""
        self.ending_ladder()
        return _family_member(self, Fixed)


@dataclass(frozen=True, slots=True)
class SuccessiveHalving(OnLadder):
    """Synchronous successive halving: a rung must be complete before its best are promoted.

    Args:
        min_resource: r, the training of the first rung.
        max_resource: R, the training of the last.
        eta: η; the best ⌊n/η⌋ of a rung are promoted.
        size: how many configurations start; all the trials of the study by default.

    Reference:
        Jamieson and Talwalkar, Non-stochastic Best Arm Identification (2016).
    """

    words: ClassVar[tuple[str, ...]] = ("halving",)

    size: int | None = None

    def __post_init__(self) -> None:
        OnLadder.__post_init__(self)
        if self.size is not None:
            set_frozen(self, size=whole("size", self.size, at_least=1))

    def build(self, *, trials: int | None) -> Scheduler:
        """A fresh scheduler for one study."""
        size = self.size if self.size is not None else trials
        if size is None:
            rule = "successive halving waits for a full rung: give size, or trials of the study"
            raise InvalidArgumentError("size", None, rule)
        return Halving(self.ending_ladder(), size=size, grows=self.size is None)


@dataclass(frozen=True, slots=True)
class Hyperband(OnLadder):
    """Synchronous Hyperband: brackets of successive halving that start at different rungs.

    Args:
        min_resource: r, the training of the lowest rung.
        max_resource: R, the training of the highest.
        eta: η, the reduction factor.

    Reference:
        Li et al., Hyperband: A Novel Bandit-Based Approach (2018).
    """

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A fresh scheduler for one study."""
        return SyncBrackets(self.ending_ladder())


@dataclass(frozen=True, slots=True)
class AsyncHyperband(OnLadder):
    """Asynchronous Hyperband: brackets of ASHA that start at different rungs, in parallel.

    Args:
        min_resource: r, the training of the lowest rung.
        max_resource: R, the training of the highest.
        eta: η, the reduction factor.
        promote: see :class:`PASHA`.

    Reference:
        Li et al., A System for Massively Parallel Hyperparameter Tuning (2020).
    """

    promote: Promote = "floor"

    def __post_init__(self) -> None:
        OnLadder.__post_init__(self)
        one_of("promote", self.promote, ("floor", "quantile"))

    def build(self, *, trials: int | None) -> Scheduler:  # noqa: ARG002 - any number
        """A fresh scheduler for one study."""
        return AsyncBrackets(self.ending_ladder(), cut=_promotion_cut(self.promote, self.eta))


def _check_family(recipe: PASHA | ASHA) -> None:
    OnLadder.__post_init__(recipe)
    one_of("promote", recipe.promote, ("floor", "quantile"))
    one_of("variant", recipe.variant, ("promotion", "stopping"))


def _family_member(recipe: PASHA | ASHA, ceiling: CeilingOver) -> Scheduler:
    if recipe.variant == "promotion":
        cut = _promotion_cut(recipe.promote, recipe.eta)
        return Promotion(recipe.ladder, ceiling=ceiling, cut=cut)
    return Stopping(recipe.ladder, ceiling=ceiling, cut=_stopping_cut(recipe.promote, recipe.eta))


def _promotion_cut(promote: Promote, eta: int) -> Cut:
    return FloorCut(eta) if promote == "floor" else QuantileCut(eta)


def _stopping_cut(promote: Promote, eta: int) -> Cut:
    # The first trial at a rung cannot be worse than another one: it continues.
    return FloorCut(eta, at_least=1) if promote == "floor" else QuantileCut(eta, at_least=1)
