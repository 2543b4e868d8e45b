"""Whether a study may be extended, and by what.

Law of this file: it reads and changes nothing, so an extension that is refused leaves no trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rungwise.core.events import StudyExtended

if TYPE_CHECKING:
    from rungwise.core.engine import Engine


@dataclass(frozen=True, slots=True)
class ExtensionRecord:
    """That a study was extended, for readers.

    Attributes:
        at: when, in seconds since the study began.
        reports: the number of reports by then.
        trials: the number of trials by then.
        changes: (limit, before, from then on); None stands for no limit.
    """

    at: float
    reports: int
    trials: int
    changes: tuple[tuple[str, float | None, float | None], ...]

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {_show(before)} → {_show(after)}" for name, before, after in self.changes
        )


def record_extension(engine: Engine, event: StudyExtended) -> ExtensionRecord:
    """What an extension changes; called before it takes effect."""
    limits = engine.study.limits
    changes: list[tuple[str, float | None, float | None]] = [
        (name, getattr(limits, name), getattr(event.limits, name))
        for name in ("trials", "stall", "seconds", "resource", "cost", "target")
        if getattr(limits, name) != getattr(event.limits, name)
    ]
    if event.max_resource is not None:
        held = engine.study.scheduler.max_resource
        changes.append(("max_resource", held, event.max_resource))
    return ExtensionRecord(event.at, engine.reports, len(engine.trials), tuple(changes))


def _show(value: float | None) -> str:
    return "no limit" if value is None else f"{value:.15g}"


def find_obstacle(engine: Engine, event: StudyExtended) -> str | None:
    """Why a study cannot be extended like this, as a clause; None if it can."""
    limits = engine.study.limits
    reductions = limits.find_reductions(event.limits, goal=engine.study.goal)
    if reductions:
        return "no limit may get smaller: " + "; ".join(reductions)
    if event.max_resource is None:
        if event.limits == limits:
            return "it changes nothing"
    else:
        obstacle = _find_obstacle_to_maximum(engine, event.max_resource)
        if obstacle is not None:
            return obstacle
    return _find_why_over(engine, event)


def _find_obstacle_to_maximum(engine: Engine, maximum: int) -> str | None:
    held = engine.study.scheduler.max_resource
    if held is None:
        return "the study has no maximum that could be raised"
    if maximum <= held:
        return f"the maximum so far is {held}, and a new one must be above it"
    if engine.open_jobs:
        return "the maximum can be raised only while no job is open: interrupt the study first"
    if not engine.scheduler.raisable:
        name = type(engine.study.scheduler).__name__
        return f"{name} has no method extend of its own, so its maximum cannot be raised"
    return None


def _find_why_over(engine: Engine, event: StudyExtended) -> str | None:
    """Why the study would still be over."""
    if engine.ended is None:
        return None
    why = engine.find_end(event.limits, event.at)
    more = event.max_resource is not None or event.limits.trials != engine.study.limits.trials
    if why is None and engine.drained and not more:
        why = engine.ended
    if why is None and engine.drained and engine.exhausted and event.max_resource is None:
        why = "the space has no further configurations"
    return None if why is None else f"the study would still be over, because {why}"
