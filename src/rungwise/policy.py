"""What the messages of a backend mean: retries, timeouts, repeated reports, recalls.

Law of this file: it is the only place that turns messages of a backend into events for the engine,
so that the same rules hold on every backend. It reads no clock: the driver passes the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rungwise.backends import messages
from rungwise.backends.base import make_legible
from rungwise.core.decisions import CONTINUE, Decision, Job
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported
from rungwise.core.failures import Failure
from rungwise.core.trials import Trial
from rungwise.outages import IN_A_ROW, OutageWatch, find_cause
from rungwise.timeouts import JobTimer, Timeouts

Fact = Reported | JobEnded | JobFailed | JobLost

REASON, TRACE = 500, 16 * 1024
"""How many characters are kept of a reason, and of a traceback."""

WORKER_FAULTS = 10
"""So many times in a row a trial may lose its worker for free, without getting any further.

Then it may well be the trial that takes its worker down, and the next time counts as a failure.
"""

HALTED = "it was halted"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a user decides about failures.

    Attributes:
        retries: how often a trial is retried after failures without progress between them.
        trial_timeout: the longest time that a job may run, in seconds.
        report_timeout: the longest time that a job may send nothing, in seconds.
        drop: whether a trial that fails more often is given up; if not, its job counts as
            lost, so that a study that stops because of it can be resumed.
    """

    retries: int = 0
    trial_timeout: float | None = None
    report_timeout: float | None = None
    drop: bool = True


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


@dataclass(slots=True)
class Outage:
    """Why the surroundings of a study are held to have failed, and what that has cost.

    Attributes:
        cause: in words.
        spared: the trials that failed of it, which are not marked as failed.
    """

    cause: str
    spared: set[int]


def count_failures(
    failures: Iterable[Failure], trials: Sequence[Trial]
) -> tuple[Counter[int], list[int]]:
    """The failures of a study that goes on: those since a trial last got further count.

    Args:
        failures: all that are known.
        trials: the trials of the study.

    Returns:
        How often each trial has failed, and which trials an outage has spared.
    """
    recent = [each for each in failures if each.resource >= trials[each.trial].resource]
    attempts = Counter(failure.trial for failure in recent if not failure.spared)
    return attempts, [failure.trial for failure in recent if failure.spared]


def _ignore(*_: Any) -> None:
    pass


def _find_nothing() -> str | None:
    return None


