"""What callbacks are called with: facts about a study, as frozen values.

Every fact carries the numbers that identify it. ``StudyBegan.key``, the trial and the resource
name a report for good: a study that is resumed has the same key, so that a sink can tell what it
has already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rungwise.run import Phase
from rungwise.validation import Goal


@dataclass(frozen=True, slots=True)
class ReportEvent:
    """A report.

    Attributes:
        trial: the trial.
        config: its configuration.
        resource: how much it has been trained.
        value: the metric there.
        decision: ``"Continue"``, ``"Pause"`` or ``"Stop"``.
        best: the best value reported so far, whatever became of its trial since.
        metrics: the other metrics of the report.
        at: when, in seconds since the study began; downtimes are not counted.
    """

    trial: int
    config: Mapping[str, Any]
    resource: float
    value: float
    decision: str
    best: float | None
    metrics: Mapping[str, float] = field(default_factory=dict)
    at: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class StudyBegan:
    """A study begins, or is resumed.

    Attributes:
        key: identifies the study; the same whenever it is resumed. A retraining has its own.
        name: the name of the study file without its ending.
        path: the study file; None if it is not kept.
        metric: the name of the metric.
        goal: ``"min"`` or ``"max"``.
        scheduler: the name of its class.
        searcher: the name of its class.
        max_resource: how far a trial may be trained; None where that is open.
        space: what each parameter may be, in words.
        seed: of the study.
        phase: ``"tune"``, or ``"retrain"`` when a winner is trained in full.
        resumed: whether there are reports already.
        earlier: opens the study file and gives every report that is in it, in order.
        notice: shows a text to the user; may be called from any thread.
    """

    key: str
    name: str
    path: str | None
    metric: str
    goal: Goal
    scheduler: str
    searcher: str
    max_resource: float | None
    space: Mapping[str, str]
    seed: int
    phase: Phase
    resumed: bool
    earlier: Callable[[], Iterator[ReportEvent]]
    notice: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class JobStarted:
    """A job starts: a trial is trained to its next rung.

    Attributes:
        trial: the trial.
        config: its configuration.
        job: the number of the job.
        start: how much the trial has been trained.
        until: where the job ends.
        at: when, in seconds since the study began.
    """

    trial: int
    config: Mapping[str, Any]
    job: int
    start: float
    until: float
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class JobLeft:
    """A job has left its worker.

    Attributes:
        trial: the trial.
        job: the number of the job.
        state: what became of the trial: ``"paused"``, ``"stopped"``, ``"completed"``,
            ``"failed"``, or ``"lost"`` if the job is issued again.
        resource: how much the trial has been trained.
        reason: why it failed; "" otherwise.
        at: when, in seconds since the study began.
    """

    trial: int
    job: int
    state: str
    resource: float
    reason: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class CeilingRaised:
    """The ceiling has risen.

    Attributes:
        level: where it is now.
        reports: how many reports there had been.
        why: as a clause.
        at: when, in seconds since the study began.
    """

    level: float
    reports: int
    why: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class StudyEnded:
    """The study has ended, or stops before its end.

    Attributes:
        how: ``"ended"``; ``"interrupted"`` if it can be resumed; ``"failed"`` after an error.
        why: why it ended, in one sentence.
        best: the best value; None without a finite one.
        best_trial: the trial that has it.
        best_resource: where.
        best_config: its configuration.
        best_problem: why it would not have won over a healthy trial; empty if nothing is wrong.
        trials: the state of every trial.
        reports: how many reports there are.
        resource_spent: the resource trained in total.
        seconds: how long the study has taken, downtimes not counted.
    """

    how: Literal["ended", "interrupted", "failed"]
    why: str
    best: float | None
    best_trial: int | None
    best_resource: float | None
    best_config: Mapping[str, Any]
    trials: Mapping[int, str]
    reports: int
    resource_spent: float
    seconds: float
    best_problem: str = ""
