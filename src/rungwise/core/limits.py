"""When a study ends: the number of trials, budgets, a target, a search that has stalled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rungwise.errors import InvalidArgumentError
from rungwise.validation import Goal, one_of, real, set_frozen, whole

Finish = Literal["drain", "paper"]

Ending = Literal["target", "seconds", "resource", "cost", "last", "exhausted", "drained"]
"""What ended a study; ``"exhausted"``: it drained, and there are no other configurations."""

NO_OTHERS = " (there are no others)"
"""What the clause of a study says that ended because its space has no more configurations."""


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
            return self._describe_budget("seconds")
        if self.resource is not None and resource >= self.resource:
            return self._describe_budget("resource")
        if self.cost is not None and cost >= self.cost:
            return self._describe_budget("cost")
        return None

    # These clauses are part of the log, and a replay compares them: their words must not change.

    def _describe_budget(self, name: Literal["seconds", "resource", "cost"]) -> str:
        unit = {"seconds": "seconds", "resource": "units of resource", "cost": "in cost"}[name]
        return f"the budget of {getattr(self, name):g} {unit} is used up"

    def describe_target(self) -> str:
        """That the target was reached, as a clause of a message."""
        return f"the target {self.target:g} was reached"

    def name_ending(self, ended: str) -> Ending | None:
        """What ended a study with these limits, by the clause that says it; None for any other.

        Args:
            ended: the clause.
        """
        if self.target is not None and ended == self.describe_target():
            return "target"
        for name in _BUDGETS:
            if getattr(self, name) is not None and ended == self._describe_budget(name):
                return name
        if ended.endswith(LAST_STARTED):
            return "last"
        if not ended.endswith(NOTHING_LEFT):
            return None
        return "exhausted" if NO_OTHERS in ended else "drained"


_BUDGETS: tuple[Literal["seconds", "resource", "cost"], ...] = ("seconds", "resource", "cost")

NOTHING_LEFT = " and nothing more was promotable"
"""How the clause of a study ends in which nothing was left to do."""


LAST_STARTED = " configurations to be drawn was started"
"""How the clause of a study ends that ended as soon as its last trial had started."""


def describe_last(number: int) -> str:
    """That the last configuration was started, as a clause of a message."""
    return f"the last of {number}{LAST_STARTED}"
