"""The result of a study, simulated or real: both are read in the same way."""

from __future__ import annotations

from typing import Any

from rungwise.core.codec import jsonable
from rungwise.core.scheduler import Winner
from rungwise.validation import Goal
from rungwise.views.folds import BestTrial, Leaderboard, Row, RungView
from rungwise.views.html import make_result
from rungwise.views.study_view import StudyView


class StudyResult:
    """The result of a study, simulated or real.

    :class:`rungwise.TuningResult` and :class:`rungwise.SimulationResult` are both this.

    Attributes:
        view: the whole study, for reading.
        seconds: how long the study took.
    """

    __slots__ = ()

    view: StudyView
    seconds: float

    def _repr_html_(self) -> str:
        return make_result(self)

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.view.metric

    @property
    def goal(self) -> Goal:
        """``"min"`` or ``"max"``."""
        return self.view.goal

    @property
    def ended(self) -> bool:
        """Whether the study is over."""
        return self.view.ended

    @property
    def winner(self) -> Winner:
        """The rule by which trials are ranked and one wins: ``"top"`` or ``"best"``."""
        return self.view.winner

    @property
    def best(self) -> BestTrial | None:
        """The best configuration; None if no trial has reported a finite value."""
        return self.view.best

    @property
    def state(self) -> str:
        """The state of the study in one word, see :data:`rungwise.views.status.State`."""
        return self.view.state

    @property
    def why(self) -> str:
        """How the study stands and why, in at most twenty words."""
        return self.view.why

    @property
    def numbers(self) -> str:
        """How many configurations were trained how far, in one sentence."""
        return self.view.numbers

    @property
    def rule(self) -> str:
        """Why it ended, why the ceiling is where it is, and by which rule a trial wins."""
        return self.view.rule

    @property
    def trials(self) -> int:
        """How many configurations were drawn."""
        return self.view.trials

    @property
    def reports(self) -> int:
        """How many reports were at a new resource of their trial."""
        return self.view.reports

    @property
    def resource_spent(self) -> float:
        """The resource trained in total; what was trained twice counts twice."""
        return self.view.resource_spent

    @property
    def max_resource(self) -> float:
        """How far the furthest configuration was trained."""
        return self.view.max_resource

    @property
    def ceilings(self) -> list[tuple[int, float]]:
        """[(number of reports so far, level), …], from the first ceiling on."""
        return self.view.ceilings

    @property
    def epsilons(self) -> list[tuple[int, float]]:
        """[(number of reports so far, ε), …] whenever a check used ε and it had changed."""
        return self.view.epsilons

    def leaderboard(self, limit: int | None = 10) -> Leaderboard:
        """The trials, best first.

        Args:
            limit: how many; None for all.
        """
        return self.view.leaderboard(limit)

    def rungs(self) -> list[RungView]:
        """The rungs from the lowest to the ceiling, with the trials at each."""
        return self.view.rungs()

    def curves(self) -> dict[int, list[tuple[float, float]]]:
        """Trial → [(resource, value), …], of every trial in the order drawn."""
        return self.view.curves()

    def curve(self, trial: int) -> list[tuple[float, float]]:
        """[(resource, value), …] of a trial; what was not finite is NaN."""
        return self.view.curve(trial)

    def to_json(self, *, top: int | None = 10) -> dict[str, Any]:
        """The result as plain JSON values; what is not finite is null.

        Args:
            top: how many rows of the leaderboard; None for all.
        """
        found = self._found()
        document: dict[str, Any] = {
            "metric": self.metric,
            "goal": self.goal,
            "state": self.state,
            "ended": self.ended,
            "winner": self.winner,
            "best": None if found is None else found.to_json(),
            "why": self.why,
            "numbers": self.numbers,
            "rule": self.rule,
            "trials": self.trials,
            "reports": self.reports,
            "resource_spent": self.resource_spent,
            "max_resource": self.max_resource,
            "unit": self.view.unit,
            "seconds": self.seconds,
            "ceilings": self.ceilings,
            "epsilons": self.epsilons,
            "extensions": [
                {"at": each.at, "reports": each.reports, "trials": each.trials, "what": str(each)}
                for each in self.view.extensions
            ],
            "leaderboard": [_line(row) for row in self.leaderboard(top)],
        }
        plain: dict[str, Any] = jsonable(document)
        return plain

    def _found(self) -> BestTrial | None:
        """The best configuration or None; some results raise in ``best`` if there is none."""
        return self.best


def _line(row: Row) -> dict[str, Any]:
    return {
        "trial": row.trial,
        "value": row.value,
        "resource": row.resource,
        "state": row.state,
        "problem": row.problem,
        "config": row.config,
    }
