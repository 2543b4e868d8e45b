"""The loop that keeps an engine and a backend together: fact → handle → append → act.

Law of this file: a decision is appended to the log before anything is done about it, so that a
crash at any moment loses at most work, never knowledge. What a backend tells at once is appended
at once: the commits of several workers cost as much as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rungwise.backends.base import Backend, Fact
from rungwise.core.decisions import CONTINUE, NOTED, Decision, Run
from rungwise.core.engine import Engine
from rungwise.core.events import Event, JobRequested, Reported
from rungwise.storage.base import Entry, Growing


class Driver:
    """Runs a study to its end.

    Args:
        engine: decides.
        backend: acts.
        log: remembers; None keeps nothing.
        on_fact: called after every fact from the backend has been acted on, for progress.
        on_step: called after every look at the backend, whether or not there was a fact.
        ready: whether a request for a job would be answered at once. While it would not, no
            request is made, so that reports and interrupts are taken in meanwhile; whoever makes
            it ready also makes the backend's poll() come back, even if nothing is running.
    """

    def __init__(
        self,
        engine: Engine,
        backend: Backend,
        *,
        log: Growing | None = None,
        on_fact: Callable[[Fact, Decision], None] | None = None,
        on_step: Callable[[], None] | None = None,
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._engine = engine
        self._backend = backend
        self._log = log
        self._on_fact = on_fact
        self._on_step = on_step
        self._ready = ready
        self._held = False  # whether a free worker waits for a proposal
        self._free = max(0, backend.workers - len(engine.open_jobs))
        self._running = 0  # jobs that this driver started and that have not left
        self._seen = engine.version
        self._entries: list[Entry] = []
        self._recalled = False

    def run(self) -> None:
        """Run until the engine says that the study is over, or nothing is left to do."""
        self._fill()
        self._commit()
        while (self._running or self._waits()) and self._engine.ended is None:
            self._step()

    def recall(self) -> None:
        """Start no more jobs; :meth:`run` returns when those under way have left."""
        self._recalled = True

    def wind_down(self) -> None:
        """Take in what the jobs still under way have to say, until the last has left."""
        self._recalled = True
        while self._running:
            self._step()

    def _waits(self) -> bool:
        """Whether all that is missing for the next job is a proposal."""
        return self._held and not self._recalled

    def _step(self) -> None:
        facts = self._backend.poll()
        decisions = [self._take(fact) for fact in facts]
        if self._held:
            self._fill()
        self._commit(facts, decisions)
        if self._on_fact is not None:
            for fact, decision in zip(facts, decisions, strict=True):
                self._on_fact(fact, decision)
        if self._on_step is not None:
            self._on_step()

    def _take(self, fact: Fact) -> Decision:
        decision = self._handle(fact)
        if decision is NOTED:
            self._free += 1
            self._running -= 1
            self._fill()
        elif decision is CONTINUE and self._free and self._engine.version != self._seen:
            self._fill()
        # Told to pause or stop: its worker asks first, once the job has left it, so that who is
        # promoted does not depend on how many workers happen to be idle.
        return decision

    def _handle(self, event: Event) -> Decision:
        decision = self._engine.handle(event)
        self._entries.append((event, decision))
        return decision

    def _fill(self) -> None:
        """Give every free worker a job, as long as there are jobs."""
        self._held = False
        while self._free and self._engine.ended is None and not self._recalled:
            if not self._ready():
                self._held = True
                break
            decision = self._handle(JobRequested(self._backend.now))
            if not isinstance(decision, Run):
                break
            self._free -= 1
            self._running += 1
        self._seen = self._engine.version

    def _commit(self, facts: Sequence[Fact] = (), decisions: Sequence[Decision] = ()) -> None:
        """Append, then act."""
        entries, self._entries = self._entries, []
        if self._log is not None and entries:
            self._log.extend(entries)
        for fact, decision in zip(facts, decisions, strict=True):
            if type(fact) is Reported:
                self._backend.answer(fact.job, decision)
        for _, decision in entries:
            if type(decision) is Run:
                self._backend.start(decision.job)
