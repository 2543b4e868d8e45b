"""How the workers of a backend start: when a slot gets its next worker, and what is said of it."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress

from rungwise.backends.messages import Notice

PAUSES = (0.0, 0.25, 1.0, 4.0, 15.0, 60.0)
"""Seconds before a worker is replaced that died before it had a job, by how many did so before it
in its slot."""


class Starts:
    """Follows the workers that start, by their slots.

    Attributes:
        limit: seconds after which a worker that is still not ready is reported.
        failed: how many ended while they started, since one got ready.
        was_ready: whether any of them ever got ready.
        due: when an empty slot gets its next worker.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.failed = 0
        self.was_ready = False
        self.due: dict[int, float] = {}
        self._idle_deaths: Counter[int] = Counter()  # since the slot last had a job
        self._said: dict[int, str] = {}  # why its last worker did not get ready

    def note_ready(self, number: int) -> None:
        """A worker has loaded the training function."""
        self.was_ready = True
        self.failed = 0
        self._said.pop(number, None)

    def note_job(self, number: int) -> None:
        """A worker has received a job."""
        self._idle_deaths.pop(number, None)

    def note_death(self, number: int, why: str, *, ready: bool) -> list[Notice]:
        """A worker has died that had no job; what is to be said of it."""
        if ready or self._said.get(number) == why:
            return []
        self._said[number] = why
        return [Notice(None, f"worker {number}: {why}")]

    def find_pause(self, number: int) -> float:
        """How long the slot of a worker that has died without a job stays empty."""
        before = self._idle_deaths[number]
        self._idle_deaths[number] += 1
        return PAUSES[min(before, len(PAUSES) - 1)]


class Clock:
    """The clock of a study, which stands still between two looks.

    Args:
        since: where it stands.

    Attributes:
        now: the time at the last look.
    """

    def __init__(self, since: float) -> None:
        self._begun = time.monotonic() - since
        self.now = since

    def read(self) -> None:
        """Look at the clock."""
        self.now = time.monotonic() - self._begun


class WakePipe:
    """Makes a selector return, from any thread or signal handler."""

    def __init__(self) -> None:
        self._end, self._start = os.pipe()
        os.set_blocking(self._start, False)

    def fileno(self) -> int:
        """What the selector watches."""
        return self._end

    def write(self) -> None:
        """Make it return."""
        with suppress(BlockingIOError):  # full: it is being woken already
            os.write(self._start, b"!")

    def drain(self) -> None:
        """Take out what was written."""
        os.read(self._end, 1024)

    def close(self) -> None:
        """Close both ends."""
        os.close(self._end)
        os.close(self._start)
