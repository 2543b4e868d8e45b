"""Whose fault failures are and what follows: a retry, a failed trial, or the end of the study.

Law of this file: all of it is judged here. A failure is the configuration's own, the function's, or
that of what surrounds the study, and only the last two ever end a study:

- **NaN, infinity and memory** depend on the configuration. They count neither for an outage nor as
  a function that is wrong, so that a study of which part works goes on, however large the rest is.
- **Before the first report** the function is wrong if the last failures were all the same. If they
  differ, or depend on the configuration, it takes :data:`ANY_TRIALS` trials without a report.
- **After it** the surroundings are at fault if too many trials in a row fail (``outages``).
- **Workers** that end before they are ready cost no trial anything, but if none gets ready nothing
  can be trained.

It is pure: it sees which jobs started, reported, ended and failed, in order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from rungwise.core.engine import Engine
from rungwise.core.failures import Failure
from rungwise.core.trials import Trial
from rungwise.errors import WorkerStartError
from rungwise.outages import IN_A_ROW, OutageWatch, depends_on_configuration, find_cause
from rungwise.session.failure_text import find_place

WORKER_FAULTS = 10
"""So many times in a row a trial may lose its worker for free, without getting any further.

Then it may well be the trial that takes its worker down, and the next time counts as a failure.
"""

SAME_FAILURES, SAME_TRIALS = 6, 4
"""The function is wrong if this many failures, of this many trials, were all the same."""

ANY_TRIALS = 15
"""Nothing works if this many trials have failed, whatever they failed of, and none has reported.

Where a share p of the space fails, the first 15 trials all fail with probability p¹⁵: one study in
2,100 at 60 %, one in 210 at 70 %; with 10 trials it would be one in 165 at 60 %. How many workers
there are makes no difference, as jobs that ran already are waited for. Four that fail of the same
error of the function are p⁴: one study in 120 at 30 %, one in 8 at 60 %.
"""

MOST_TRIALS = 20
"""The same number per worker where jobs are running all the while that send nothing at all."""

FAILED_STARTS = 3
"""No worker can start if this many per worker ended so in a row, and none got ready since."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


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


@dataclass(slots=True)
class Outage:
    """Why the surroundings of a study are held to have failed, and what that has cost.

    Attributes:
        cause: in words.
        spared: the trials that failed of it, which are not marked as failed.
    """

    cause: str
    spared: set[int]


class Judgement(Enum):
    """What follows from a failure."""

    AGAIN = "its trial is retried"
    FAILED = "its trial has failed"
    HELD = "it is known later whose fault it is"
    SPARED = "the surroundings have failed, and it counts for nothing"


def count_failures(
    failures: Iterable[Failure], trials: Sequence[Trial]
) -> tuple[Counter[int], list[int]]:
    """Return how often each trial has failed, and which trials an outage has spared.

    Failures count that came since their trial last got further.

    Args:
        failures: all that are known.
        trials: the trials of the study.
    """
    recent = [each for each in failures if each.resource >= trials[each.trial].resource]
    attempts = Counter(failure.trial for failure in recent if not failure.spared)
    return attempts, [failure.trial for failure in recent if failure.spared]


class FirstFailures:
    """Counts the failures of a session that has no report yet.

    Args:
        workers: how many jobs run at a time.

    Attributes:
        identical: whether the last failures were all the same, so that the function is wrong.
    """

    def __init__(self, workers: int) -> None:
        self._most = MOST_TRIALS * workers
        self._kind: str | None = None
        self._count = 0  # of this kind in a row
        self._same: set[int] = set()  # their trials
        self._failed: set[int] = set()  # the trials that have failed, of whatever it was
        # What has been decided once no job runs that was started before this one: jobs that run
        # already may be those that work, and their first report may just take long.
        self._same_from: int | None = None
        self._any_from: int | None = None
        self.identical = False

    @property
    def trials(self) -> int:
        """How many trials have failed."""
        return len(self._failed)

    def add(self, failure: Failure, next_job: int) -> None:
        """Count a failure.

        Args:
            failure: how a job has failed.
            next_job: the number that the next job will have.
        """
        self._failed.add(failure.trial)
        if self._any_from is None and len(self._failed) >= ANY_TRIALS:
            self._any_from = next_job
        kind = name_kind(failure)
        if kind != self._kind:
            self._kind, self._count, self._same, self._same_from = kind, 0, set(), None
        self._count += 1
        self._same.add(failure.trial)
        enough = self._count >= SAME_FAILURES and len(self._same) >= SAME_TRIALS
        own = depends_on_configuration(failure.reason, failure.output)
        if enough and not own and self._same_from is None:
            self._same_from = next_job

    def is_hopeless(self, open_jobs: Sequence[int]) -> bool:
        """Whether to give up, if there is no report yet.

        Args:
            open_jobs: the jobs that are running.
        """
        oldest = min(open_jobs, default=None)

        def have_left(first: int | None) -> bool:
            return first is not None and (oldest is None or oldest >= first)

        self.identical = have_left(self._same_from)
        return self.identical or have_left(self._any_from) or len(self._failed) >= self._most


def name_kind(failure: Failure) -> str:
    """What failures have in common that have the same cause: all but the numbers."""
    place = find_place(failure.trace)
    reason = _NUMBER.sub("#", failure.reason)
    return reason if place is None else f"{reason.partition(':')[0]} in {place}"


