"""What is known of a study: the facts that its events have brought about, for reading.

Law of this file: nothing here changes a trial or asks a scheduler to decide; ``engine.py`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from rungwise.core.decisions import Job
from rungwise.core.events import Event, JobEnded, JobFailed, JobLost, Reported
from rungwise.core.extension import ExtensionRecord
from rungwise.core.proposals import Proposals
from rungwise.core.scheduler import Scheduler
from rungwise.core.study import Study
from rungwise.core.study_parts import Asked, Bounds, Ending, Lead, Totals, Work
from rungwise.core.timeline import Rise, Timeline
from rungwise.core.trials import Trial
from rungwise.errors import IllegalEventError
from rungwise.validation import find_sign, must_be

Config = Mapping[str, Any]
Proposer = Callable[[int], "Config | None"]
"""trial id → its configuration, or None when there is nothing left to propose."""


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
        scheduler: decides which trial is trained next, and how far.
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
        self.timeline = Timeline()
        self._sign = find_sign(study.goal)
        self._totals, self._lead, self._end = Totals(), Lead(), Ending()
        self._work, self._asked, self._bounds = Work(), Asked(), Bounds()
        self._read_limits()
        self.proposals = Proposals(study, self.trials, lambda: self.scheduler.levels)
        self.proposer: Proposer = self.proposals if proposer is None else proposer
        self._note_rises(0.0)

    def _read_limits(self) -> None:
        self._bounds.read(self.study.limits, sign=self._sign, added=self._asked.added)

    def _note_rises(self, at: float) -> None:
        """The scheduler has ceilings that the timeline does not know yet."""
        rises = self.timeline.rises
        why = self.scheduler.explain() if rises else ""
        for reports, level in self.scheduler.ceilings[len(rises) :]:
            rises.append(Rise(reports, level, at, self.spent, why if rises else ""))

    # -- snapshots -----------------------------------------------------------------------------

    def _list_facts(self) -> Iterator[tuple[Any, str]]:
        """What it knows besides its study, trials, jobs and proposals: (of which object, name)."""
        yield from ((self, name) for name in ("scheduler", "timeline"))
        for part in (self._totals, self._lead, self._end, self._work, self._asked):
            yield from ((part, each.name) for each in fields(part))
        yield self._bounds, "most"  # no more than were drawn, once there were no others

    def take_state(self) -> dict[str, Any]:
        """What it knows besides its study, trials, jobs and proposals; not a copy."""
        return {name: getattr(owner, name) for owner, name in self._list_facts()}

    def restore_state(
        self, trials: Iterable[Trial], jobs: Iterable[Job], state: Mapping[str, Any]
    ) -> None:
        """Become another engine of the same study, as :meth:`take_state` found it."""
        self.trials.extend(trials)  # the same list: proposals read it
        self.jobs.extend(jobs)
        self._asked.added = state["added"]
        self._read_limits()
        for owner, name in self._list_facts():
            setattr(owner, name, state[name])

    # -- reading -------------------------------------------------------------------------------

    @property
    def reports(self) -> int:
        """The number of reports that brought something new."""
        return self._totals.reports

    @property
    def spent(self) -> float:
        """The resource trained in total; what was trained twice counts twice."""
        return self._totals.spent

    @property
    def cost(self) -> float:
        """The reported costs in total."""
        return self._totals.cost

    @property
    def best(self) -> Trial | None:
        """The trial with the best report so far."""
        return self._lead.best

    @property
    def best_loss(self) -> float:
        """The loss of that report."""
        return self._lead.best_loss

    @property
    def best_resource(self) -> float:
        """The resource of that report."""
        return self._lead.best_resource

    @property
    def leads(self) -> list[tuple[float, int]]:
        """[(the resource spent by then, trial), …] whenever another trial became the best."""
        return self._lead.leads

    @property
    def ended(self) -> str | None:
        """Why the study is over, or None."""
        return self._end.ended

    @property
    def drained(self) -> bool:
        """Whether it ended because nothing was left to do."""
        return self._end.drained

    @property
    def exhausted(self) -> bool:
        """Whether the searcher had nothing left to propose."""
        return self._end.exhausted

    @property
    def requests(self) -> set[str]:
        """The requests that have been applied."""
        return self._asked.requests

    @property
    def extensions(self) -> list[ExtensionRecord]:
        """How the study was extended, in order."""
        return self._asked.extensions

    @property
    def added(self) -> int:
        """The number of configurations added on request, on top of the limits."""
        return self._asked.added

    @property
    def open_jobs(self) -> list[int]:
        """The jobs that are on workers, in the order issued."""
        return list(self._work.open)

    @property
    def leaving_on_request(self) -> set[int]:
        """The trials that are to be stopped, or failed, as soon as their jobs have left."""
        return set(self._work.dismissed)

    def list_jobs(self, trial: int) -> list[Job]:
        """The jobs issued for a trial, in order."""
        return [job for job in self.jobs if job.trial == trial]

    @property
    def version(self) -> int:
        """Grows whenever a worker that got :class:`Wait` should request a job again."""
        return self._work.settled + self.scheduler.version

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
