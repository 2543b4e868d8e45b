"""The study that runs: an engine, a backend, a log, and a list of parts that follow.

Law of this file: the study is the same, whether workers train it, or a loop of the user's that asks
and tells, or one worker that trains the winner in full. What differs is the list of parts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from rungwise.backends import messages
from rungwise.backends.base import Backend
from rungwise.core.decisions import Decision, Job
from rungwise.core.events import Reported, Request, StudyExtended, TrialStopped
from rungwise.core.failures import Failure
from rungwise.display import Display
from rungwise.driver import Driver, Hooks
from rungwise.errors import StoreUnavailableError
from rungwise.formatting import format_place
from rungwise.policy import Fact, Listeners, Policy
from rungwise.run import Assignment
from rungwise.session.failures import FailureJudge, Rules, count_failures
from rungwise.session.notices import Notices
from rungwise.session.opened import OpenedStudy
from rungwise.session.part import Part
from rungwise.session.stopping import (
    describe_cause,
    find_problem,
    make_nothing_found,
    make_outage_error,
)
from rungwise.views import StudyView

_CONSEQUENCES = {
    (True, False): " (it is retried)",
    (False, False): "",
    (False, True): " (it is not counted: the surroundings have failed)",
}


class _Calls:
    """The methods of parts that are to be called, each in the order of the parts."""

    __slots__ = (
        "failed",
        "left",
        "measure",
        "message",
        "ready",
        "repeated",
        "reported",
        "requested",
        "resumed",
        "started",
        "step",
    )

    def __init__(self, parts: Sequence[Part]) -> None:
        def find(method: Callable[..., Any]) -> list[Callable[..., Any]]:
            name = method.__name__
            own = [part for part in parts if getattr(type(part), name) is not method]
            return [getattr(part, name) for part in own]

        self.failed = find(Part.failed)
        self.left = find(Part.left)
        self.measure = find(Part.measure)
        self.message = find(Part.message)
        self.ready = find(Part.ready)
        self.repeated = find(Part.repeated)
        self.reported = find(Part.reported)
        self.requested = find(Part.requested)
        self.resumed = find(Part.resumed)
        self.started = find(Part.started)
        self.step = find(Part.step)


class StudySession:
    """A study while its file is open.

    Args:
        opened: the study.
        display: what a person sees.
        parts: what follows it.

    Attributes:
        opened: the study, and how it is run.
        engine: its engine.
        display: what a person sees.
        notices: shows a person something, and keeps it with the study.
        backend: where it is trained, once :meth:`start` was called.
        driver: keeps engine and backend together, from then on.
        failures: judges failures, from then on.
        error: what stops the study before its end, other than an interrupt.
        interrupted: whether it was asked to stop.
        halting: whether it is only waited for jobs to leave.
        in_step: whether the engine has handled just what is in the file. An error or a second
            Ctrl-C may have come between the two.
    """

    backend: Backend
    driver: Driver
    failures: FailureJudge

    def __init__(self, opened: OpenedStudy, display: Display, parts: Sequence[Part]) -> None:
        self.opened, self.engine, self.display = opened, opened.engine, display
        self.notices = Notices(display, self._keep_notice)
        self._parts, self._calls = tuple(parts), _Calls(parts)
        self._clock: Callable[[], float] = lambda: opened.since
        self._recall: Callable[[], None] = lambda: None
        self.error: Exception | None = None
        self.interrupted = self.halting = False
        self.in_step = True
        for part in parts:
            part.session = self

    @property
    def seconds(self) -> float:
        """How many seconds the study has taken in all."""
        return self._clock()

    @property
    def is_over(self) -> bool:
        """Whether the study has ended."""
        return self.engine.ended is not None

    @property
    def has_started(self) -> bool:
        """Whether :meth:`start` was called."""
        return "backend" in vars(self)

    @property
    def checkpoints_bytes(self) -> int:
        """How much room the checkpoints take, as far as is known."""
        return sum(measure() for measure in self._calls.measure)

    def view(self, *, running: bool = True) -> StudyView:
        """The study, for reading.

        Args:
            running: whether it is being worked on.
        """
        return self.opened.view(running=running, seconds=self.seconds)

    def why(self) -> str:
        """How the study stands now that it is left, and what has stopped it before its end."""
        why = self.view(running=False).why
        if self.error is None or self.is_over:
            return why
        return f"{why} It stopped early, because {describe_cause(self.error)}."

    # -- from its beginning to its end ---------------------------------------------------------

    def open(self) -> None:
        """Take up the study: nothing runs yet."""
        parts, self._parts = self._parts, ()
        with self._changing():
            try:
                for part in parts:
                    part.open()
                    self._parts += () if part.idle else (part,)
            except BaseException:
                self.close()
                raise
        self._calls = _Calls(self._parts)

    def start(
        self, backend: Backend, workers: int = 1, *, drops: bool = True, saves: bool = True
    ) -> None:
        """Prepare to train on a backend that is open.

        Args:
            backend: where it is trained.
            workers: how many jobs run at a time, at most.
            drops: whether a trial that fails more often than the options allow is given up.
            saves: whether jobs save checkpoints in the store; else they start at 0 as far as known.
        """
        opened, readies = self.opened, self._calls.ready
        self.backend = backend
        self._clock = lambda: backend.now
        options = opened.options
        rules = Rules(options.retries, options.trial_timeout, options.report_timeout, drop=drops)
        # A retraining that is started again after a failure is retried from the beginning.
        earlier = opened.part.failures() if drops else ()
        attempts, spared = count_failures(earlier, self.engine.trials)
        self.failures = FailureJudge(
            self.engine,
            rules,
            attempts=attempts,
            spared=spared,
            workers=workers,
            find_problem=lambda: find_problem(opened.store),
        )
        find_start = self._find_start if saves else self._start_at_0
        listeners = Listeners(self._failed, self._repeated, self.notices.show, find_start)
        self.driver = Driver(
            self.engine,
            backend,
            log=opened.part,
            policy=Policy(self.engine, rules, failures=self.failures, listeners=listeners),
            hooks=Hooks(
                assign=self._assign,
                on_message=self._take_message,
                on_fact=self._take_fact,
                on_step=self._step,
                ready=readies[0] if len(readies) == 1 else lambda: all(each() for each in readies),
            ),
        )

        def recall() -> None:
            self.driver.recall()
            backend.wake()

        self._recall = recall

    def begin(self) -> None:
        """Let all parts know that the study begins, or goes on."""
        for part in self._parts:
            part.begin()

    def run(self) -> None:
        """Train to the end, or until the study was recalled and its last job has left.

        Raises:
            OutageError: its surroundings have failed.
            NothingFoundError: nothing works.
        """
        with self._changing():
            self.driver.run()
        self.halting = True
        self._follow(math.inf)
        if self.is_over:
            self.halt()
        elif (error := self.find_error()) is not None:
            raise error

    def halt(self) -> None:
        """Make all jobs leave now; what is asked from now on is for a study that does not run."""
        self.halting = True
        with self._changing():
            self.driver.halt()

    def find_error(self) -> Exception | None:
        """What has stopped the study before its end, if it was not an interrupt."""
        if self.error is None and self.failures.outage is not None and not self.interrupted:
            self.error = make_outage_error(self.failures.outage, self.opened)
        return self.error

    def end(self, error: BaseException | None = None) -> None:
        """Let all parts know that the study has ended, or stops.

        Args:
            error: what stops it, if that was raised.
        """
        if isinstance(error, Exception):
            self.error = error
        failed = isinstance(error, Exception)
        for part in self._parts:
            part.end(failed=failed)

    def close(self) -> None:
        """Close all parts, whatever one of them raises."""
        with ExitStack() as stack:
            for part in reversed(self._parts):
                stack.callback(part.close)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self.in_step = False
        yield
        self.in_step = True

    # -- what may be asked ---------------------------------------------------------------------

    def interrupt(self) -> None:
        """Stop after the next reports; called in the middle of anything, so it only sets flags."""
        self.interrupted = True
        self.recall()

    def stop(self, error: Exception) -> None:
        """Stop with an error once the jobs that run have left."""
        self.error = error
        self.recall()

    def recall(self) -> None:
        """Start no more jobs, and let those that run leave at their next report."""
        self._recall()

    def submit(self, event: Request | StudyExtended) -> None:
        """Let the engine handle what was asked of the study, between two steps."""
        self.driver.submit(event)
        self.opened.assignments.follow(self.engine.study)
        for call in self._calls.requested:
            call(event)
        if isinstance(event, TrialStopped):
            self.driver.dismiss(event.trial)

    def notice(self, text: str) -> None:
        """Show a person something, and keep it with the study."""
        self.notices.show(text)

    def _keep_notice(self, text: str) -> None:
        if self.opened.kept:
            self.opened.file.note_notice(self.seconds, text)

    # -- what happens --------------------------------------------------------------------------

    def _assign(self, job: Job) -> Assignment:
        for call in self._calls.started:
            call(job, self.backend.now)
        return self.opened.assignments.assign(job)

    def _find_start(self, job: Job) -> float:
        """Where a job starts to train: at its last checkpoint, or at 0."""
        place = self.opened.assignments.place(job.trial)
        try:
            found = self.opened.store.trial(place).latest(at_most=job.start)
        except (OSError, StoreUnavailableError):
            # It cannot be read now: the worker will say so, if it matters.
            return job.start
        return self._resume(job, 0.0 if found is None else found.resource)

    def _start_at_0(self, job: Job) -> float:
        return self._resume(job, 0.0)

    def _resume(self, job: Job, start: float) -> float:
        for call in self._calls.resumed:
            call(job.trial, start)
        return start

    def _take_message(self, message: messages.Message) -> None:
        """Handle a message of the backend that is not a report."""
        if isinstance(message, messages.Notice):
            self.notice(message.text)
        if message.job is not None:
            trial = self.engine.jobs[message.job].trial
            for call in self._calls.message:
                call(message, trial)

    def _take_fact(self, fact: Fact, decision: Decision) -> None:
        trial = self.engine.jobs[fact.job].trial
        if type(fact) is Reported:
            for call in self._calls.reported:
                call(fact, decision, trial)
        else:
            for call in self._calls.left:
                call(fact, trial)

    def _repeated(self, trial: int) -> None:
        for call in self._calls.repeated:
            call(trial)

    def _failed(self, failure: Failure, again: bool) -> None:  # noqa: FBT001 - a callback
        self.opened.part.note_failure(failure)
        for call in self._calls.failed:
            call(failure, again=again)
        place = format_place(failure.resource, self.opened.about.unit)
        self.display.notice(  # the failure itself is kept already
            f"trial {failure.trial} failed {place}: {failure.reason}"
            f"{_CONSEQUENCES[again, failure.spared]}"
        )

    def _step(self) -> None:
        if not self.engine.reports and self.error is None and self.failures.hopeless:
            self.stop(make_nothing_found(self.failures.first, self.opened))
            self.driver.dismiss_all()
        self._follow(time.monotonic())

    def _follow(self, now: float) -> None:
        for call in self._calls.step:
            call(now)
