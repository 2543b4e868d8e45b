"""A study for reading: everything that displays, plots, exports and results need.

Law of this file: a view returns values and copies, never the objects that the engine works with.
So the holder of a view can read a study at any time, and cannot change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rungwise import counterfactual
from rungwise.core.engine import Engine
from rungwise.core.extension import ExtensionRecord
from rungwise.core.ladder import Ladder
from rungwise.core.limits import Ending, Limits
from rungwise.core.reading import ReadableStudy
from rungwise.core.scheduler import CheckRecord, Recipe, Winner
from rungwise.core.searcher import Searcher
from rungwise.core.timeline import AppliedRequest, Rise
from rungwise.errors import InvalidArgumentError
from rungwise.space import Space
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import shown
from rungwise.validation import Goal, find_sign, whole
from rungwise.views import folds
from rungwise.views.ended import EndedStudy
from rungwise.views.folds import BestTrial, JobView, Leaderboard, RankedTrial, RungView
from rungwise.views.savings import Savings, find_savings
from rungwise.views.status import (
    Situation,
    State,
    name_state,
    write_headline,
    write_numbers,
    write_way_on,
    write_winner_rule,
)
from rungwise.views.trial_view import TrialView
from rungwise.views.winners import Record, choose_winner, find_record, list_dismissed

UNNAMED = "value"
"""The name of a metric that has no name."""


class StudyView:
    """A study, for reading.

    It follows the study: what it returns is true at the time of the call. Creating one is cheap.

    Args:
        study: the engine, or the record of a study that is over.
        metric: the name of what is measured.
        winner: which trial wins, see :mod:`rungwise.views.winners`; by default what suits the
            scheduler.
        situation: what is known of it besides its decisions.
    """

    __slots__ = ("_metric", "_study", "_winner", "situation")

    def __init__(
        self,
        study: ReadableStudy,
        metric: str = UNNAMED,
        winner: Winner | None = None,
        situation: Situation | None = None,
    ) -> None:
        self._study = study
        self._metric = metric
        self._winner = choose_winner(winner, study.study.scheduler)
        self.situation = Situation() if situation is None else situation

    @classmethod
    def of(
        cls,
        study: ReadableStudy,
        record: StudyRecord,
        path: Path | None,
        *,
        running: bool,
        seconds: float = 0.0,
        failures: int = 0,
    ) -> StudyView:
        """The study of a file, with what the file says of how it is read.

        Args:
            study: the engine, or the record of one that is over.
            record: what the file says of it.
            path: the file; None if it is not kept.
            running: whether a process works on it.
            seconds: how long it has taken.
            failures: how many of its jobs have failed.
        """
        situation = Situation(
            name="" if path is None else shown(path),
            way="ask" if record.kind == "ask/tell" else "call" if not record.train else "command",
            running=running,
            open_ended=record.open_ended,
            workers=max(1, record.workers),
            unit=record.unit,
            seconds=seconds,
            failures=failures,
        )
        return cls(study, record.metric, record.winner, situation)

    def placed(self, situation: Situation) -> StudyView:
        """The same study in another situation."""
        return StudyView(self._study, self._metric, self._winner, situation)

    def detach(self) -> StudyView:
        """The study as it is now, without the engine: it can be pickled."""
        record = EndedStudy.record(self._study)
        return StudyView(record, self._metric, self._winner, self.situation)

    def __repr__(self) -> str:
        return f"<view of {self.trials} trials: {self.reports} reports of {self.metric}>"

    # -- what it is ----------------------------------------------------------------------------

    @property
    def metric(self) -> str:
        """The name of what is measured."""
        return self._metric

    @property
    def goal(self) -> Goal:
        """``"min"`` or ``"max"``."""
        return self._study.study.goal

    @property
    def sign(self) -> float:
        """What turns a loss into a value, and a value into a loss."""
        return find_sign(self.goal)

    @property
    def unit(self) -> str:
        """What one unit of resource is called; ``"resource"`` where it has no name."""
        return self.situation.unit

    @property
    def recipe(self) -> Recipe:
        """The recipe of the scheduler."""
        return self._study.study.scheduler

    @property
    def space(self) -> Space | None:
        """The search space; None where that is not known, as of a simulation."""
        return self._study.study.space

    @property
    def searcher(self) -> Searcher | None:
        """What proposes configurations; None where that is not known, as of a simulation."""
        return self._study.study.searcher

    @property
    def limits(self) -> Limits:
        """When the study ends."""
        return self._study.study.limits

    @property
    def extensions(self) -> list[ExtensionRecord]:
        """How the study was extended, in order; empty for most studies."""
        return list(self._study.extensions)

    # -- how far it is -------------------------------------------------------------------------

    @property
    def trials(self) -> int:
        """How many configurations were drawn."""
        return len(self._study.trials)

    @property
    def reports(self) -> int:
        """How many reports were at a new resource of their trial."""
        return self._study.reports

    @property
    def resource_spent(self) -> float:
        """The resource trained in total; what was trained twice counts twice."""
        return self._study.spent

    @property
    def resource_repeated(self) -> float:
        """How much of it was trained again, because there was no checkpoint to go on from."""
        return self._study.spent - sum(trial.resource for trial in self._study.trials)

    @property
    def cost(self) -> float:
        """The reported costs in total."""
        return self._study.cost

    @property
    def maximum(self) -> int | None:
        """How far a trial may be trained at most; None where that is open."""
        return None if self.situation.open_ended else self.recipe.max_resource

    @property
    def max_resource(self) -> float:
        """How far the furthest configuration was trained."""
        return max((trial.resource for trial in self._study.trials), default=0)

    @property
    def ended(self) -> bool:
        """Whether the study is over."""
        return self._study.ended is not None

    @property
    def reached(self) -> list[float]:
        """How far each trial was trained, in the order drawn."""
        return [trial.resource for trial in self._study.trials]

    @property
    def failed(self) -> int:
        """How many trials have failed and are not retried."""
        return sum(trial.failed for trial in self._study.trials)

    # -- how it stands: see rungwise.views.status --------------------------------------------------

    @property
    def state(self) -> State:
        """The state of the study in one word."""
        return name_state(self)

    @property
    def ending(self) -> Ending | None:
        """What ended the study; None while nothing has, and if rungwise did not run it."""
        ended = self._study.ended
        return None if ended is None else self.limits.name_ending(ended)

    @property
    def why(self) -> str:
        """How the study stands and why, in at most twenty words."""
        return write_headline(self)

    @property
    def numbers(self) -> str:
        """How many configurations were trained how far, in one sentence; "" without a report."""
        return write_numbers(self)

    @property
    def rule(self) -> str:
        """Why it ended, why the ceiling is where it is, and by which rule a trial wins."""
        return f"{self._study.why()} {write_winner_rule(self)}".rstrip()

    @property
    def way_on(self) -> str:
        """What a person types, or calls, to go on; "" where nothing can."""
        return write_way_on(self)

    @property
    def savings(self) -> Savings:
        """What was saved, as far as it can be said. It may take a moment."""
        return find_savings(self)

    @property
    def explanation(self) -> str:
        """Why the ceiling is where it is, as a clause."""
        return self._study.scheduler.explain()

    # -- what was found ------------------------------------------------------------------------

    @property
    def best(self) -> BestTrial | None:
        """The best configuration; None while no trial has reported a finite value."""
        return folds.best(self._study, winner=self._winner)

    @property
    def winner(self) -> Winner:
        """The rule by which trials are ranked and one wins: ``"top"`` or ``"best"``."""
        return self._winner

    @property
    def leads(self) -> list[tuple[float, int]]:
        """[(the resource spent by then, trial), …] whenever another trial became the best."""
        return list(self._study.leads)

    @property
    def bests(self) -> list[tuple[float, float, int, float]]:
        """[(the resource spent by then, seconds, trial, value), …] whenever the best improved."""
        sign = self.sign
        return [
            (spent, at, trial, sign * loss) for spent, at, trial, loss in self._study.timeline.bests
        ]

    def record(self, trial: int) -> Record:
        """What a trial is ranked by."""
        dismissed = list_dismissed(self._study.timeline.requests)
        return find_record(self._study.trials[trial], self.levels, self._winner, dismissed)

    def leaderboard(self, limit: int | None = None) -> Leaderboard:
        """The trials, best first.

        Args:
            limit: how many rows at most; all by default.
        """
        if limit is not None:
            whole("limit", limit, at_least=0)
        rows = folds.leaderboard(self._study, limit, winner=self._winner)
        return Leaderboard(rows, self._metric)

    def trial(self, number: int) -> TrialView:
        """One trial, by its number."""
        count = len(self._study.trials)
        if not 0 <= number < count:
            rule = f"the study has the trials 0 to {count - 1}" if count else "the study has none"
            raise InvalidArgumentError("trial", number, rule)
        return TrialView(self._study, self._study.trials[number])

    def list_rows(self, numbers: Iterable[int]) -> list[RankedTrial]:
        """Some trials, each with what it is ranked by and its values at the rungs.

        Args:
            numbers: the trials.
        """
        return folds.list_rows(self._study, numbers, winner=self._winner)

    def curve(self, trial: int) -> list[tuple[float, float]]:
        """[(resource, value), …] of a trial; what was not finite is NaN."""
        return self.trial(trial).curve()

    def curves(self) -> dict[int, list[tuple[float, float]]]:
        """Trial → its curve, of every trial in the order drawn."""
        return {trial.id: folds.curve(trial, self.goal) for trial in self._study.trials}

    def jobs(self) -> list[tuple[int, float, float]]:
        """[(trial, start, until), …] of every job, in the order issued."""
        return [(job.trial, job.start, job.until) for job in self._study.jobs]

    def job(self, number: int) -> JobView:
        """One job, by its number."""
        return folds.read_job(self._study, number)

    @property
    def open_jobs(self) -> list[int]:
        """The jobs that are on workers, or were when the study stopped."""
        return list(self._study.open_jobs)

    @property
    def slots(self) -> int:
        """How many jobs were open at a time, at most."""
        return self._study.timeline.workers

    @property
    def requests(self) -> list[AppliedRequest]:
        """What people asked for, in order."""
        return list(self._study.timeline.requests)

    def job_times(self) -> list[tuple[float, float]]:
        """[(when issued, when it left its worker), …] of every job; NaN while it has not left."""
        return list(zip(self._study.timeline.starts, self._study.timeline.ends, strict=True))

    # -- ladder and ceiling --------------------------------------------------------------------

    @property
    def levels(self) -> Sequence[int]:
        """The levels of all rungs; without a ladder, the resources at which jobs ended."""
        return tuple(folds.list_levels(self._study))

    @property
    def common_ladder(self) -> Ladder | None:
        """The ladder, if every trial starts at its lowest rung; None otherwise."""
        return folds.common_ladder(self._study)

    def rungs(self) -> list[RungView]:
        """The rungs from the lowest to the ceiling."""
        return folds.rungs(self._study)

    @property
    def ceilings(self) -> list[tuple[int, float]]:
        """[(number of reports so far, level), …], from the first ceiling on."""
        return list(self._study.scheduler.ceilings)

    @property
    def rises(self) -> list[Rise]:
        """When and why the ceiling was set and rose."""
        return list(self._study.timeline.rises)

    @property
    def checks(self) -> list[CheckRecord]:
        """[(reports, measure, bound, ε, stable), …] of the checks of the ranking."""
        return list(self._study.scheduler.checks)

    @property
    def ceiling(self) -> float | None:
        """How far trials may be trained now; None if the scheduler has no ceiling."""
        return folds.ceiling(self._study)

    @property
    def epsilons(self) -> list[tuple[int, float]]:
        """[(number of reports so far, ε), …] whenever a check used ε and it had changed."""
        return list(self._study.scheduler.epsilons)

    @property
    def epsilon(self) -> float | None:
        """The ε of the last check; None if the criterion has none, or did not need it yet."""
        return folds.epsilon(self._study)

    # -- against others ------------------------------------------------------------------------

    def saved_versus(
        self, scheduler: str = "asha", *, workers: int, max_resource: int | None = None
    ) -> counterfactual.Saving:
        """What another scheduler would have spent; see :func:`rungwise.counterfactual.saving`."""
        return counterfactual.saving(
            self._study, scheduler, workers=workers, max_resource=max_resource
        )


def find_view(source: Any) -> StudyView | None:
    """The view of a study, from a view, a result or an engine; None for anything else."""
    if isinstance(source, Engine):
        return StudyView(source)
    found = source if isinstance(source, StudyView) else getattr(source, "view", None)
    return found if isinstance(found, StudyView) else None
