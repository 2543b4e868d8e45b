"""The loop that keeps an engine and a backend together: fact → handle → append → act.

Law of this file: a decision is appended to the log before anything is done about it, so that a
crash at any moment loses at most work, never knowledge.
"""

from __future__ import annotations

from collections.abc import Callable

from rungwise.backends.base import Backend, Fact
from rungwise.core.decisions import CONTINUE, NOTED, Decision, Run
from rungwise.core.engine import Engine
from rungwise.core.events import Event, JobRequested
from rungwise.storage.base import EventLog


class Driver:
    """Runs a study to its end.

    Args:
        engine: decides.
        backend: acts.
        log: remembers; None keeps nothing.
        on_fact: called after every fact from the backend, for progress.
    """

    def __init__(
        self,
        engine: Engine,
        backend: Backend,
        *,
        log: EventLog | None = None,
        on_fact: Callable[[Fact, Decision], None] | None = None,
    ) -> None:
        self._engine = engine
        self._backend = backend
        self._log = log
        self._on_fact = on_fact
        self._free = max(0, backend.workers - len(engine.open_jobs))

    def run(self) -> None:
        """Run until the engine says that the study is over, or nothing is left to do."""
        engine, backend = self._engine, self._backend
        self._fill()
        seen = engine.version
        while engine.ended is None:
            fact = backend.poll()
            if fact is None:
                return
            decision = self._handle(fact)
            if self._on_fact is not None:
                self._on_fact(fact, decision)
            if decision is NOTED:
                self._free += 1
                self._fill()
                seen = engine.version
            elif decision is not CONTINUE:
                # Told to pause or stop: its worker asks first, once the job has left it, so that
                # who is promoted does not depend on how many workers happen to be idle.
                backend.stop(fact.job)
            elif self._free and engine.version != seen:
                self._fill()
                seen = engine.version

    def _handle(self, event: Event) -> Decision:
        decision = self._engine.handle(event)
        if self._log is not None:
            self._log.append(event, decision)
        return decision

    def _fill(self) -> None:
        """Give every free worker a job, as long as there are jobs."""
        while self._free and self._engine.ended is None:
            decision = self._handle(JobRequested(self._backend.now))
            if not isinstance(decision, Run):
                return
            self._free -= 1
            self._backend.start(decision.job)
