"""A study for reading: everything that displays, plots, exports and results need.

Law of this file: a view returns values and copies, never the objects that the engine works with.
So the holder of a view can read a study at any time, and cannot change it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from rungwise import counterfactual
from rungwise.core.engine import Engine
from rungwise.core.extension import ExtensionRecord
from rungwise.core.ladder import Ladder
from rungwise.core.limits import Limits
from rungwise.core.reading import ReadableStudy
from rungwise.core.scheduler import Recipe
from rungwise.core.trials import State, Trial
from rungwise.errors import InvalidArgumentError
from rungwise.space import Space
from rungwise.validation import Goal, whole
from rungwise.views import folds
from rungwise.views.folds import BestTrial, Leaderboard, RungView
from rungwise.views.html import make_trial
from rungwise.views.winners import Winner, choose_winner

UNNAMED = "value"
"""The name of a metric that has no name."""


class TrialView:
    """One trial, for reading.

    Args:
        study: the study it belongs to.
        trial: the trial.
    """

    __slots__ = ("_study", "_trial")

    def __init__(self, study: ReadableStudy, trial: Trial) -> None:
        self._study = study
        self._trial = trial

    def __repr__(self) -> str:
        return repr(self._trial)

    def _repr_html_(self) -> str:
        return make_trial(self)

    @property
    def id(self) -> int:
        """The order of drawing, from 0."""
        return self._trial.id

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration; a copy."""
        return dict(self._trial.config)

    @property
    def state(self) -> str:
        """Its state, in one word."""
        return folds.describe_state(self._trial, folds.find_furthest(self._study))

    @property
    def resource(self) -> float:
        """The furthest resource reported."""
        return self._trial.resource

    @property
    def rung(self) -> int | None:
        """The level of the highest rung that it has reached; None below the first."""
        levels = folds.list_levels(self._study)
        reached = bisect_right(levels, self._trial.resource)
        return levels[reached - 1] if reached else None

    @property
    def note(self) -> str:
        """Any further information, for example why it failed."""
        return self._trial.note

    @property
    def next_level(self) -> int | None:
        """The level that it reaches next if it is trained on; None beyond the last."""
        return folds.next_level(self._study, self._trial)

    def curve(self) -> list[tuple[float, float]]:
        """[(resource, value), …] in the user's sign; what was not finite is NaN."""
        return folds.curve(self._trial, self._study.study.goal)

    def story(self) -> list[str]:
        """What happened to it, one sentence each."""
        jobs = [job for job in self._study.jobs if job.trial == self._trial.id]
        sign = 1.0 if self._study.study.goal == "min" else -1.0
        story = self._trial.story(jobs, sign)
        if self.state == folds.COMPLETED:
            story[-1] = f"it is now {folds.COMPLETED}: trained to the maximum"
        elif self._trial.state is State.STOPPED:
            note = self._trial.note and f" ({self._trial.note})"
            story[-1] = f"it is now stopped: by the scheduler or on request{note}"
        return story


class StudyView:
    """A study, for reading.

    It follows the study: what it returns is true at the time of the call. Creating one is cheap.

    Args:
        study: the engine, or the record of a study that is over.
        metric: the name of what is measured.
        winner: which trial wins, see :mod:`rungwise.views.winners`; by default what suits the
            scheduler.
    """

    __slots__ = ("_metric", "_study", "_winner")

    def __init__(
        self, study: ReadableStudy, metric: str = UNNAMED, winner: Winner | None = None
    ) -> None:
        self._study = study
        self._metric = metric
        self._winner = choose_winner(winner, study.study.scheduler)

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
    def recipe(self) -> Recipe:
        """The recipe of the scheduler."""
        return self._study.study.scheduler

    @property
    def space(self) -> Space | None:
        """The search space; None where that is not known, as of a simulation."""
        found = getattr(self._study.study, "space", None)
        return found if isinstance(found, Space) else None

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
    def max_resource(self) -> float:
        """How far the furthest configuration was trained."""
        return max((trial.resource for trial in self._study.trials), default=0)

    @property
    def ended(self) -> bool:
        """Whether the study is over."""
        return self._study.ended is not None

    @property
    def rest(self) -> str:
        """What a study that has not ended has before it (", 16 trials to go"); "" if not known."""
        return folds.describe_rest(self._study)

    @property
    def why(self) -> str:
        """Why the study ended, why the ceiling is where it is, and by which rule a trial wins."""
        return f"{self._study.why()}{self.why_this}"

    @property
    def why_this(self) -> str:
        """Why this trial wins, as a further sentence; "" if it is the best value of all."""
        found = None if self._winner == "best" else self.best
        if found is None:
            return ""
        level = self.trial(found.trial).rung
        if level is None:
            return ""
        number = sum(trial.resource >= level for trial in self._study.trials)
        others = "" if number == 1 else f", the best of {number}"
        return f" Trial {found.trial} wins by its value at {level}, the highest rung{others}."

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
        sign = 1.0 if self.goal == "min" else -1.0
        return [
            (spent, at, trial, sign * loss) for spent, at, trial, loss in self._study.timeline.bests
        ]

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

    def curve(self, trial: int) -> list[tuple[float, float]]:
        """[(resource, value), …] of a trial; what was not finite is NaN."""
        return self.trial(trial).curve()

    def curves(self) -> dict[int, list[tuple[float, float]]]:
        """Trial → its curve, of every trial in the order drawn."""
        return {trial.id: folds.curve(trial, self.goal) for trial in self._study.trials}

    def jobs(self) -> list[tuple[int, float, float]]:
        """[(trial, start, until), …] of every job, in the order issued."""
        return [(job.trial, job.start, job.until) for job in self._study.jobs]

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


def describe_end(
    view: StudyView, *, running: bool = False, kept: bool = True, cause: str = ""
) -> str:
    """Return why a study ended, or that it does not run, and why its ceiling is where it is.

    Args:
        view: the study.
        running: whether it is being worked on.
        kept: whether it can be resumed.
        cause: what has stopped it before its end, as a clause; "" for an interrupt, or if its
            process was killed.
    """
    if view.ended or running:
        return view.why
    rest = view.rest
    if cause:
        ways = [rest.removeprefix(", ")] * bool(rest) + ["it can be resumed"] * kept
        how = f"stopped, because {cause}{'; ' * bool(ways)}{' and '.join(ways)}"
    else:
        how = f"was interrupted{rest}" + (f"{',' * bool(rest)} and can be resumed" if kept else "")
    more = f"; {view.explanation}.{view.why_this}" if view.reports else "."
    return f"The study {how}{more}"


def find_view(source: Any) -> StudyView | None:
    """The view of a study, from a view, a result or an engine; None for anything else."""
    if isinstance(source, Engine):
        return StudyView(source)
    found = source if isinstance(source, StudyView) else getattr(source, "view", None)
    return found if isinstance(found, StudyView) else None
