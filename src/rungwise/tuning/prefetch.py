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

MOMENT = 3.0
"""Seconds that the end of a study waits for a proposal that nobody needs any more."""

LAST_MOMENT = MOMENT
"""Seconds that the end of the process waits for such proposals."""


class ProposalPrefetcher:
    """A proposer that is one trial ahead.

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
        """Compute no more. What is being computed may go on, but nobody is woken by it."""
        with self._lock:
            self._open = False
        if self._thread is None:
            return
        self._thread.join(MOMENT)
        # Models set filters of warnings aside and put them back, and so may the study's own
        # thread meanwhile: what is left then is anybody's. Filters belong to the whole process.
        if warnings.filters != self._filters:
            warnings.filters = self._filters
            with warnings.catch_warnings():
                pass  # makes Python look at the filters anew

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
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(error)
        with self._lock:
            if self._open:
                self._wake()


_threads: WeakSet[threading.Thread] = WeakSet()


@atexit.register
def _part_with_threads() -> None:
    """Let proposals come to their end: a library may not like to be cut off in the middle."""
    deadline = time.monotonic() + LAST_MOMENT
    for thread in list(_threads):
        thread.join(max(0.0, deadline - time.monotonic()))
