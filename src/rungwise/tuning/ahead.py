"""Proposals of slow searchers, computed by a thread while workers train.

What is proposed does not depend on when it is computed: see :mod:`rungwise.core.proposing`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from rungwise.core.proposing import Config, Proposals


class Ahead:
    """A proposer that is one trial ahead.

    Args:
        proposals: those of the study.
        drawn: how many trials have been drawn.
        wake: called, from the thread, when a proposal has become ready.
    """

    def __init__(self, proposals: Proposals, drawn: int, wake: Callable[[], None]) -> None:
        self._proposals = proposals
        self._wake = wake
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rungwise-proposals")
        self._coming: tuple[int, Future[Config | None]] | None = None
        self._open = True
        self._lock = threading.Lock()
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
        """Compute no more. Nobody waits for what is being computed, and nobody is woken by it."""
        with self._lock:
            self._open = False
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _done(self, _: object) -> None:
        with self._lock:
            if self._open:
                self._wake()

    def _begin(self, number: int) -> None:
        if self._proposals.ahead(number):
            future = self._thread.submit(self._proposals.propose, number)
            self._coming = (number, future)
            future.add_done_callback(self._done)
