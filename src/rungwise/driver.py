"""The loop that keeps an engine and a backend together: message → fact → handle → append → act.

Law of this file: a decision is appended to the log before anything is done about it, so that a
crash at any time loses at most work, never knowledge. Messages that one poll returns together are
appended together: the commits of several workers cost as much as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rungwise.backends import messages
from rungwise.backends.base import Backend, make_assignment
from rungwise.core.decisions import CONTINUE, NOTED, Decision, Job, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import Event, JobRequested
from rungwise.errors import InvalidArgumentError
from rungwise.policy import Answer, Fact, Policy
from rungwise.run import Assignment
from rungwise.storage.base import Entry, EntrySink

_LEAVES = frozenset({messages.Ended, messages.Crashed})


@dataclass(frozen=True, slots=True)
class Hooks:
    """What is called while a driver runs.

    Attributes:
        assign: makes the assignment of a job.
        on_message: called with every message of the backend that is not a report, of jobs that
            have not left, before it is judged.
        on_fact: called after every fact has been acted on, for progress.
        on_step: called after every poll of the backend, whether or not there was a message.
        ready: whether a request for a job would be answered at once. While it would not, no
            request is made, so that reports and interrupts are handled meanwhile; what makes it
            ready must also make the backend's poll() return, even if nothing is running.
    """

    assign: Callable[[Job], Assignment] = make_assignment
    on_message: Callable[[messages.Message], None] | None = None
    on_fact: Callable[[Fact, Decision], None] | None = None
    on_step: Callable[[], None] | None = None
    ready: Callable[[], bool] = lambda: True


@dataclass(slots=True)
class _Slots:
    """The slots of a backend, as far as a driver counts them.

    Attributes:
        free: those that have asked for a job and got none.
        running: the jobs that this driver started and that have not left.
        held: whether a free slot waits for a proposal.
        seen: the version of the engine when the slots last asked.
    """

    free: int = 0
    running: int = 0
    held: bool = False
    seen: int = -1


class Driver:
    """Runs a study to its end.

    Args:
        engine: decides.
        backend: acts.
        log: keeps the events and decisions; None keeps nothing.
        policy: says what the backend's messages mean.
        hooks: what is called meanwhile.
    """

    def __init__(
        self,
        engine: Engine,
        backend: Backend,
        *,
        log: EntrySink | None = None,
        policy: Policy | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        if engine.open_jobs:
            rule = "they must be marked as lost first (core.replay.lost_jobs)"
            raise InvalidArgumentError("engine.open_jobs", engine.open_jobs, rule)
        self._engine = engine
        self._backend = backend
        self._log = log
        self._policy = Policy(engine) if policy is None else policy
        self._hooks = Hooks() if hooks is None else hooks
        # Looked up once: these are used with every report.
        self._judge, self._failures = self._policy.judge, self._policy.failures
        self._slots = _Slots(seen=engine.version)
        self._entries: list[Entry] = []
        self._facts: list[tuple[Fact, Decision]] = []
        self._recalled = False
        limit = engine.study.limits.seconds
        self._time_is_up = math.inf if limit is None else limit

    def run(self) -> None:
        """Run until the engine says that the study is over, or until it was recalled."""
        self._slots.free = self._backend.idle()
        self._fill()
        self._act(())
        while self._engine.ended is None and (self._slots.running or not self._recalled):
            self.step()

    def recall(self) -> None:
        """Start no more jobs; :meth:`run` returns when those under way have left.

        They leave at their next report, and count as lost: a study that is resumed issues them
        again. Safe in a signal handler, if :meth:`Backend.wake` is called after it.
        """
        self._recalled = True
        self._policy.recall()

    def halt(self) -> None:
        """Make all jobs leave now, and handle their messages until the last has left."""
        self.dismiss_all()
        self.wind_down()

    def wind_down(self) -> None:
        """Start no more jobs, and handle messages until the last of those under way has left."""
        self._recalled = True
        while self._slots.running:
            self.step()

    def submit(self, event: Event) -> Decision:
        """Let the engine handle an event that no message stands for; between two steps only."""
        decision = self._handle(event)
        limit = self._engine.study.limits.seconds
        self._time_is_up = math.inf if limit is None else limit
        self._fill()
        self._act(())
        return decision

    def dismiss_all(self) -> None:
        """Ask all jobs to leave now."""
        for job, why in self._policy.halt():
            self._backend.ask_to_leave(job, why)

    def dismiss(self, trial: int) -> None:
        """Ask the job of a trial to leave, which the engine has stopped on request."""
        for job, why in self._policy.dismiss(trial):
            self._backend.ask_to_leave(job, why)

    @property
    def waits(self) -> bool:
        """Whether failures are held back, and only another job could settle them."""
        return self._policy.waits

    @property
    def watches_time(self) -> bool:
        """Whether jobs may have to leave although nothing is said of them."""
        return self._policy.watches_time

    @property
    def held(self) -> bool:
        """Whether a free slot waits until a request would be answered at once."""
        return self._slots.held

    # -- one step ------------------------------------------------------------------------------

    def step(self) -> None:
        """One poll and all that follows from it; :meth:`run` does nothing else."""
        said = self._backend.poll()
        now = self._backend.now
        grown = self._count_slots(said)
        self._facts = []
        answers: list[tuple[int, bool]] = []
        for message in said:
            self._take_in(message, now, answers)
        if grown or self._slots.held:
            self._fill()
        if self._failures.unsettled:
            slots = self._slots
            no_more = slots.free > 0 and not slots.held  # a slot asked for a job and got none
            self._settle(now, stalled=not said and (no_more or self._recalled))
        if now >= self._time_is_up and self._engine.ended is None:
            # No trial reports: a request makes the engine check the time.
            self._handle(JobRequested(now))
        self._act(answers)
        if self._policy.watches_time:
            for job, why in self._policy.overdue(now):
                self._backend.ask_to_leave(job, why)
        hooks = self._hooks
        if hooks.on_fact is not None:
            for fact, decision in self._facts:
                hooks.on_fact(fact, decision)
        if hooks.on_step is not None:
            hooks.on_step()

    def _take_in(
        self, message: messages.Message, now: float, answers: list[tuple[int, bool]]
    ) -> None:
        """Judge a message, let the engine decide on it, and note the answer to send."""
        is_report = type(message) is messages.Reported
        on_message = None if is_report else self._hooks.on_message
        if on_message is not None and self._policy.is_current(message):
            on_message(message)
        judged = self._judge(message, now)
        if judged is None:
            return
        if isinstance(judged, Answer):
            answers.append((judged.job, judged.go_on))
            return
        decision = self._take(judged)
        self._facts.append((judged, decision))
        if is_report:
            go_on = self._policy.decided(judged.job, decision)
            if go_on is not None:
                answers.append((judged.job, go_on))

    def _settle(self, now: float, *, stalled: bool) -> None:
        """Take in failures that were held back, and stop if the surroundings have failed."""
        self._recalled = self._recalled or self._failures.outage is not None
        settled = self._policy.settle(now, stalled=stalled and self._policy.waits)
        for fact in settled:
            # The slot was free as soon as the job had failed.
            self._facts.append((fact, self._handle(fact)))
            self._slots.running -= 1
        self._recalled = self._recalled or self._failures.outage is not None
        if settled:
            self._fill()

    def _count_slots(self, said: Sequence[messages.Message]) -> bool:
        """Count the free slots; whether some have appeared.

        Slots of jobs that leave with these messages do not count yet: each asks for its next job
        when its message is handled, so that which trial is promoted does not depend on which
        messages happen to arrive together.
        """
        free = self._backend.idle()
        for message in said:
            if type(message) in _LEAVES:
                free -= 1
        grown = free > self._slots.free
        self._slots.free = free
        return grown

    def _take(self, fact: Fact) -> Decision:
        slots = self._slots
        decision = self._handle(fact)
        if decision is NOTED:
            slots.free += 1
            slots.running -= 1
            self._fill()
        elif decision is CONTINUE and slots.free > 0 and self._engine.version != slots.seen:
            self._fill()
        # When a job is to pause or stop, its slot asks first, once the job has left it, so that
        # which trial is promoted does not depend on how many slots happen to be idle.
        return decision

    def _handle(self, event: Event) -> Decision:
        decision = self._engine.handle(event)
        self._entries.append((event, decision))
        return decision

    def _fill(self) -> None:
        """Give every free slot a job, as long as there are jobs."""
        slots = self._slots
        slots.held = False
        while slots.free > 0 and self._engine.ended is None and not self._recalled:
            if not self._hooks.ready():
                slots.held = True
                break
            decision = self._handle(JobRequested(self._backend.now))
            if not isinstance(decision, StartJob):
                break
            slots.free -= 1
            slots.running += 1
        slots.seen = self._engine.version

    def _act(self, answers: Sequence[tuple[int, bool]]) -> None:
        """Append, then act."""
        entries, self._entries = self._entries, []
        if self._log is not None and entries:
            self._log.extend(entries)
        for job, go_on in answers:
            self._backend.answer(job, go_on)
        for _, decision in entries:
            if type(decision) is StartJob:
                self._policy.started(decision.job)
                self._backend.start(self._hooks.assign(decision.job))
