"""What is probably not meant, although it is allowed: said once each, with what to do about it."""

from __future__ import annotations

from rungwise.core.decisions import Decision
from rungwise.core.events import Reported
from rungwise.core.study import Study
from rungwise.display import Display
from rungwise.options.checks import guess_goal
from rungwise.schedulers import AdaptiveHalving
from rungwise.schedulers.adaptive import count_drawn
from rungwise.session.notices import say
from rungwise.session.part import Part

SAVE = "save one with run.checkpoint(resource) and load it from run.latest"
CONTINUE = "save the model when a job ends, and train it on from job.start"
"""What makes a trial go on where it was: in a training function, and in a loop of one's own."""


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
            stacklevel=5,
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
            stacklevel=5,
        )


class BeyondMaximum(Part):
    """Says that a trial has reported beyond the maximum: it is counted in another unit."""

    def __init__(self) -> None:
        self._said = False

    def open(self) -> None:
        self.idle = self.session.opened.assignments.max_resource is None

    def reported(self, report: Reported, decision: Decision, trial: int) -> None:  # noqa: ARG002
        maximum = self.session.opened.assignments.max_resource
        if self._said or maximum is None or report.resource <= maximum:
            return
        self._said = True
        self.session.notices.say(
            f"trial {trial} reported at resource {report.resource:g}, but max_resource is "
            f"{maximum:g}: trials are compared at rungs up to {maximum:g}, so none is stopped "
            f"early beyond it. Count max_resource and reports in the same unit (for example both "
            f"in epochs), and end the training at run.max_resource",
        )


class TrainedAgain(Part):
    """Says that trials are trained from the beginning again, as there is no checkpoint of them.

    Args:
        remedy: what to do about it.
    """

    def __init__(self, remedy: str) -> None:
        self._remedy = remedy
        self._said = False
        self._without: set[int] = set()  # trials that were resumed without a checkpoint

    def resumed(self, trial: int, start: float) -> None:
        if start:
            self._without.discard(trial)
        else:
            self._without.add(trial)

    def repeated(self, trial: int) -> None:
        if self._said or trial not in self._without:
            return
        self._said = True
        self.session.notice(
            f"trial {trial} was resumed without a checkpoint and is trained from the beginning "
            f'again, which counts as spent: {self._remedy}, or give scheduler="pasha:variant='
            f'stopping", which pauses no trial'
        )
