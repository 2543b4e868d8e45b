"""Folds for reading a study: the leaderboard, the rungs, the ceiling, curves.

Law of this file: it reads and changes nothing. What it returns comes from the trials' own reports
and from what schedulers publish (their ladder, their traces), so it holds for every scheduler and
at any time during a study.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from heapq import nsmallest
from operator import attrgetter
from pathlib import Path
from typing import Any

from rungwise.checkpoints import RemoteCheckpoint
from rungwise.core.codec import jsonable
from rungwise.core.ladder import Ladder
from rungwise.core.reading import ReadableStudy
from rungwise.core.scheduler import Winner
from rungwise.core.trials import State, Trial
from rungwise.validation import Goal, find_sign
from rungwise.views.html import make_best, make_leaderboard
from rungwise.views.winners import Key, Record, find_record, has_diverged, list_dismissed


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the leaderboard.

    Attributes:
        rank: its place, from 1.
        trial: the trial's id.
        value: the value that it is ranked by, in the user's sign: the one at the highest rung that
            it has reached (``winner="top"``), or its best at any resource (``winner="best"``); None
            if that is not finite.
        resource: where that value was reported.
        reached: the furthest resource it reported, 0 before its first report.
        rung: the level of the highest rung it reached, None below the first.
        state: its state, in one word, see :func:`describe_state`.
        config: its configuration.
        note: any further information, for example why it failed.
        problem: why it cannot win while a healthy trial reported; empty if it can.
    """

    rank: int
    trial: int
    value: float | None
    resource: float | None
    reached: float
    rung: int | None
    state: str
    config: Mapping[str, Any]
    note: str
    problem: str = ""


class Leaderboard(list[Row]):
    """The rows of a leaderboard; a notebook shows them as a table.

    Args:
        rows: the rows.
        metric: the name of what is measured.
    """

    def __init__(self, rows: Iterable[Row] = (), metric: str = "value") -> None:
        super().__init__(rows)
        self.metric = metric

    def _repr_html_(self) -> str:
        return make_leaderboard(self, self.metric)


@dataclass(frozen=True, slots=True)
class BestTrial:
    """The best configuration found.

    Attributes:
        trial: its number.
        config: the configuration.
        value: the value that it is ranked by, see :class:`Row`.
        resource: where that value was reported.
        peak_value: the best value that it has ever reported.
        peak_resource: where that was.
        checkpoint: the folder of a checkpoint, if one was kept: that of this value if it is there,
            otherwise the last one.
        checkpoint_resource: how far that checkpoint was trained.
        problem: why it would not have won over a healthy trial: it failed, diverged, or was stopped
            on request, and so did all others; empty if nothing is wrong with it.
    """

    trial: int
    config: Mapping[str, Any]
    value: float
    resource: float
    peak_value: float | None = None
    peak_resource: float | None = None
    checkpoint: Path | RemoteCheckpoint | None = None
    checkpoint_resource: float | None = None
    problem: str = ""

    def _repr_html_(self) -> str:
        return make_best(self)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        found: dict[str, Any] = jsonable({name: getattr(self, name) for name in _names(self)})
        return found


@dataclass(frozen=True, slots=True)
class RungView:
    """One rung, for display.

    Attributes:
        level: its resource.
        entered: how many trials were trained at least to this level.
        waiting: how many of them are paused here and were not promoted (yet).
        running_to: how many running jobs reach it next.
        best: the best value reported here, in the user's sign; None if none was finite.
    """

    level: int
    entered: int
    waiting: int
    running_to: int
    best: float | None


@dataclass(frozen=True, slots=True)
class RankedTrial:
    """A trial with what it is ranked by, for readers that keep the order themselves.

    Attributes:
        key: smaller is better, see :class:`rungwise.views.winners.Record`.
        row: as in the leaderboard, but without a rank, which is 0.
        at_rungs: its value at each rung that it has reached; None where that is not finite.
    """

    key: Key
    row: Row
    at_rungs: list[float | None]


@dataclass(frozen=True, slots=True)
class JobView:
    """One job.

    Attributes:
        trial: the trial that it trained.
        start: from where.
        until: how far.
        slot: where it is drawn: the first worker that was free.
        issued: when it was issued, in seconds of the study.
        left: when it left its worker; NaN while it has not.
        outcome: one of :data:`rungwise.core.timeline.OUTCOMES`.
    """

    trial: int
    start: float
    until: float
    slot: int
    issued: float
    left: float
    outcome: str


