"""What is known of a study: the facts that its events have brought about, for reading.

Law of this file: nothing here changes a trial or asks a scheduler to decide; ``engine.py`` does.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rungwise.core.decisions import Job
from rungwise.core.events import Event, JobEnded, JobFailed, JobLost, Reported
from rungwise.core.extension import ExtensionRecord
from rungwise.core.limits import Limits
from rungwise.core.proposals import Proposals
from rungwise.core.scheduler import Scheduler
from rungwise.core.study import Study
from rungwise.core.timeline import Rise, Timeline
from rungwise.core.trials import Cause, Trial
from rungwise.errors import IllegalEventError
from rungwise.validation import must_be

Config = Mapping[str, Any]
Proposer = Callable[[int], "Config | None"]
"""trial id → its configuration, or None when there is nothing left to propose."""


STATE = (
    "scheduler",
    "reports",
    "spent",
    "cost",
    "ended",
    "best",
    "best_loss",
    "best_resource",
    "leads",
    "drained",
    "exhausted",
    "added",
    "extensions",
    "timeline",
    "requests",
    "_open",
    "_lost",
    "_dismissed",
    "_cut",
    "_settled",
    "_newest_leader",
    "_unimproved",
    "_stalled",
    "_limit",
)
"""What an engine knows besides its study, trials, jobs and proposals; the rest follows from it."""


class StudyState:
    """One study, as far as it has come.

    Args:
        study: what the study is.
        proposer: where configurations come from, instead of the study's initial ones and its
            searcher (a replay takes them from the log).

    Attributes:
        study: what the study is, its limits and its maximum as they are now.
        trials: every trial drawn, by id.
        jobs: every job issued, by id.
        reports: the number of reports that brought something new.
        spent: the resource trained in total; what was trained twice counts twice.
        ended: why the study is over, or None. These clauses are part of the log (``Done``), and
            a replay compares them: their words must not change.
        drained: whether it ended because nothing was left to do.
        exhausted: whether the searcher had nothing left to propose.
        extensions: how the study was extended, in order.
        added: the number of configurations added on request, on top of the limits.
        requests: the requests that have been applied.
        leads: [(the resource spent by then, trial), …] whenever another trial became the best.
        timeline: when jobs ran, when the best improved, and when and why the ceiling rose.
        proposals: the study's own: its initial configurations and its searcher.
        proposer: where the next configuration comes from.
    """

    def __init__(self, study: Study, proposer: Proposer | None) -> None:
        self.study = study
        self.trials: list[Trial] = []
        self.jobs: list[Job] = []
        self.scheduler: Scheduler = study.scheduler.build(trials=study.limits.trials)
        must_be("scheduler", self.scheduler, Scheduler, "what the recipe's method build returns")
        self.reports = 0
        self.spent: float = 0
        self.cost = 0.0
        self.ended: str | None = None
        self.best: Trial | None = None
        self.best_loss = math.inf
        self.best_resource: float = 0
        self.leads: list[tuple[float, int]] = []
        self.drained = self.exhausted = False
        self.added = 0
        self.extensions: list[ExtensionRecord] = []
        self.timeline = Timeline()
        self._sign = 1.0 if study.goal == "min" else -1.0
        self._open: dict[int, Trial] = {}
        self._lost: deque[Trial] = deque()
        self.requests: set[str] = set()
        self._dismissed: dict[int, Cause] = {}  # on request, and their jobs have not left yet
        self._cut: dict[int, Trial] = {}  # paused between rungs by the end of the study
        self._settled = 0
        # The newest trial that has led, and how many have reported or failed for the first time
        # since it took the lead.
        self._newest_leader = -1
        self._unimproved = 0
        self._stalled = False
        self._read_limits(study.limits)
        self.proposals = Proposals(study, self.trials, lambda: self.scheduler.levels)
        self.proposer: Proposer = self.proposals if proposer is None else proposer
        self._note_rises(0.0)

    def _read_limits(self, limits: Limits) -> None:
        self._target = self._to_target(limits)
        self._watched = limits.watches_reports
        self._limit = math.inf if limits.trials is None else limits.trials + self.added
        self._last = self._limit if limits.finish == "paper" else None

    def _to_target(self, limits: Limits) -> float:
        return math.nan if limits.target is None else self._sign * limits.target

    def _note_rises(self, at: float) -> None:
        """The scheduler has ceilings that the timeline does not know yet."""
        rises = self.timeline.rises
        why = self.scheduler.explain() if rises else ""
        for reports, level in self.scheduler.ceilings[len(rises) :]:
            rises.append(Rise(reports, level, at, self.spent, why if rises else ""))

    # -- snapshots -----------------------------------------------------------------------------

    def take_state(self) -> dict[str, Any]:
        """What it knows besides its study, trials, jobs and proposals; not a copy."""
        return {name: getattr(self, name) for name in STATE}

    def restore_state(
        self, trials: Iterable[Trial], jobs: Iterable[Job], state: Mapping[str, Any]
    ) -> None:
        """Become another engine of the same study, as :meth:`take_state` found it."""
        self.trials.extend(trials)  # the same list: proposals read it
        self.jobs.extend(jobs)
        for name in STATE:
            setattr(self, name, state[name])
        self._read_limits(self.study.limits)
        self._limit = state["_limit"]  # no more than were drawn, once there were no others

    # -- reading -------------------------------------------------------------------------------

    @property
    def open_jobs(self) -> list[int]:
        """The jobs that are on workers, in the order issued."""
        return list(self._open)

    @property
    def leaving_on_request(self) -> set[int]:
        """The trials that are to be stopped, or failed, as soon as their jobs have left."""
        return set(self._dismissed)

    def list_jobs(self, trial: int) -> list[Job]:
        """The jobs issued for a trial, in order."""
        return [job for job in self.jobs if job.trial == trial]

    @property
    def version(self) -> int:
        """Grows whenever a worker that got :class:`Wait` should request a job again."""
        return self._settled + self.scheduler.version

    @property
    def best_value(self) -> float | None:
        """The best value reported at any resource, in the user's own sign."""
        return None if self.best is None else self._sign * self.best_loss

    def why(self) -> str:
        """Why the study ended and why the ceiling is where it is, in one sentence."""
        state = "has not ended" if self.ended is None else f"ended because {self.ended}"
        if self.extensions:
            extended = "; ".join(str(each) for each in self.extensions)
            state += f", after it had been extended ({extended})"
            if self.drained and self.extensions[-1].reports == self.reports:
                state += ", which trained nothing more: a further promotion needs more trials"
        return f"The study {state}; {self.scheduler.explain()}."

    # -- errors --------------------------------------------------------------------------------

    def _not_open(self, event: Reported | JobEnded | JobFailed | JobLost) -> IllegalEventError:
        history = self._find_history(event)
        if not history:
            return IllegalEventError(event, f"no job {event.job!r} was ever issued")
        return IllegalEventError(event, f"job {event.job} has left its worker", history)

    def _find_history(self, event: Event) -> list[str]:
        """What happened to the trial that an event is about; empty if there is no such trial."""
        if not isinstance(event, (Reported, JobEnded, JobFailed, JobLost)):
            return []
        if type(event.job) is not int or not 0 <= event.job < len(self.jobs):
            return []
        trial = self.trials[self.jobs[event.job].trial]
        return trial.story(self.list_jobs(trial.id), self._sign)
