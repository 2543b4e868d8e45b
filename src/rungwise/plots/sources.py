"""What figures of a study are drawn from: results, views and engines, each read as a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.simulation import SimulationResult
from rungwise.views import UNNAMED, StudyView, find_view

RULE = "it must be what came of a study: rungwise.simulate(…), tune(…), load(…) or replay(…)"


@dataclass(frozen=True, slots=True)
class Leg:
    """One job: who was trained from where to where.

    Attributes:
        name: who, as a person says it.
        start: the resource it started from.
        end: the resource it got to.
        best: whether it was the one that won in the end.
    """

    name: str
    start: float
    end: float
    best: bool


@dataclass(frozen=True, slots=True)
class Course:
    """How a study went.

    Attributes:
        legs: its jobs in the order issued.
        ceilings: [(number of reports so far, level), …], from the first ceiling on.
        epsilons: [(number of reports so far, ε), …].
        reports: how many reports there were.
        metric: what its values are.
        cut: how much of the legs drawn was not trained, because the study ended.
    """

    legs: Sequence[Leg]
    ceilings: Sequence[tuple[int, float]]
    epsilons: Sequence[tuple[int, float]]
    reports: int
    metric: str
    cut: float = 0


def read_course(source: Any) -> Course:
    """How a study went, whatever it is the result of."""
    if isinstance(source, SimulationResult):
        return _of_simulation(source)
    view = find_view(source)
    if view is not None:
        return _of_view(view)
    raise InvalidArgumentError("result", source, RULE)


def read_courses(results: Any) -> dict[str, Course]:
    """Several studies by their labels; a single one has an empty label."""
    if not isinstance(results, Mapping):
        return {"": read_course(results)}
    if not results:
        raise InvalidArgumentError("results", results, "there must be one at least")
    return {str(label): read_course(result) for label, result in results.items()}


def legs_known(course: Course) -> None:
    """Refuse a course whose jobs mostly ended before their goals, no one knows where."""
    drawn = sum(leg.end - leg.start for leg in course.legs)
    if course.cut > drawn / 2:
        told = Words(f"of jobs that were to train {drawn:,g} and trained {drawn - course.cut:,g}")
        rule = (
            "it must tell where each of them ended: keep a log with simulate(…, log=log) and draw "
            "rungwise.replay(log)"
        )
        raise InvalidArgumentError("result", told, rule)


def _of_simulation(result: SimulationResult) -> Course:
    best = None if result.best is None else result.best.row
    legs = [Leg(f"row {row}", start, end, row == best) for row, start, end in result.jobs]
    cut = sum(leg.end - leg.start for leg in legs) - result.resource_spent
    return Course(legs, result.ceilings, result.epsilons, result.reports, UNNAMED, cut)


def _of_view(view: StudyView) -> Course:
    best = None if view.best is None else view.best.trial
    jobs = view.jobs()
    # A leg ended where the next one of its trial started, the last one where the trial stands.
    ends = {trial: view.trial(trial).resource for trial, _, _ in jobs}
    legs = []
    for trial, start, _ in reversed(jobs):
        legs.append(Leg(f"trial {trial}", start, ends[trial], trial == best))
        ends[trial] = start
    legs.reverse()
    return Course(legs, view.ceilings, view.epsilons, view.reports, view.metric)