def read_job(engine: ReadableStudy, number: int) -> JobView:
    """One job, by its number."""
    job, timeline = engine.jobs[number], engine.timeline
    times = timeline.starts[number], timeline.ends[number]
    slot, outcome = timeline.slots[number], timeline.outcome(number)
    return JobView(job.trial, job.start, job.until, slot, *times, outcome)


def list_rows(
    engine: ReadableStudy, numbers: Iterable[int], *, winner: Winner = "best"
) -> list[RankedTrial]:
    """Some trials, each with what it is ranked by and its values at the rungs."""
    levels, dismissed = list_levels(engine), list_dismissed(engine.timeline.requests)
    sign, furthest = find_sign(engine.study.goal), find_furthest(engine)
    found = []
    for number in numbers:
        trial = engine.trials[number]
        record = find_record(trial, levels, winner, dismissed)
        row = _row(0, trial, record, sign, levels, describe_state(trial, furthest))
        below = levels[: bisect_right(levels, trial.resource)]
        losses = (trial.losses[bisect_left(trial.resources, level)] for level in below)
        found.append(RankedTrial(record.key, row, [_value(loss, sign) for loss in losses]))
    return found


def leaderboard(
    engine: ReadableStudy, limit: int | None = None, *, winner: Winner = "best"
) -> list[Row]:
    """The trials from best to worst, by :func:`rungwise.views.winners.find_record`.

    Ties go to the trial drawn first. Trials without a finite value come last, in the order drawn.

    Args:
        engine: the study.
        limit: how many rows at most; all by default.
        winner: which trial wins.
    """
    levels, dismissed = list_levels(engine), list_dismissed(engine.timeline.requests)
    records = (find_record(trial, levels, winner, dismissed) for trial in engine.trials)
    by_key = attrgetter("key")
    best = sorted(records, key=by_key) if limit is None else nsmallest(limit, records, key=by_key)
    sign, furthest = find_sign(engine.study.goal), find_furthest(engine)

    def row(rank: int, record: Record) -> Row:
        trial = engine.trials[record.key[-1]]
        return _row(rank, trial, record, sign, levels, describe_state(trial, furthest))

    return [row(rank, record) for rank, record in enumerate(best, start=1)]


def rungs(engine: ReadableStudy) -> list[RungView]:
    """The rungs from the lowest to the ceiling (or to the highest one reached, if that is higher).

    A trial that failed on its way to a rung has not reached it.
    """
    levels = list_levels(engine)
    n = len(levels)
    entered, waiting, running = [0] * n, [0] * n, [0] * n
    best = [math.inf] * n
    for trial in engine.trials:
        reached = bisect_right(levels, trial.resource)
        for k in range(reached):
            entered[k] += 1
            loss = trial.losses[bisect_left(trial.resources, levels[k])]
            best[k] = min(best[k], loss)
        if reached and trial.state in _PAUSED and trial.resource >= trial.until:
            waiting[reached - 1] += 1
    for number in engine.open_jobs:
        trial = engine.trials[engine.jobs[number].trial]
        goal = next_level(engine, trial)
        if trial.state is State.RUNNING and goal is not None:
            running[bisect_left(levels, goal)] += 1
    top = max((k for k in range(n) if entered[k] or running[k]), default=-1)
    highest = ceiling(engine)
    shown = n if highest is None else max(bisect_right(levels, highest), top + 1)
    sign = find_sign(engine.study.goal)
    return [
        RungView(levels[k], entered[k], waiting[k], running[k], _value(best[k], sign))
        for k in range(shown)
    ]


def best(engine: ReadableStudy, *, winner: Winner = "best") -> BestTrial | None:
    """The best configuration so far; None while no trial has reported a finite value."""
    found = _find_leader(engine) if winner == "best" else None
    if found is None:
        for row in leaderboard(engine, 1, winner=winner):
            if row.value is not None and row.resource is not None:
                found = row.trial, row.value, row.resource, row.problem
    if found is None:
        return None
    number, value, resource, problem = found
    trial = engine.trials[number]
    peak = min(trial.losses)
    at = trial.resources[trial.losses.index(peak)]
    peak_value = find_sign(engine.study.goal) * peak
    config = dict(trial.config)
    return BestTrial(number, config, value, resource, peak_value, at, problem=problem)


