"""The record of a study that is over: what readers need, without the engine.

An engine holds what its next decision would need (rungs, crossings, proposals) and cannot be
pickled; a result that is kept after the study should not hold that.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

from rungwise.core.decisions import Job
from rungwise.core.extension import ExtensionRecord
from rungwise.core.limits import Limits
from rungwise.core.reading import ReadableScheduler, ReadableStudy
from rungwise.core.scheduler import CheckRecord, Recipe, Scheduler, Trace
from rungwise.core.timeline import Timeline
from rungwise.core.trials import State, Trial
from rungwise.validation import Goal, find_sign


@dataclass(frozen=True, slots=True)
class EndedPlan:
    """The plan of the study; see :class:`rungwise.core.reading.ReadablePlan`."""

    scheduler: Recipe
    limits: Limits
    goal: Goal
    space: ClassVar[None] = None
    searcher: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class NoScheduler(Recipe):
    """Recipe and scheduler of a study that rungwise did not schedule."""

    max_resource: int | None = None
    ceilings: Trace = ()
    epsilons: Trace = ()
    ladder: ClassVar[None] = None
    brackets: ClassVar[None] = None
    checks: ClassVar[tuple[CheckRecord, ...]] = ()

    def build(self, *, trials: int | None) -> Scheduler:
        """There is nothing to build."""
        raise TypeError(f"no scheduler has run these {trials} trials, so none can be built")

    def limited_to(self, max_resource: int) -> NoScheduler:
        """The same up to a maximum."""
        return NoScheduler(max_resource)

    def explain(self) -> str:
        """Nothing was decided."""
        return "nothing was scheduled"


class EndedScheduler:
    """What a scheduler published."""

    def __init__(self, scheduler: ReadableScheduler) -> None:
        self.ceilings: Trace = tuple(scheduler.ceilings)
        self.epsilons: Trace = tuple(scheduler.epsilons)
        self.explanation = scheduler.explain()
        self.ladder = scheduler.ladder
        self.checks: Sequence[CheckRecord] = tuple(scheduler.checks)
        brackets = scheduler.brackets
        self.brackets = brackets and [SimpleNamespace(ladder=one.ladder) for one in brackets]

    def explain(self) -> str:
        """Why the ceiling is where it is."""
        return self.explanation


@dataclass(frozen=True, slots=True)
class EndedStudy:
    """A study that is over; see :class:`rungwise.core.reading.ReadableStudy`.

    The trials and jobs are those of the engine, not copies: nothing changes them any more.
    """

    study: EndedPlan
    scheduler: EndedScheduler
    trials: Sequence[Trial]
    jobs: Sequence[Job]
    open_jobs: Sequence[int]
    reports: int
    spent: float
    cost: float
    ended: str | None
    best: Trial | None
    best_value: float | None
    best_resource: float
    leads: Sequence[tuple[float, int]]
    explanation: str
    extensions: Sequence[ExtensionRecord] = ()
    timeline: Timeline = field(default_factory=Timeline)

    @classmethod
    def record(cls, engine: ReadableStudy) -> EndedStudy:
        """The record of an engine that will handle no more events."""
        plan = engine.study
        return cls(
            study=EndedPlan(plan.scheduler, plan.limits, plan.goal),
            scheduler=EndedScheduler(engine.scheduler),
            trials=engine.trials,
            jobs=engine.jobs,
            open_jobs=engine.open_jobs,
            reports=engine.reports,
            spent=engine.spent,
            cost=engine.cost,
            ended=engine.ended,
            best=engine.best,
            best_value=engine.best_value,
            best_resource=engine.best_resource,
            leads=engine.leads,
            explanation=engine.why(),
            extensions=tuple(engine.extensions),
            timeline=engine.timeline,
        )

    @classmethod
    def from_curves(
        cls, curves: Iterable[tuple[Mapping[str, Any], Sequence[float]]], goal: Goal, why: str = ""
    ) -> EndedStudy:
        """The record of a study that no engine has run.

        Args:
            curves: (configuration, values after 1, 2, … units of resource) of each trial; a trial
                without values was drawn and never trained.
            goal: whether the values were minimised or maximised.
            why: why the study ended.
        """
        sign = find_sign(goal)
        trials = [_trial(number, *curve, sign) for number, curve in enumerate(curves)]
        ranked = [(min(trial.losses, default=math.inf), trial.id) for trial in trials]
        loss, number = min(ranked, default=(math.inf, 0))
        best = trials[number] if loss < math.inf else None
        reports = sum(len(trial.losses) for trial in trials)
        return cls(
            study=EndedPlan(NoScheduler(), Limits(trials=max(1, len(trials))), goal),
            scheduler=EndedScheduler(NoScheduler()),
            trials=trials,
            jobs=(),
            open_jobs=(),
            reports=reports,
            spent=reports,
            cost=0.0,
            ended=why,
            best=best,
            best_value=None if best is None else sign * loss,
            best_resource=0 if best is None else best.resources[best.losses.index(loss)],
            leads=(),
            explanation=why,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle numbers in a few arrays, not in one object per number: a tenth of the time."""
        others = {name: getattr(self, name) for name in self.__slots__}
        best = None if self.best is None else self.best.id
        jobs = [(job.id, job.trial, job.start, job.until) for job in self.jobs]
        return _unpack, ({**others, "best": best, "jobs": jobs, "trials": ()}, *_pack(self.trials))

    def why(self) -> str:
        """Why the study ended and why the ceiling is where it is."""
        return self.explanation


def _trial(number: int, config: Mapping[str, Any], values: Sequence[float], sign: float) -> Trial:
    losses = (loss if math.isfinite(loss := sign * value) else math.inf for value in values)
    state, end = State.STOPPED if values else State.NEW, len(values)
    curve = range(1, end + 1), losses
    return Trial.recall(number, config, state=state, until=end, resource=end, curve=curve)


_Packed = tuple[list[tuple[Any, ...]], "array[float]", "array[float]"]


def _pack(trials: Sequence[Trial]) -> _Packed:
    """One tuple per trial with all but its curve, and all curves in two arrays."""
    resources, losses = array("d"), array("d")
    for trial in trials:
        resources.extend(trial.resources)
        losses.extend(trial.losses)
    rows = [
        (t.config, t.bracket, t.state, t.until, t.resource, t.note, len(t.losses)) for t in trials
    ]
    return rows, resources, losses


def _unpack(
    fields: dict[str, Any],
    rows: list[tuple[Any, ...]],
    resources: array[float],
    losses: array[float],
) -> EndedStudy:
    trials, start = [], 0
    for number, (config, bracket, state, until, resource, note, length) in enumerate(rows):
        curve = resources[start : start + length], losses[start : start + length]
        known = {"state": state, "until": until, "resource": resource, "note": note}
        trials.append(Trial.recall(number, config, bracket, **known, curve=curve))
        start += length
    jobs = [Job(n, t, dict(trials[t].config), begin, end) for n, t, begin, end in fields["jobs"]]
    best = None if fields["best"] is None else trials[fields["best"]]
    return EndedStudy(**{**fields, "trials": trials, "jobs": jobs, "best": best})
