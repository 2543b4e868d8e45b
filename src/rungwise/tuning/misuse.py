"""What is probably not meant, although it is allowed: said once each, with what to do about it."""

from __future__ import annotations

import warnings

from rungwise.checkpoints import CheckpointStore
from rungwise.core.decisions import Job
from rungwise.core.engine import Engine
from rungwise.core.study import Study
from rungwise.display import Display
from rungwise.errors import UsageWarning
from rungwise.options.checks import guess_goal
from rungwise.schedulers import AdaptiveHalving
from rungwise.schedulers.adaptive import count_drawn
from rungwise.tuning.assignments import AssignmentMaker
from rungwise.tuning.notices import NoticeKeeper


def say(display: Display | NoticeKeeper, text: str, *, stacklevel: int = 2) -> None:
    """Say something important: a quiet display says nothing, so Python's warnings do."""
    if display.shows_notices:
        display.notice(text)
    else:
        if isinstance(display, NoticeKeeper):
            display.keep(text)
        warnings.warn(text, UsageWarning, stacklevel=stacklevel + 1)


def say_goal(display: Display, metric: str, given: str | None, goal: str) -> None:
    """Say what was inferred from the metric's name, or that the name says the opposite."""
    usual = guess_goal(metric)
    if given is None:
        display.notice(f"the goal is {goal}, taken from the name of the metric, {metric}")
    elif usual not in (None, goal):
        say(
            display,
            f"the goal is {goal}, but a metric named {metric} is usually to be "
            f"{'minimised' if usual == 'min' else 'maximised'}: give goal={usual!r}, unless "
            f"{goal} is meant",
            stacklevel=4,
        )


def say_initial(display: Display, study: Study) -> None:
    """Say that not all configurations that were given will be tried."""
    recipe, trials, given = study.scheduler, study.limits.trials, len(study.initial)
    if not isinstance(recipe, AdaptiveHalving) or recipe.size is not None or trials is None:
        return
    drawn = count_drawn(trials)
    if drawn < min(given, trials):
        say(
            display,
            f"initial has {given} configurations, but adaptive halving draws {drawn} of {trials} "
            f"trials: scheduler='adaptive:size={min(given, trials)}' has all of them tried",
            stacklevel=4,
        )


class MisuseWatch:
    """Watches the reports of a study.

    Args:
        display: what a person sees.
        engine: the study.
        assignments: makes its assignments: knows its maximum, and where trials keep their files.
        store: where checkpoints are kept.
    """

    def __init__(
        self,
        display: Display | NoticeKeeper,
        engine: Engine,
        assignments: AssignmentMaker,
        store: CheckpointStore,
    ) -> None:
        self._display = display
        self._engine = engine
        self._assignments = assignments
        self._store = store
        self._beyond = self._repeated = False
        self._without: set[int] = set()  # trials that were resumed without a checkpoint

    def find_start(self, job: Job) -> float:
        """Where a job starts to train: at its last checkpoint, or at 0."""
        place = self._assignments.place(job.trial)
        try:
            found = self._store.trial(place).latest(at_most=job.start)
        except OSError:  # it cannot be read now: the worker will say so, if it matters
            return job.start
        if found is None:
            self._without.add(job.trial)
            return 0
        self._without.discard(job.trial)
        return found.resource

    def repeated(self, trial: int) -> None:
        """A job has reported again what its trial had reported before."""
        if self._repeated or trial not in self._without or self._assignments.phase != "tune":
            return
        self._repeated = True
        self._display.notice(
            f"trial {trial} was resumed without a checkpoint and is trained from the beginning "
            f"again, which counts as spent: save one with run.checkpoint(resource) and load it "
            f'from run.latest, or give scheduler="pasha:variant=stopping", which pauses no trial'
        )

    def reported(self, trial: int, resource: float) -> None:
        """A job has reported something new."""
        maximum = self._assignments.max_resource
        if self._beyond or maximum is None or resource <= maximum:
            return
        self._beyond = True
        say(
            self._display,
            f"trial {trial} reported at resource {resource:g}, but max_resource is {maximum:g}: "
            f"trials are compared at rungs up to {maximum:g}, so none is stopped early beyond it. "
            f"Count max_resource and reports in the same unit (for example both in epochs), and "
            f"end the training at run.max_resource",
        )
