"""What the messages of a backend mean: retries, timeouts, repeated reports, recalls.

Law of this file: it is the only place that turns messages of a backend into events for the engine,
so that the same rules hold on every backend. It reads no clock: the driver passes the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from rungwise.backends import messages
from rungwise.backends.base import make_legible
from rungwise.core.decisions import CONTINUE, Decision, Job
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported
from rungwise.core.failures import Failure
from rungwise.session.failures import FailureJudge, Judgement, Rules
from rungwise.timeouts import JobTimer, Timeouts

Fact = Reported | JobEnded | JobFailed | JobLost

REASON, TRACE = 500, 16 * 1024
"""How many characters are kept of a reason, and of a traceback."""

HALTED = "it was halted"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a report that the engine does not need to see."""

    job: int
    go_on: bool


class _Work:
    """A job under way."""

    __slots__ = (
        "begin",
        "job",
        "leaving",
        "recalled",
        "repeats",
        "reports",
        "resource",
        "settled",
        "timer",
    )

    def __init__(self, job: Job, timer: JobTimer, begin: float) -> None:
        self.job = job
        self.timer = timer
        self.begin = begin  # how far it has trained of what is known: from its checkpoint on
        self.resource = job.start  # the furthest that is known of its trial
        self.reports = 0  # of its own that got further
        self.repeats = False  # it has reported what was known before
        self.settled = False  # the engine has decided that enough is known
        self.recalled = False  # its report was answered False though the engine wanted more
        self.leaving: str | None = None  # why it was asked to leave in the middle


