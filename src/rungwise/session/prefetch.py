"""Proposals of slow searchers, computed by a thread while workers train.

What is proposed does not depend on when it is computed: see :mod:`rungwise.core.proposals`.
"""

from __future__ import annotations

import atexit
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from weakref import WeakSet

from rungwise.core.proposals import Config, Proposals
from rungwise.session.part import Part

CLOSE_TIMEOUT = 3.0
"""Seconds that the end of a study waits for a proposal that is not needed any more."""

EXIT_TIMEOUT = CLOSE_TIMEOUT
"""Seconds that the end of the process waits for such proposals."""


class ProposalPrefetcher:
    """A proposer that computes the proposal for the next trial in advance.

    Args:
        proposals: those of the study.
        drawn: how many trials have been drawn.
        wake: called, from the thread, when a proposal has become ready.
    """

    def __init__(self, proposals: Proposals, drawn: int, wake: Callable[[], None]) -> None:
        self._proposals = proposals
        self._wake = wake
        self._thread: threading.Thread | None = None
        self._coming: tuple[int, Future[Config | None]] | None = None
        self._open = True
        self._lock = threading.Lock()
        self._filters = list(warnings.filters)
        self._begin(drawn)

    def __call__(self, number: int) -> Config | None:
        """The configuration of trial ``number``; waits for it if it is not ready."""
        if self._coming is not None and self._coming[0] == number:
            config = self._coming[1].result()
        else:
            config = self._proposals.propose(number)
        self._coming = None
        self._proposals.drawn(number, config)
        if config is not None:
            self._begin(number + 1)
        return config

    def ready(self) -> bool:
        """Whether a request for a job would be answered without waiting."""
        return self._coming is None or self._coming[1].done()

    def close(self) -> None:
        """Compute no more. What is being computed may go on, but does not call ``wake``."""
        with self._lock:
            self._open = False
        if self._thread is None:
            return
        self._thread.join(CLOSE_TIMEOUT)
        # Models change the filters of warnings and restore them, and so may the study's own thread
        # meanwhile: then either may be left. Filters belong to the whole process.
        if warnings.filters != self._filters:
            warnings.filters = self._filters
            with warnings.catch_warnings():
                pass  # makes Python read the filters again

    def _begin(self, number: int) -> None:
        if not self._proposals.should_prefetch(number):
            return
        future: Future[Config | None] = Future()
        self._coming = (number, future)
        self._thread = threading.Thread(
            target=self._compute,
            args=(number, future),
            name="rungwise-proposals",
            daemon=True,  # one that never ends must not keep the process
        )
        _threads.add(self._thread)
        self._thread.start()

    def _compute(self, number: int, future: Future[Config | None]) -> None:
        try:
            future.set_result(self._proposals.propose(number))
        except BaseException as error:  # noqa: BLE001 - raised where the result is read
            future.set_exception(error)
        with self._lock:
            if self._open:
                self._wake()


class Prefetch(Part):
    """Computes the next proposal while the study runs."""

    _ahead: ProposalPrefetcher | None = None

    def begin(self) -> None:
        session = self.session
        if not session.is_over:
            drawn, wake = len(session.engine.trials), session.backend.wake
            self._ahead = ProposalPrefetcher(session.engine.proposals, drawn, wake)
            session.engine.proposer = self._ahead

    def ready(self) -> bool:
        return self._ahead is None or self._ahead.ready()

    def end(self, *, failed: bool) -> None:  # noqa: ARG002
        if self._ahead is not None:
            self._ahead.close()


_threads: WeakSet[threading.Thread] = WeakSet()


@atexit.register
def _join_threads() -> None:
    """Wait for proposals that are being computed: libraries may crash when they are cut off."""
    deadline = time.monotonic() + EXIT_TIMEOUT
    for thread in list(_threads):
        thread.join(max(0.0, deadline - time.monotonic()))
