"""One trial of a study, for reading."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from rungwise.core.reading import ReadableStudy
from rungwise.core.trials import State, Trial
from rungwise.validation import find_sign
from rungwise.views import folds
from rungwise.views.html import make_trial


class TrialView:
    """One trial, for reading.

    Args:
        study: the study it belongs to.
        trial: the trial.
    """

    __slots__ = ("_study", "_trial")

    def __init__(self, study: ReadableStudy, trial: Trial) -> None:
        self._study = study
        self._trial = trial

    def __repr__(self) -> str:
        return repr(self._trial)

    def _repr_html_(self) -> str:
        return make_trial(self)

    @property
    def id(self) -> int:
        """The order of drawing, from 0."""
        return self._trial.id

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration; a copy."""
        return dict(self._trial.config)

    @property
    def state(self) -> str:
        """Its state, in one word."""
        return folds.describe_state(self._trial, folds.find_furthest(self._study))

    @property
    def resource(self) -> float:
        """The furthest resource reported."""
        return self._trial.resource

    @property
    def rung(self) -> int | None:
        """The level of the highest rung that it has reached; None below the first."""
        levels = folds.list_levels(self._study)
        reached = bisect_right(levels, self._trial.resource)
        return levels[reached - 1] if reached else None

    @property
    def note(self) -> str:
        """Any further information, for example why it failed."""
        return self._trial.note

    @property
    def next_level(self) -> int | None:
        """The level that it reaches next if it is trained on; None beyond the last."""
        return folds.next_level(self._study, self._trial)

    def jobs(self) -> list[int]:
        """The numbers of the jobs that trained it, in order."""
        return [job.id for job in self._study.jobs if job.trial == self._trial.id]

    def curve(self) -> list[tuple[float, float]]:
        """[(resource, value), …] in the user's sign; what was not finite is NaN."""
        return folds.curve(self._trial, self._study.study.goal)

    def story(self) -> list[str]:
        """What happened to it, one sentence each."""
        jobs = [self._study.jobs[number] for number in self.jobs()]
        story = self._trial.story(jobs, find_sign(self._study.study.goal))
        if self.state == folds.COMPLETED:
            story[-1] = f"it is now {folds.COMPLETED}: trained to the maximum"
        elif self.state == folds.DIVERGED:
            story[-1] = f"it is now {folds.DIVERGED}: its last value is not finite"
        elif self._trial.state is State.STOPPED:
            note = self._trial.note and f" ({self._trial.note})"
            story[-1] = f"it is now stopped: by the scheduler or on request{note}"
        return story
