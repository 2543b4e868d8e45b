"""When a study ends: the number of trials, budgets, a target, a search that has stalled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rungwise.errors import InvalidArgumentError
from rungwise.validation import Goal, one_of, real, set_frozen, whole

Finish = Literal["drain", "paper"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a study; the first that applies does.

    Args:
        trials: draw at most this number of configurations.
        finish: ``"drain"``: after the last one, continue until nothing more can be promoted;
            ``"paper"``: end as soon as the last one has started (the paper's experiments).
        seconds: end after this time.
        resource: end when this much resource has been spent in total.
        cost: end when the reported costs add up to this.
        target: end when a value at least as good as this is reported.
        stall: draw no further configuration once this number in a row have reported, or failed,
            without any of them taking the lead.
    """

    trials: int | None = None
    finish: Finish = "drain"
    seconds: float | None = None
    resource: float | None = None
    cost: float | None = None
    target: float | None = None
    stall: int | None = None

    def __post_init__(self) -> None:
        one_of("finish", self.finish, ("drain", "paper"))
        for name in ("trials", "stall"):
            if getattr(self, name) is not None:
                set_frozen(self, **{name: whole(name, getattr(self, name), at_least=1)})
        for name in ("seconds", "resource", "cost"):
            if getattr(self, name) is not None:
                set_frozen(self, **{name: real(name, getattr(self, name), at_least=0)})
        if self.target is not None:
            set_frozen(self, target=real("target", self.target))
        if self.finish == "paper" and self.trials is None:
            rule = "it ends with the last trial: give the number of trials as well"
            raise InvalidArgumentError("finish", self.finish, rule)
        budgets = (self.seconds, self.resource, self.cost, self.target)
        ends = (self.trials, self.stall, *budgets)
        if all(end is None for end in ends):
            raise InvalidArgumentError(
                "trials",
                None,
                "a study needs at least one limit: trials, seconds, resource, cost, "
                "target or stall",
            )

    def find_reductions(self, later: Limits, *, goal: Goal) -> list[str]:
        """What would be smaller in other limits, one clause per limit; a target must get harder.

        Args:
            later: the other limits.
            goal: whether the metric is minimised or maximised.
        """
        found = []
        for name in ("trials", "stall", "seconds", "resource", "cost", "target"):
            before, after = getattr(self, name), getattr(later, name)
            if name == "target" and goal == "min":  # a target gets harder downwards
                smaller = before is None or (after is not None and after > before)
            else:
                smaller = before is None or (after is not None and after < before)
            if after is not None and smaller:
                had = "no limit" if before is None else f"{before:.15g}"
                found.append(f"{name}: {had} so far, {after:.15g} asked for")
        if self.finish != later.finish:
            found.append(f"finish: {self.finish!r} so far, {later.finish!r} asked for")
        return found

    @property
    def watches_reports(self) -> bool:
        """Whether a report can end the study."""
        budgets = (self.seconds, self.resource, self.cost, self.target)
        return any(budget is not None for budget in budgets)

    def has_stalled(self, unimproved: int) -> bool:
        """Whether more configurations are not worth their training.

        Args:
            unimproved: how many have reported or failed since a newer one took the lead.
        """
        return self.stall is not None and unimproved >= self.stall

    def exhausted(self, *, seconds: float, resource: float, cost: float) -> str | None:
        """Which budget is used up, as a clause of a message; None if none is."""
        if self.seconds is not None and seconds >= self.seconds:
            return f"the budget of {self.seconds:g} seconds is used up"
        if self.resource is not None and resource >= self.resource:
            return f"the budget of {self.resource:g} units of resource is used up"
        if self.cost is not None and cost >= self.cost:
            return f"the budget of {self.cost:g} in cost is used up"
        return None
