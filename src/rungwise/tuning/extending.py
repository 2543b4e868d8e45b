"""Extend a study: with what it may go on, and what is refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rungwise.core.engine import Engine
from rungwise.core.events import StudyExtended
from rungwise.core.extension import find_obstacle
from rungwise.core.scheduler import Recipe
from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError, StudyDiffersError
from rungwise.options import list_options
from rungwise.options.study_options import SearchOptions, StopOptions
from rungwise.schedulers import ASHA, PASHA, AdaptiveHalving, Rush, SuccessiveHalving
from rungwise.storage import codec
from rungwise.storage.study_file import StudyFile

Extender = Callable[[Engine, float], "StudyExtended | None"]
"""(the engine, the study's clock) → the event that extends the study; None for none."""

EXTENDABLE = (
    *(each for each in list_options(StopOptions) if each.name != "finish"),
    *(each for each in list_options(SearchOptions) if each.name == "max_resource"),
)
"""The options that extend a study."""

FIELDS = {"resource_budget": "resource"}
"""The limits that have another name among the options."""


def take_extension(given: Mapping[str, Any]) -> dict[str, Any]:
    """The limits among the given arguments, each checked by its own rule."""
    asked = {each.name: given[each.name] for each in EXTENDABLE if given.get(each.name) is not None}
    return {
        each.name: each.check(each.name, asked[each.name])
        for each in EXTENDABLE
        if each.name in asked
    }


def extend_by(asked: Mapping[str, Any], study: str, *, open_ended: bool = False) -> Extender:
    """An extender for ``resume``: the limits that are given replace those of the study.

    Args:
        asked: what :func:`take_extension` has returned.
        study: the name of the file, for messages.
        open_ended: whether the maximum of the study is only a safety net.
    """

    def extend(engine: Engine, at: float) -> StudyExtended | None:
        if not asked:
            return None
        limits = engine.study.limits
        named = {FIELDS.get(name, name): name for name in asked if name != "max_resource"}
        for field, name in named.items():
            if getattr(limits, field) is None:
                has = ", ".join(_list_limits(engine.study))
                rule = f"{study} has no such limit that could be raised; it has {has}"
                raise InvalidArgumentError(name, asked[name], rule)
        changed = {field: asked[name] for field, name in named.items()}
        maximum, held = asked.get("max_resource"), engine.study.scheduler.max_resource
        if open_ended and maximum is not None and held is not None and maximum < held:
            rule = (
                f"{study} was begun without a maximum, and one below its safety net, {held}, would "
                "change what was decided: begin another study for it"
            )
            raise InvalidArgumentError("max_resource", maximum, rule)
        if maximum == engine.study.scheduler.max_resource:
            maximum = None
        event = StudyExtended(replace(limits, **changed), maximum, at)
        if event.limits == limits and maximum is None:
            return None  # it has these limits already
        obstacle = _find_any_obstacle(engine, event)
        if obstacle is not None:
            name = next(iter(asked))
            raise InvalidArgumentError(name, asked[name], f"{study} cannot be extended: {obstacle}")
        return event

    return extend


def extend_to(asked: Study, metric: str, file: StudyFile, *, default: bool = False) -> Extender:
    """An extender for ``tune``: the study of the file must be the one asked for, or smaller.

    Args:
        asked: the study asked for.
        metric: the metric asked for.
        file: holds a study.
        default: whether its scheduler is the default.
    """
    wanted = asked

    def extend(engine: Engine, at: float) -> StudyExtended | None:
        held, metrics = engine.study, (file.about.metric, metric)
        scheduler = wanted.scheduler
        asked = replace(
            wanted, scheduler=_keep_default(scheduler, held.scheduler) if default else scheduler
        )
        lines = _list_differences(held, asked, metrics)
        if not lines:
            return None
        before, after = held.scheduler.max_resource, asked.scheduler.max_resource
        raised = before is not None and after is not None and after > before
        scheduler = held.scheduler.limited_to(after) if raised and after else held.scheduler
        grown = replace(held, limits=asked.limits, scheduler=scheduler)
        if _list_differences(grown, asked, metrics):
            raise StudyDiffersError(str(file.path), lines)
        if held.limits.find_reductions(asked.limits, goal=held.goal):
            raise StudyDiffersError(str(file.path), lines)
        event = StudyExtended(asked.limits, after if raised else None, at)
        obstacle = _find_any_obstacle(engine, event)
        if obstacle is not None:
            raise StudyDiffersError(str(file.path), [*lines, f"it cannot be extended: {obstacle}"])
        return event

    return extend


def _keep_default(asked: Recipe, held: Recipe) -> Recipe:
    """The default scheduler of a study that exists: the default of when it was begun.

    Without a maximum, and in version 0.1.0, that is PASHA.

    Args:
        asked: the default for the study that is asked for.
        held: the scheduler of the study that exists.
    """
    if isinstance(asked, Rush) and isinstance(held, Rush):
        return replace(asked, scheduler=_keep_default(asked.scheduler, held.scheduler))
    if isinstance(asked, AdaptiveHalving) and asked.size is None and isinstance(held, PASHA):
        return PASHA(asked.min_resource, asked.max_resource, asked.eta)
    return asked


def _list_differences(held: Study, asked: Study, metrics: tuple[str, str]) -> list[str]:
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


def _find_any_obstacle(engine: Engine, event: StudyExtended) -> str | None:
    return find_obstacle(engine, event) or _find_futility(engine, event)


def _find_futility(engine: Engine, event: StudyExtended) -> str | None:
    """Why a legal extension would have no effect with this scheduler."""
    recipe: Recipe = engine.study.scheduler
    while isinstance(recipe, Rush):
        recipe = recipe.scheduler
    drawn, trials = len(engine.trials), event.limits.trials
    if not engine.drained:
        return None
    raised = event.max_resource is not None
    size = recipe.size if isinstance(recipe, SuccessiveHalving) else None
    if size is not None and not raised and drawn >= size:
        return (
            f"SuccessiveHalving starts size={size} configurations, however many trials there may "
            f"be, and all of them have been drawn"
        )
    stops = isinstance(recipe, (ASHA, PASHA)) and recipe.variant == "stopping"
    if stops and raised and trials is not None and trials + engine.added <= drawn:
        return (
            "with variant='stopping' no trial is trained again once it has been stopped, so a "
            "higher max_resource needs more trials as well"
        )
    return None


def _list_values(limits: Any) -> dict[str, Any]:
    names = {field: name for name, field in FIELDS.items()}
    found = ("trials", "stall", "seconds", "resource", "cost", "target")
    return {names.get(field, field): getattr(limits, field) for field in found}


def _list_limits(study: Study) -> list[str]:
    held = {**_list_values(study.limits), "max_resource": study.scheduler.max_resource}
    return [f"{name}={value:.15g}" for name, value in held.items() if value is not None]