def _ignore(*_: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told of what a policy makes of messages.

    Attributes:
        on_failure: called with every failure, and whether it is retried.
        on_repeat: called with the trial of a job that reports what was reported before.
        on_notice: called with what a person should know.
        find_start: where a job starts to train: at its checkpoint, or at 0 without one.
    """

    on_failure: Callable[[Failure, bool], None] = _ignore
    on_repeat: Callable[[int], None] = _ignore
    on_notice: Callable[[str], None] = _ignore
    find_start: Callable[[Job], float] = attrgetter("start")


class Policy:
    """Judges messages.

    Args:
        engine: the study.
        rules: what a user decides about failures.
        failures: judges them; by default one for a study that begins.
        listeners: who is told.

    Attributes:
        failures: judges failures.
        watches_time: whether there are timeouts, so that :meth:`overdue` has anything to check.
    """

    def __init__(
        self,
        engine: Engine,
        rules: Rules | None = None,
        *,
        failures: FailureJudge | None = None,
        listeners: Listeners | None = None,
    ) -> None:
        rules = Rules() if rules is None else rules
        self._engine = engine
        self.failures = FailureJudge(engine, rules) if failures is None else failures
        self._listeners = Listeners() if listeners is None else listeners
        self._timeouts = Timeouts(rules.trial_timeout, rules.report_timeout)
        self.watches_time = self._timeouts.any
        self._drops = rules.drop
        self._again = 0.0  # trained a second time, and not in the log yet
        self._work: dict[int, _Work] = {}
        self._handlers: dict[type, Callable[[Any, float], Fact | Answer | None]] = {
            messages.Ended: self._ended,
            messages.Crashed: self._crashed,
            messages.Saved: self._note_sign_of_life,
            messages.Notice: self._note_sign_of_life,
            messages.Printed: lambda *_: None,
            messages.StartFailed: self._start_failed,
        }

    # -- the driver's side ---------------------------------------------------------------------

    def started(self, job: Job) -> None:
        """A job was given to a slot."""
        begin = self._listeners.find_start(job) if job.start else 0
        self._work[job.id] = _Work(job, self._timeouts.start(), begin)
        self.failures.watch.started(job.id, job.trial)

    def judge(self, message: messages.Message, now: float) -> Fact | Answer | None:
        """What a message means: an event for the engine, an answer, or neither.

        Messages of jobs that have left are ignored: a worker that was cut off may still send some.
        """
        if type(message) is messages.Reported:  # nearly all are
            return self._reported(message, now)
        return self._handlers[type(message)](message, now)

    def decided(self, job: int, decision: Decision) -> bool | None:
        """What to answer to a report that the engine has decided on; None if the job has left."""
        work = self._work.get(job)
        if work is None:
            return None
        go_on = decision is CONTINUE
        work.settled = not go_on
        if go_on and self.failures.stopping:
            work.recalled, go_on = True, False
        return go_on

    def is_current(self, message: messages.Message) -> bool:
        """Whether a message is not of a job that has left."""
        return message.job is None or message.job in self._work

    # -- leaving -------------------------------------------------------------------------------

    def recall(self) -> None:
        """Let every job leave at its next report; it counts as lost, to be issued again."""
        self.failures.stopping = True

    def halt(self) -> list[tuple[int, str]]:
        """Which jobs must leave now, and why; those that were to train further count as lost."""
        return self._ask([(work, HALTED) for work in self._work.values()])

    def dismiss(self, trial: int) -> list[tuple[int, str]]:
        """Which job of a trial must leave, which the engine has stopped on request."""
        found = [work for work in self._work.values() if work.job.trial == trial]
        for work in found:
            work.settled = True
        return self._ask([(work, HALTED) for work in found])

    def overdue(self, now: float) -> list[tuple[int, str]]:
        """Which jobs must leave because they have hung, and why."""
        if not self._timeouts.is_time_to_check(now):
            return []
        found = ((work, self._timeouts.find_overdue(work.timer)) for work in self._work.values())
        return self._ask([(work, why) for work, why in found if why is not None])

    def _ask(self, wanted: list[tuple[_Work, str]]) -> list[tuple[int, str]]:
        asked = [(work, why) for work, why in wanted if work.leaving is None]
        for work, why in asked:
            work.leaving = why
        return [(work.job.id, why) for work, why in asked]

    # -- messages ------------------------------------------------------------------------------

    def _note_sign_of_life(
        self,
        message: messages.Saved | messages.Notice,
        now: float,  # noqa: ARG002
    ) -> None:
        work = None if message.job is None else self._work.get(message.job)
        if work is not None:
            self._timeouts.note_sign_of_life(work.timer)

    def _reported(self, message: messages.Reported, now: float) -> Fact | Answer | None:
        work = self._work.get(message.job)
        if work is None:
            return None
        self._timeouts.note_sign_of_life(work.timer)
        if work.leaving is not None:
            return Answer(message.job, go_on=False)
        if message.resource > work.resource:
            if work.repeats:
                self._count_repeated(work, work.job.start)
            work.resource = message.resource
        elif self._engine.ended is None:
            # An earlier job has reported this resource (no checkpoint): nothing new to log.
            work.recalled = self.failures.stopping
            if message.resource <= work.job.start:
                work.repeats = True
                self._count_repeated(work, message.resource)
                self._listeners.on_repeat(work.job.trial)
            return Answer(message.job, go_on=not work.recalled)
        work.reports += 1
        failures = self.failures
        if failures.attempts or failures.lost_workers:
            failures.note_progress(work.job.trial)
        if failures.watch.pending:
            failures.note_health(failures.watch.reported(message.job, work.reports))
        again, self._again = self._again, 0.0
        return Reported(
            message.job, message.resource, message.value, now, 0.0, message.metrics, again
        )

    def _count_repeated(self, work: _Work, resource: float) -> None:
        """The job has trained up to here what was known before."""
        self._again += max(resource - work.begin, 0.0)
        work.begin = max(resource, work.begin)

    def _ended(self, message: messages.Ended, now: float) -> Fact | None:
        work = self._work.pop(message.job, None)
        if work is None:
            return None
        if work.leaving not in (None, HALTED):
            hung = messages.Crashed(message.job, str(work.leaving), output=message.output)
            return self._failed(work, hung, now)
        if not work.settled and (work.recalled or work.leaving is not None):
            self.failures.watch.left(message.job)
            return JobLost(message.job, now)
        self.failures.note_health(self.failures.watch.ended(message.job))
        return JobEnded(message.job, now)

    def _crashed(self, message: messages.Crashed, now: float) -> Fact | None:
        work = self._work.pop(message.job, None)
        if work is None:
            return None
        if work.leaving == HALTED:
            self.failures.watch.left(message.job)
            return JobEnded(message.job, now) if work.settled else JobLost(message.job, now)
        if work.leaving is not None:
            message.reason = work.leaving
        elif message.fault == "worker" and self.failures.is_free(work.job.trial):
            self.failures.watch.left(message.job)
            self._listeners.on_notice(
                f"trial {work.job.trial}: {message.reason}; its job is issued again, which costs "
                f"no retry"
            )
            return JobEnded(message.job, now) if work.settled else JobLost(message.job, now)
        return self._failed(work, message, now)

    # -- failures ------------------------------------------------------------------------------

    def _start_failed(self, message: messages.StartFailed, now: float) -> None:  # noqa: ARG002
        said = message.in_a_row, message.workers
        self.failures.judge_start(message.how, message.output, *said)

    def _failed(self, work: _Work, message: messages.Crashed, now: float) -> Fact | None:
        job, reason, failures = work.job, make_legible(message.reason, REASON), self.failures
        failures.count(job.id, work.reports, reason, message.output)
        if work.settled or failures.stopping:
            # It was leaving: an error then does not undo its last report. A Ctrl-C may also have
            # reached what it started itself (a program, data loaders), which is no fault of its
            # own; an error that is comes back when the study is resumed.
            if work.settled:
                what = "failed after its last report, and the report is kept"
            else:
                what = "failed while the study was stopping; its job will be issued again"
                if failures.outage is not None:
                    failures.outage.spared.add(job.trial)
            self._listeners.on_notice(f"trial {job.trial} {what}: {reason}")
            return JobEnded(job.id, now) if work.settled else JobLost(job.id, now)
        trace = make_legible(message.trace, TRACE)
        failure = Failure(job.id, job.trial, work.resource, now, reason, trace, message.output)
        return self._follow(failure, failures.judge(failure), now)

    def _follow(self, failure: Failure, judgement: Judgement, now: float) -> Fact | None:
        """Return what follows from a failure, and tell of it."""
        if judgement is Judgement.HELD:
            self._listeners.on_notice(
                f"trial {failure.trial} failed at resource {failure.resource:g}: {failure.reason} "
                f"(it counts as failed only once other trials succeed)"
            )
            return None
        spared = judgement is Judgement.SPARED
        told = replace(failure, spared=True) if spared else failure
        self._listeners.on_failure(told, judgement is Judgement.AGAIN)
        if judgement is Judgement.FAILED and self._drops:
            return JobFailed(failure.job, failure.reason, now)
        return JobLost(failure.job, now)

    def settle(self, now: float, *, stalled: bool) -> list[Fact]:
        """Events for failures that were held back, where it is known now whose fault they are.

        Args:
            now: the time of the poll.
            stalled: whether nothing runs and nothing can be started until they are settled.
        """
        settled = self.failures.settle(stalled=stalled)
        facts = [self._follow(failure, judgement, now) for failure, judgement in settled]
        return [fact for fact in facts if fact is not None]

    @property
    def waits(self) -> bool:
        """Whether failures are held back, and nothing runs that could settle them."""
        return self.failures.holds and not self._work