def _find_leader(engine: ReadableStudy) -> tuple[int, float, float, str] | None:
    """The trial with the best value of all, if it is healthy: then no other has to be looked at."""
    trial, value = engine.best, engine.best_value
    if trial is None or value is None:
        return None
    record = find_record(trial, (), "best", list_dismissed(engine.timeline.requests))
    return None if record.problem else (trial.id, value, engine.best_resource, "")


def ceiling(engine: ReadableStudy) -> float | None:
    """How far trials may be trained now; None if the scheduler has no ceiling."""
    trace = engine.scheduler.ceilings
    return trace[-1][1] if trace else None


def epsilon(engine: ReadableStudy) -> float | None:
    """The ε of the last check; None if the criterion has none, or did not need it yet."""
    trace = engine.scheduler.epsilons
    return trace[-1][1] if trace else None


def curve(trial: Trial, goal: Goal) -> list[tuple[float, float]]:
    """[(resource, value), …] in the user's sign; what was not finite is NaN."""
    sign = find_sign(goal)
    pairs = zip(trial.resources, trial.losses, strict=True)
    return [(resource, _finite(loss, sign)) for resource, loss in pairs]


def common_ladder(engine: ReadableStudy) -> Ladder | None:
    """The ladder, if every trial starts at its lowest rung; None otherwise.

    The brackets of Hyperband use only parts of their ladder.
    """
    return engine.scheduler.ladder if engine.scheduler.brackets is None else None


def list_levels(engine: ReadableStudy) -> Sequence[int]:
    """The levels of all rungs; without a ladder, the resources at which jobs ended."""
    ladder = engine.scheduler.ladder
    return _levels_met(engine) if ladder is None else ladder.levels


def next_level(engine: ReadableStudy, trial: Trial) -> int | None:
    """The level that a trial reaches next if it is trained on; None beyond the last.

    It is not always the end of its job: if trials run until they are stopped, jobs go to the end
    of the ladder.
    """
    levels = list_levels(engine)
    brackets = engine.scheduler.brackets
    if brackets is not None:  # a bracket of Hyperband uses only part of the ladder
        levels = brackets[trial.bracket].ladder.levels
    above = bisect_right(levels, trial.resource)
    return levels[above] if above < len(levels) else None


COMPLETED, DIVERGED = "completed", "diverged"
"""States that only a person distinguishes: trained as far as a trial may be; the last value was NaN
or infinite."""

_UNDER_WAY = (State.NEW, State.RUNNING, State.LOST, State.FAILED)


def find_furthest(engine: ReadableStudy) -> float:
    """How far a trial may be trained at most; infinite if that is not known."""
    maximum = engine.study.scheduler.max_resource
    return math.inf if maximum is None else maximum


def describe_state(trial: Trial, furthest: float) -> str:
    """The state of a trial in one word: that of the engine, or one that only a person needs.

    For the engine a trial is stopped once it may not be trained on. A person distinguishes whether
    it was stopped early or got to the end, and whether it diverged on its way.
    """
    if trial.state not in _UNDER_WAY and has_diverged(trial.losses):
        return DIVERGED
    done = trial.state is State.STOPPED and trial.resource >= furthest
    return COMPLETED if done else trial.state.value


_PAUSED = (State.PAUSED, State.PAUSING)


def _levels_met(engine: ReadableStudy) -> Sequence[int]:
    return sorted({int(job.until) for job in engine.jobs})


def _row(
    rank: int, trial: Trial, record: Record, sign: float, levels: Sequence[int], state: str
) -> Row:
    reached = bisect_right(levels, trial.resource)
    return Row(
        rank=rank,
        trial=trial.id,
        value=_value(record.loss, sign),
        resource=None if record.place is None else trial.resources[record.place],
        reached=trial.resource,
        rung=levels[reached - 1] if reached else None,
        state=state,
        config=dict(trial.config),
        note=trial.note,
        problem=record.problem,
    )


def _names(value: Any) -> list[str]:
    return [field.name for field in fields(value)]


def _value(loss: float, sign: float) -> float | None:
    return sign * loss if loss < math.inf else None


def _finite(loss: float, sign: float) -> float:
    value = _value(loss, sign)
    return math.nan if value is None else value
