"""What a study saved, where that is true: the texts and figures of every surface.

Against training every configuration in full, always. Against ASHA only for PASHA, whose aim it is
to be cheaper: other schedulers spend the same, or more on purpose, to compare trials higher up.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rungwise.counterfactual import Saving
from rungwise.errors import RungwiseError
from rungwise.formatting import format_amount, format_resource
from rungwise.schedulers import PASHA, Rush

if TYPE_CHECKING:
    from rungwise.views.study_view import StudyView

CLOSE = 0.05
"""A smaller difference from ASHA is called none."""


@dataclass(frozen=True, slots=True)
class Full:
    """What training every configuration in full would have cost.

    Attributes:
        spent: what the study spent.
        full: what it would have spent.
        level: how far every configuration would have been trained.
    """

    spent: float
    full: float
    level: float

    @property
    def ratio(self) -> float:
        """How many times as much that is."""
        return self.full / self.spent if self.spent else 1.0

    def describe(self, unit: str) -> str:
        """Return what was saved, as a clause."""
        whole = format_amount(self.full, unit)
        to = f"every configuration to {format_resource(self.level)}"
        if self.ratio < 1 + CLOSE:
            return f"as much as training {to} ({whole})"
        return f"{self.ratio:.3g} times less than training {to} ({whole})"


def compare_with_full(view: StudyView) -> Full | None:
    """Return what training every configuration in full would have cost; None without a report.

    In full means to the maximum; in a study without one, as far as the best was trained.
    """
    maximum = view.maximum
    level = view.max_resource if maximum is None else maximum
    if not view.reports or not level:
        return None
    return Full(view.resource_spent, level * view.trials, level)


def aims_to_save(view: StudyView) -> bool:
    """Return whether a study's scheduler is there to be cheaper than ASHA."""
    recipe = view.recipe
    while isinstance(recipe, Rush):
        recipe = recipe.scheduler
    return isinstance(recipe, PASHA)


def compare_with_asha(view: StudyView) -> Saving | None:
    """Return what ASHA would have spent; None where that is not the question, or not known."""
    if view.maximum is None or not view.reports or not aims_to_save(view):
        return None
    try:
        return view.saved_versus("asha", workers=max(1, view.situation.workers))
    except RungwiseError:
        return None


def describe_asha(saving: Saving) -> str:
    """Return what was saved against ASHA, as a clause; the sign is in its words."""
    estimated = f"; {saving.held:,} of {saving.reports:,} values estimated" if saving.held else ""
    other = f"({saving.other:,.10g}{estimated})"
    if abs(saving.ratio - 1) < CLOSE:
        return f"about as much as ASHA would have spent {other}"
    if saving.ratio > 1:
        return f"{1 - 1 / saving.ratio:.0%} less than ASHA would have spent {other}"
    return f"{1 / saving.ratio - 1:.0%} more than ASHA would have spent {other}"


@dataclass(frozen=True, slots=True)
class Savings:
    """What a study saved.

    Attributes:
        full: against training every configuration in full; None without a report.
        asha: against ASHA; None where that is not the question, or not known.
        unit: what one unit of resource is called.
    """

    full: Full | None
    asha: Saving | None
    unit: str

    def __str__(self) -> str:
        parts = [] if self.full is None else [self.full.describe(self.unit)]
        return "; ".join(parts + ([] if self.asha is None else [describe_asha(self.asha)]))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        full, asha = self.full, self.asha
        return {
            "text": str(self),
            "full": None if full is None else {**asdict(full), "ratio": full.ratio},
            "asha": None if asha is None else {**asdict(asha), "text": describe_asha(asha)},
        }


def find_savings(view: StudyView) -> Savings:
    """Return what a study saved, as far as it can be said. It may take a moment."""
    return Savings(compare_with_full(view), compare_with_asha(view), view.unit)
