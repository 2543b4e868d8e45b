"""Make the study from what was asked for: the one judge of requests.

Law of this file: Python, flags, study files, ask/tell and adapters only write down what was asked,
names or values, in a :class:`StudyRequest`. What it means, and what is wrong with it, is decided by
:func:`build_study`; so the same request gives the same study, or the same error, through every
door. A door that calls arguments by other names lets :func:`name_arguments` translate the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rungwise.core.limits import Limits
from rungwise.core.scheduler import Recipe
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError, SpaceError
from rungwise.options import take
from rungwise.options.checks import check_goal, guess_goal
from rungwise.options.scheduler_options import choose_scheduler
from rungwise.options.study_options import LadderOptions, SearchOptions, StopOptions
from rungwise.schedulers import PASHA, Rush
from rungwise.searchers.checking import check_searcher
from rungwise.searchers.default import default_searcher
from rungwise.space import Space

TRIALS = 256
"""How many configurations are tried where no other end was asked for: as many as in the paper."""

SAFETY_RUNGS = 10
"""Without a maximum the ladder ends, for safety, this many rungs above its lowest one."""


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """What is asked: every option that shapes a study and its limits, as it was given.

    Args:
        space: the search space.
        search: what is searched, and with what scheduler.
        ladder: options of the scheduler that were given beside it.
        stop: when the study ends.
    """

    space: Any
    search: SearchOptions
    ladder: LadderOptions = field(default_factory=LadderOptions)
    stop: StopOptions = field(default_factory=StopOptions)

    @classmethod
    def take(cls, space: Any, given: Mapping[str, Any]) -> StudyRequest:
        """Return the request in arguments by name, as flags and study files give them.

        Args:
            space: the search space.
            given: the arguments; those that do not shape the study are passed over.
        """
        return cls(
            space, take(SearchOptions, given), take(LadderOptions, given), take(StopOptions, given)
        )


@dataclass(frozen=True, slots=True)
class BuiltStudy:
    """The study that a request means.

    Attributes:
        study: the study.
        open_ended: whether its maximum is only a safety net.
        default: whether its scheduler is the default, with or without options.
    """

    study: Study
    open_ended: bool
    default: bool


def build_study(request: StudyRequest) -> BuiltStudy:
    """Return the study that is asked for, checked as a whole."""
    search = request.search
    recipe, default = choose_scheduler(search.scheduler, request.ladder.given, search.max_resource)
    recipe, open_ended = _end_ladder(recipe)
    study = Study(
        recipe,
        _build_limits(request.stop),
        goal=check_goal("goal", search.goal or guess_goal(search.metric)),
        space=Space.parse(request.space),
        searcher=default_searcher() if search.searcher is None else search.searcher,
        initial=tuple(search.initial),
        seed=search.seed,
    )
    assert study.space is not None
    check_searcher(study.searcher, study.space)
    if isinstance(recipe, Rush) and recipe.priors > len(study.initial):
        rule = f"they are the first of initial=, which holds {len(study.initial)}"
        raise InvalidArgumentError("priors", recipe.priors, rule)
    recipe.build(trials=study.limits.trials)  # raises now if something is wrong with it
    return BuiltStudy(study, open_ended, default)


def _end_ladder(recipe: Recipe) -> tuple[Recipe, bool]:
    """The scheduler with an end, and whether that is only a safety net."""
    climber = recipe
    while isinstance(climber, Rush):
        climber = climber.scheduler
    if recipe.max_resource is not None or not isinstance(climber, PASHA):
        return recipe, False
    return recipe.limited_to(climber.min_resource * climber.eta**SAFETY_RUNGS), True


def _build_limits(options: StopOptions) -> Limits:
    """When the study ends."""
    trials = options.trials
    if trials is None and options.seconds is None and options.resource_budget is None:
        trials = TRIALS
    return Limits(
        trials=trials,
        finish=options.finish,
        seconds=options.seconds,
        resource=options.resource_budget,
        target=options.target,
        stall=options.stall,
    )


@contextmanager
def name_arguments(name: Callable[[str], str]) -> Iterator[None]:
    """Let errors call arguments what a door calls them.

    Args:
        name: what the door calls an argument, such as ``eta`` or ``epsilon of ranking``.
    """
    try:
        yield
    except InvalidArgumentError as error:
        named = name(error.argument)
        if named == error.argument or isinstance(error, SpaceError):  # a parameter is no argument
            raise
        raise type(error)(named, error.value, error.rule) from None