class Policy:
    """Judges messages.

    Args:
        engine: the study.
        rules: what a user decides.
        attempts: how often each trial has failed since it last got further.
        find_start: where a job starts to train: at its checkpoint, or at 0 without one.
        on_failure: called with every failure, and whether it is retried.
        on_repeat: called with the trial of a job that reports what was reported before.
        on_notice: called with what a person should know.
        find_problem: called when a trial is about to be marked as failed: what is wrong with the
            surroundings, where that can be checked (a folder that cannot be written).
        spared: trials that an earlier outage has spared, and that got no further since.

    Attributes:
        watches_time: whether there are timeouts, so that :meth:`overdue` has anything to check.
        outage: set once the surroundings are held to have failed: the study is to stop.
        unsettled: whether :meth:`settle` has anything to do.
    """

    def __init__(
        self,
        engine: Engine,
        rules: Rules | None = None,
        *,
        attempts: Mapping[int, int] | None = None,
        find_start: Callable[[Job], float] = lambda job: job.start,
        on_failure: Callable[[Failure, bool], None] = _ignore,
        on_repeat: Callable[[int], None] = _ignore,
        on_notice: Callable[[str], None] = _ignore,
        find_problem: Callable[[], str | None] = _find_nothing,
        spared: Iterable[int] = (),
    ) -> None:
        self._engine = engine
        self._rules = rules = Rules() if rules is None else rules
        self._timeouts = Timeouts(rules.trial_timeout, rules.report_timeout)
        self.watches_time = self._timeouts.any
        self._attempts = Counter(attempts)
        self._lost_workers: Counter[int] = Counter()  # by trial, since it last got further
        self._again = 0.0  # trained a second time, and not in the log yet
        self._find_start = find_start
        self._on_failure = on_failure
        self._on_repeat = on_repeat
        self._on_notice = on_notice
        self._work: dict[int, _Work] = {}
        self._find_problem = find_problem
        self._spared_before = frozenset(spared)
        self._watch = OutageWatch()
        self._held: dict[int, Failure] = {}  # by job, until it is known whose fault they are
        self._due: list[int] = []  # of these, those that are the trials' own
        self.outage: Outage | None = None
        self.unsettled = False
        self._recalled = False
        self._handlers: dict[type, Callable[[Any, float], Fact | Answer | None]] = {
            messages.Ended: self._ended,
            messages.Crashed: self._crashed,
            messages.Saved: self._note_sign_of_life,
            messages.Notice: self._note_sign_of_life,
            messages.Printed: lambda *_: None,
        }

    # -- the driver's side ---------------------------------------------------------------------

    def started(self, job: Job) -> None:
        """A job was given to a slot."""
        begin = self._find_start(job) if job.start else 0
        self._work[job.id] = _Work(job, self._timeouts.start(), begin)
        self._watch.started(job.id, job.trial)

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
        if go_on and self._recalled:
            work.recalled, go_on = True, False
        return go_on

    def is_current(self, message: messages.Message) -> bool:
        """Whether a message is not of a job that has left."""
        return message.job is None or message.job in self._work

    # -- leaving -------------------------------------------------------------------------------

    def recall(self) -> None:
        """Let every job leave at its next report; it counts as lost, to be issued again."""
        self._recalled = True

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
            work.recalled = self._recalled
            if message.resource <= work.job.start:
                work.repeats = True
                self._count_repeated(work, message.resource)
                self._on_repeat(work.job.trial)
            return Answer(message.job, go_on=not self._recalled)
        if self._attempts or self._lost_workers:  # earlier failures do not count any more
            self._attempts.pop(work.job.trial, None)
            self._lost_workers.pop(work.job.trial, None)
        work.reports += 1
        if self._watch.pending:
            self._note_health(self._watch.reported(message.job, work.reports))
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
            self._watch.left(message.job)
            return JobLost(message.job, now)
        self._note_health(self._watch.ended(message.job))
        return JobEnded(message.job, now)

    def _crashed(self, message: messages.Crashed, now: float) -> Fact | None:
        work = self._work.pop(message.job, None)
        if work is None:
            return None
        if work.leaving == HALTED:
            self._watch.left(message.job)
            return JobEnded(message.job, now) if work.settled else JobLost(message.job, now)
        if work.leaving is not None:
            message.reason = work.leaving
        elif message.fault == "worker" and self._is_free(work.job.trial):
            self._watch.left(message.job)
            self._on_notice(
                f"trial {work.job.trial}: {message.reason}; its job is issued again, which costs "
                f"no retry"
            )
            return JobEnded(message.job, now) if work.settled else JobLost(message.job, now)
        return self._failed(work, message, now)

    def _is_free(self, trial: int) -> bool:
        """Whether losing a worker once more costs the trial no retry."""
        self._lost_workers[trial] += 1
        return self._lost_workers[trial] <= WORKER_FAULTS

    def _failed(self, work: _Work, message: messages.Crashed, now: float) -> Fact | None:
        job, reason = work.job, make_legible(message.reason, REASON)
        cause = find_cause(reason, message.output)
        self._count_in_a_row(work, reason, recognised=cause is not None)
        if work.settled or self._recalled:
            # It was leaving: an error then does not undo its last report. A Ctrl-C may also have
            # reached what it started itself (a program, data loaders), which is no fault of its
            # own; an error that is comes back when the study is resumed.
            if work.settled:
                what = "failed after its last report, and the report is kept"
            else:
                what = "failed while the study was stopping; its job will be issued again"
                if self.outage is not None:
                    self.outage.spared.add(job.trial)
            self._on_notice(f"trial {job.trial} {what}: {reason}")
            return JobEnded(job.id, now) if work.settled else JobLost(job.id, now)
        trace = make_legible(message.trace, TRACE)
        failure = Failure(job.id, job.trial, work.resource, now, reason, trace, message.output)
        # Every report that gets further sets the count to 0 again.
        self._attempts[job.trial] += 1
        again = self._attempts[job.trial] <= self._rules.retries
        if again or not self._rules.drop:
            self._on_failure(failure, again)
            return JobLost(job.id, now)
        return self._judge_or_hold(failure, now, recognised=cause is not None)

    # -- outages -------------------------------------------------------------------------------

    @property
    def _watches(self) -> bool:
        """Whether the surroundings are judged: only where they have worked before."""
        return self._rules.drop and self._engine.reports > 0

    def _count_in_a_row(self, work: _Work, reason: str, *, recognised: bool) -> None:
        """Count a failure, and stop the study if too many trials have failed in a row."""
        if not self._watches:
            self._watch.left(work.job.id)
            return
        row = self._watch.failed(work.job.id, work.reports, recognised=recognised)
        if row >= IN_A_ROW:
            self._declare(f"{row} different trials failed in a row, the last with {reason}")

    def _note_health(self, judged: list[int]) -> None:
        """These failures are known to be the trials' own."""
        self._due += [job for job in judged if job in self._held]

    def _declare(self, cause: str) -> None:
        if self.outage is None and not self._recalled:
            self.outage, self.unsettled = Outage(cause, set()), True
            self.recall()

    def _judge_or_hold(self, failure: Failure, now: float, *, recognised: bool) -> Fact | None:
        """Mark a trial as failed, unless its surroundings may have caused that."""
        if not self._watches:
            return self._judge_failure(failure, now)
        problem = self._find_problem()
        if problem is not None:
            self._declare(problem)
            return self._spare(failure, now)
        if not self._watch.is_to_be_held(recognised=recognised):
            return self._judge_failure(failure, now)
        self._held[failure.job], self.unsettled = failure, True
        self._on_notice(
            f"trial {failure.trial} failed at resource {failure.resource:g}: {failure.reason} (it "
            f"counts as failed only once other trials succeed)"
        )
        return None

    def _judge_failure(self, failure: Failure, now: float) -> Fact:
        self._on_failure(failure, False)
        return JobFailed(failure.job, failure.reason, now)

    def _spare(self, failure: Failure, now: float) -> Fact:
        if self.outage is not None:
            self.outage.spared.add(failure.trial)
        self._on_failure(replace(failure, spared=True), False)
        return JobLost(failure.job, now)

    def settle(self, now: float, *, stalled: bool) -> list[Fact]:
        """Events for failures that were held back, where it is known now whose fault they are.

        Args:
            now: the time of the poll.
            stalled: whether nothing runs and nothing can be started until they are settled.
        """
        due, self._due = self._due, []
        if stalled and not self._recalled:
            if self._watch.is_outage_at_the_end(self._spared_before):
                reason = next(reversed(self._held.values())).reason
                self._declare(f"the last trials all failed, the last of them with {reason}")
            else:
                self._watch.clear()
                due = list(self._held)
        if self._recalled:
            held, self._held = self._held, {}
            return [self._spare(failure, now) for failure in held.values()]
        found = [self._held.pop(job, None) for job in due]
        self.unsettled = bool(self._held)
        return [self._judge_failure(failure, now) for failure in found if failure is not None]

    @property
    def waits(self) -> bool:
        """Whether failures are held back, and nothing runs that could settle them."""
        return bool(self._held) and not self._work
