"""Make the assignments of a study."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from rungwise.backends.base import make_assignment
from rungwise.core.decisions import Job
from rungwise.core.seeding import generator
from rungwise.core.study import Study
from rungwise.run import Assignment, Phase
from rungwise.session.checkpoint_retention import trial_place
from rungwise.validation import Goal


@dataclass(slots=True)
class AssignmentMaker:
    """Makes assignments from jobs: it holds what all assignments of a study have in common.

    Attributes:
        metric: the name of the metric.
        max_resource: the furthest a trial may go, None when open-ended.
        seed: of the study.
        phase: ``"tune"`` or ``"retrain"``.
        retrained: the trial whose configuration is retrained.
        place: where a trial keeps its files.
        goal: ``"min"`` or ``"max"``.
    """

    metric: str
    max_resource: float | None
    seed: int
    phase: Phase = "tune"
    retrained: int | None = None
    place: Callable[[int], str] = trial_place
    goal: Goal | None = None

    def assign(self, job: Job) -> Assignment:
        """The assignment of a job."""
        trial = self.number(job.trial)
        made = make_assignment(
            job,
            max_resource=self.max_resource,
            metric=self.metric,
            phase=self.phase,
            seed=int(generator(self.seed, "trial", trial).integers(2**31)),
            place=self.place(job.trial),
            goal=self.goal,
        )
        return made if trial == job.trial else dataclasses.replace(made, trial=trial)

    def follow(self, study: Study) -> None:
        """The study may have been extended on request, to a higher maximum."""
        if self.max_resource is not None:
            self.max_resource = study.scheduler.max_resource

    def number(self, trial: int) -> int:
        """The number of a trial for the user: a retraining has the one of the trial it retrains."""
        return trial if self.retrained is None else self.retrained