class FailureJudge:
    """Judges the failures of one run of a study.

    Args:
        engine: the study.
        rules: what a user decides.
        attempts: how often each trial has failed since it last got further.
        spared: trials that an earlier outage has spared, and that got no further since.
        workers: how many jobs run at a time.
        find_problem: called when a trial is about to be marked as failed: what is wrong with the
            surroundings, where that can be checked (a folder that cannot be written).

    Attributes:
        attempts: how often each trial has failed since it last got further.
        lost_workers: how often each trial has lost its worker since.
        watch: who has failed in a row.
        outage: set once the surroundings are held to have failed.
        stopping: whether the study is stopping, because of that or because it was recalled.
        unsettled: whether :meth:`settle` has anything to do.
    """

    def __init__(
        self,
        engine: Engine,
        rules: Rules,
        *,
        attempts: Mapping[int, int] | None = None,
        spared: Iterable[int] = (),
        workers: int = 1,
        find_problem: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._engine, self._rules, self._find_problem = engine, rules, find_problem
        self.attempts = Counter(attempts)
        self.lost_workers: Counter[int] = Counter()
        self.watch = OutageWatch()
        self.first = FirstFailures(workers)
        self._spared_before = frozenset(spared)
        self._held: dict[int, Failure] = {}  # by job, until it is known whose fault they are
        self._due: list[int] = []  # of these, those that are the trials' own
        self.outage: Outage | None = None
        self.stopping = False
        self.unsettled = False

    @property
    def holds(self) -> bool:
        """Whether failures are held back, until it is known whose fault they are."""
        return bool(self._held)

    @property
    def hopeless(self) -> bool:
        """Whether nothing works: then the study is to be given up."""
        return not self._engine.reports and self.first.is_hopeless(self._engine.open_jobs)

    def note_progress(self, trial: int) -> None:
        """A trial has got further: its earlier failures do not count any more."""
        self.attempts.pop(trial, None)
        self.lost_workers.pop(trial, None)

    def is_free(self, trial: int) -> bool:
        """Whether losing a worker once more costs the trial no retry."""
        self.lost_workers[trial] += 1
        return self.lost_workers[trial] <= WORKER_FAULTS

    def note_health(self, judged: list[int]) -> None:
        """These failures are known to be the trials' own."""
        self._due += [job for job in judged if job in self._held]

    @property
    def _watches(self) -> bool:
        """Whether the surroundings are judged: only where they have worked before."""
        return self._rules.drop and self._engine.reports > 0

    def count(self, job: int, reports: int, reason: str, output: str) -> None:
        """Count a failure in the row of the jobs around it; too many are an outage.

        Args:
            job: the job.
            reports: how many it had sent.
            reason: the failure in one line.
            output: the last of what it printed.
        """
        if not self._watches or depends_on_configuration(reason, output):
            self.watch.left(job)  # it says nothing of the surroundings
            return
        recognised = find_cause(reason, output) is not None
        row = self.watch.failed(job, reports, recognised=recognised)
        if row >= IN_A_ROW:
            self._declare(f"{row} different trials failed in a row, the last with {reason}")

    def judge_start(self, how: str, output: str, in_a_row: int, workers: int) -> None:
        """Judge that a worker has ended while it started.

        Args:
            how: how it ended.
            output: the last of what it printed.
            in_a_row: how many have ended so, since one got ready.
            workers: how many there are to be.

        Raises:
            WorkerStartError: no worker can start.
        """
        if in_a_row >= FAILED_STARTS * workers:
            said = f"{in_a_row} worker processes in a row ended while starting ({how})"
            raise WorkerStartError(said, output)

    def judge(self, failure: Failure) -> Judgement:
        """Judge a failure that was counted, of a job that was to go on."""
        self.attempts[failure.trial] += 1
        if self.attempts[failure.trial] <= self._rules.retries:
            judgement = Judgement.AGAIN
        else:
            judgement = self._judge_last(failure)
        if judgement is not Judgement.HELD:
            self.first.add(failure, len(self._engine.jobs))
        return judgement

    def _judge_last(self, failure: Failure) -> Judgement:
        """Judge a failure that costs its trial, unless the surroundings may have caused it."""
        own = depends_on_configuration(failure.reason, failure.output)
        if not self._watches or own:
            return Judgement.FAILED
        problem = self._find_problem()
        if problem is not None:
            self._declare(problem)
            return self._spare(failure)
        recognised = find_cause(failure.reason, failure.output) is not None
        if not self.watch.is_to_be_held(recognised=recognised):
            return Judgement.FAILED
        self._held[failure.job], self.unsettled = failure, True
        return Judgement.HELD

    def _declare(self, cause: str) -> None:
        """Hold the surroundings to have failed: the study is to stop."""
        if self.outage is None and not self.stopping:
            self.outage, self.unsettled = Outage(cause, set()), True
            self.stopping = True

    def _spare(self, failure: Failure) -> Judgement:
        if self.outage is not None:
            self.outage.spared.add(failure.trial)
        return Judgement.SPARED

    def settle(self, *, stalled: bool) -> list[tuple[Failure, Judgement]]:
        """Judge the failures that were held back, where it is known now whose fault they are.

        Args:
            stalled: whether nothing runs and nothing can be started until they are settled.
        """
        due, self._due = self._due, []
        if stalled and not self.stopping:
            if self.watch.is_outage_at_the_end(self._spared_before):
                reason = next(reversed(self._held.values())).reason
                self._declare(f"the last trials all failed, the last of them with {reason}")
            else:
                self.watch.clear()
                due = list(self._held)
        if self.stopping:
            held, self._held = self._held, {}
            return [(failure, self._spare(failure)) for failure in held.values()]
        found = [self._held.pop(job, None) for job in due]
        self.unsettled = bool(self._held)
        return [(failure, Judgement.FAILED) for failure in found if failure is not None]
