"""What happens in a study that runs, as callbacks are called with it.

Law of this file: a fact is passed on when it is in the log and was acted on, never before.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from rungwise import views
from rungwise.callbacks import (
    CeilingRaised,
    JobLeft,
    JobStarted,
    ReportEvent,
    StudyBegan,
    StudyEnded,
)
from rungwise.callbacks.feed import CallbackFeed
from rungwise.core.decisions import Decision, Job
from rungwise.core.events import JobFailed, JobLost, Reported
from rungwise.session.part import Left, Part
from rungwise.storage.base import Entry
from rungwise.storage.codec import list_study_types, study_to_json
from rungwise.storage.new_reports import NewReports
from rungwise.storage.study_file import StudyFile, StudyPart, shown
from rungwise.validation import find_sign


class Tracking(Part):
    """Calls callbacks with what happens in one study.

    Args:
        callbacks: what is called.
    """

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self._feed = CallbackFeed(callbacks)
        self._begun = False

    def open(self) -> None:
        self._engine, self._assignments = self.session.engine, self.session.opened.assignments
        self._ceilings = len(self._engine.scheduler.ceilings)
        self._furthest = views.find_furthest(self._engine)
        self.idle = not self._feed

    def begin(self) -> None:
        self._begun = True
        self._feed.tell("begin", self._describe())
        self._feed.wait_until_begun()

    def started(self, job: Job, at: float) -> None:
        if self._begun:
            number = self._assignments.number(job.trial)
            config = dict(job.config)  # the job has not started yet
            fact = JobStarted(number, config, job.id, job.start, job.until, at)
            self._feed.tell("started", fact)

    def reported(self, report: Reported, decision: Decision, trial: int) -> None:
        if self._begun:
            job, best = self._engine.jobs[report.job], self._engine.best_value
            number = self._assignments.number(trial)
            self._feed.tell("reported", partial(make_report, report, decision, job, number, best))
            self._look_at_ceiling(report.at)

    def left(self, fact: Left, trial: int) -> None:  # noqa: ARG002
        if self._begun:
            self._feed.tell("left", self._make_left(fact, self._engine.jobs[fact.job]))

    def step(self, now: float) -> None:  # noqa: ARG002
        for text in self._feed.take_notices():
            self.session.notices.say(text)

    def end(self, *, failed: bool) -> None:
        """Tell that the study ends, or stops; return when callbacks are done with it."""
        if self._begun:
            self._begun = False
            self._feed.tell("ended", self._describe_end(failed=failed))
            self._feed.close(self.session.notice)
        self.step(0.0)

    def _describe_end(self, *, failed: bool) -> StudyEnded:
        how: Literal["ended", "interrupted", "failed"] = "failed" if failed else "interrupted"
        if self.session.is_over:
            how = "ended"
        view = self.session.view(running=False)
        best = view.best
        states = {
            self._assignments.number(trial.id): views.describe_state(trial, self._furthest)
            for trial in self._engine.trials
        }
        return StudyEnded(
            how=how,
            why=self.session.why(),
            best=None if best is None else best.value,
            best_trial=None if best is None else self._assignments.number(best.trial),
            best_resource=None if best is None else best.resource,
            best_config={} if best is None else dict(best.config),
            trials=states,
            reports=view.reports,
            resource_spent=view.resource_spent,
            seconds=self.session.seconds,
            best_problem="" if best is None else best.problem,
        )

    def _describe(self) -> StudyBegan:
        opened = self.session.opened
        study, file = self._engine.study, opened.file
        part, number = opened.part.number, self._assignments.number
        types = list_study_types(study)
        parameters = () if study.space is None else study.space.parameters
        return StudyBegan(
            key=identify(opened.part),
            name=file.path.stem,
            path=shown(file.path) if opened.kept else None,
            metric=self._assignments.metric,
            goal=study.goal,
            scheduler=type(study.scheduler).__name__,
            searcher=type(study.searcher).__name__,
            max_resource=self._assignments.max_resource,
            space={each.name: str(each) for each in parameters},
            seed=study.seed,
            phase=self._assignments.phase,
            resumed=self._engine.reports > 0,
            earlier=lambda: read_reports(file.path, part, types, number),
            notice=self._feed.say,
        )

    def _make_left(self, fact: Left, job: Job) -> JobLeft:
        trial = self._engine.trials[job.trial]
        lost = type(fact) is JobLost
        return JobLeft(
            trial=self._assignments.number(trial.id),
            job=job.id,
            state="lost" if lost else views.describe_state(trial, self._furthest),
            resource=trial.resource,
            reason=fact.reason if type(fact) is JobFailed else "",
            at=fact.at,
        )

    def _look_at_ceiling(self, at: float) -> None:
        trace = self._engine.scheduler.ceilings
        if len(trace) > self._ceilings:
            self._ceilings = len(trace)
            reports, level = trace[-1]
            why = self._engine.scheduler.explain()
            self._feed.tell("ceiling", CeilingRaised(level, reports, why, at))


def make_report(
    fact: Reported, decision: Decision, job: Job, trial: int, best: float | None
) -> ReportEvent:
    """A report as callbacks see it."""
    return ReportEvent(
        trial,
        job.config,
        fact.resource,
        fact.value,
        type(decision).__name__,
        best,
        dict(fact.metrics),
        fact.at,
    )


def read_reports(
    path: Any, part: int, types: tuple[type, ...], number: Callable[[int], int]
) -> Iterator[ReportEvent]:
    """The reports of a study that brought something new, from its file.

    Args:
        path: the study file, which may be written to meanwhile.
        part: the study in it.
        types: recipes and so on beyond those of rungwise that it uses.
        number: the number of a trial for the user.
    """
    with StudyFile(path, mode="read", types=types) as file:
        study = StudyPart(file, part)
        sign = find_sign(study.study.goal)
        yield from _list_reports(study.read_from(), sign, number)


def _list_reports(
    entries: Iterator[Entry], sign: float, number: Callable[[int], int]
) -> Iterator[ReportEvent]:
    reports, best = NewReports(), math.inf
    for entry in entries:
        found = reports.take(entry)
        if found is None:
            continue
        event, decision, job = found
        if math.isfinite(event.value):
            best = min(best, sign * event.value)
        shown_best = sign * best if math.isfinite(best) else None
        yield make_report(event, decision, job, number(job.trial), shown_best)


def identify(part: StudyPart) -> str:
    """What identifies a study for good; a file of an earlier version has none, and one is made."""
    about = part.file.about
    key = about.key
    if not key:
        text = json.dumps([about.created, study_to_json(part.file.log.study)], sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{key}-retrain-{part.number}" if part.number else key
