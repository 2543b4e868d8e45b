"""Turn what a user asks for into a checked study; the options are in study_options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rungwise.core.limits import Limits
from rungwise.core.scheduler import Recipe
from rungwise.core.searcher import Searcher
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError
from rungwise.options.study_options import StopOptions
from rungwise.schedulers import PASHA, AdaptiveHalving, Rush
from rungwise.schedulers.default import default_scheduler
from rungwise.searchers.checking import check_searcher
from rungwise.searchers.default import default_searcher
from rungwise.space import Space
from rungwise.storage import codec
from rungwise.validation import must_be, whole

TRIALS = 256
"""How many configurations are tried where no other end was asked for: as many as in the paper."""

SAFETY_RUNGS = 10
"""Without a maximum the ladder ends, for safety, this many rungs above its lowest one."""


def build_study(
    space: Any,
    *,
    goal: Any,
    scheduler: Recipe | None,
    max_resource: int | None,
    searcher: Searcher | None,
    initial: Sequence[Mapping[str, Any]],
    seed: int,
    limits: Limits,
) -> tuple[Study, bool]:
    """The study that is asked for, and whether it is open-ended."""
    recipe = default_scheduler(max_resource) if scheduler is None else scheduler
    must_be("scheduler", recipe, Recipe, "a recipe such as rungwise.PASHA(…)")
    recipe, open_ended = _with_maximum(recipe, max_resource)
    study = Study(
        recipe,
        limits,
        goal=goal,
        space=Space.parse(space),
        searcher=default_searcher() if searcher is None else searcher,
        initial=tuple(initial),
        seed=seed,
    )
    assert study.space is not None
    check_searcher(study.searcher, study.space)
    if isinstance(recipe, Rush) and recipe.priors > len(study.initial):
        rule = f"they are the first of initial=, which holds {len(study.initial)}"
        raise InvalidArgumentError("priors", recipe.priors, rule)
    recipe.build(trials=study.limits.trials)  # raises now if something is wrong with it
    return study, open_ended


def give_ladder(
    recipe: Recipe | None,
    given: Any,
    options: Mapping[str, int | None],
    max_resource: int | None = None,
) -> Any:
    """A scheduler with the options of its ladder that were given beside its name.

    Args:
        recipe: the scheduler; None for the default.
        given: what was given for it: its name, a scheduler, or None.
        options: ``min_resource`` and ``eta``.
        max_resource: the maximum, if it is known.
    """
    wanted: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if not wanted:
        return recipe
    name, value = next(iter(wanted.items()))
    made: Any = default_scheduler(max_resource) if recipe is None else recipe
    word = type(made).__name__
    if given is not None and not isinstance(given, str):
        rule = f"give it to the scheduler: scheduler={word}({name}={value!r}, …)"
        raise InvalidArgumentError(name, value, rule)
    for name, value in wanted.items():
        if name not in made.__dataclass_fields__:
            raise InvalidArgumentError(name, value, f"{word} has no {name}")
    return replace(made, **wanted)


def _with_maximum(recipe: Recipe, max_resource: int | None) -> tuple[Recipe, bool]:
    if max_resource is not None:
        maximum = whole("max_resource", max_resource, at_least=1)
        if recipe.max_resource not in (None, maximum):
            rule = f"the scheduler has max_resource={recipe.max_resource}: give it only once"
            raise InvalidArgumentError("max_resource", maximum, rule)
        return (recipe if recipe.max_resource else recipe.limited_to(maximum)), False
    climber = recipe
    while isinstance(climber, Rush):
        climber = climber.scheduler
    if recipe.max_resource is not None or not isinstance(climber, PASHA):
        return recipe, False
    return recipe.limited_to(climber.min_resource * climber.eta**SAFETY_RUNGS), True


def keep_default(asked: Recipe, held: Recipe) -> Recipe:
    """The default scheduler of a study that exists: the default of when it was begun.

    Without a maximum, and in version 0.1.0, that is PASHA.

    Args:
        asked: the default for the study that is asked for.
        held: the scheduler of the study that exists.
    """
    if isinstance(asked, Rush) and isinstance(held, Rush):
        return replace(asked, scheduler=keep_default(asked.scheduler, held.scheduler))
    if isinstance(asked, AdaptiveHalving) and isinstance(held, PASHA):
        return PASHA(asked.min_resource, asked.max_resource, asked.eta)
    return asked


def build_limits(options: StopOptions) -> Limits:
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


def differences(held: Study, asked: Study, metrics: tuple[str, str]) -> list[str]:
    """What differs between the study of a file and the one asked for, one line each."""
    lines = []
    if metrics[0] != metrics[1]:
        lines.append(f"metric: {metrics[0]!r} in the file, {metrics[1]!r} asked for")
    there, here = codec.study_to_json(held), codec.study_to_json(asked)
    for part, ours in here.items():
        theirs = there[part]
        if part == "space" and held.space is not None and asked.space is not None:
            changes = (
                line.replace(" here", " in the file").replace(" there", " asked for")
                for line in held.space.describe(asked.space)
            )
            lines += [f"space: {line}" for line in changes]
        elif theirs != ours:
            lines += _parts(part, theirs, ours)
    return lines


def _parts(name: str, theirs: Any, ours: Any) -> list[str]:
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        if theirs.get("type") == ours.get("type"):
            keys = sorted(set(theirs) | set(ours))
            changed = [key for key in keys if theirs.get(key) != ours.get(key)]
            return [
                line
                for key in changed
                for line in _parts(f"{name}.{key}", theirs.get(key), ours.get(key))
            ]
        return [f"{name}: {theirs.get('type')} in the file, {ours.get('type')} asked for"]
    return [f"{name}: {theirs!r} in the file, {ours!r} asked for"]
