"""How many workers a study can use now, where idle ones cost something."""

from __future__ import annotations

import math

RELEASE_TIME = 60.0
"""Seconds for which workers must have been idle before they are given back: starting one again
takes seconds on a node that is there, and minutes where a node must be started."""


class Demand:
    """As many workers as are wanted, as long as there are jobs for all of them.

    If some have had no job for a while, only those that train are wanted, and one more: once that
    one is given a job too, the study can use all of them again.

    Args:
        most: how many are wanted.
    """

    def __init__(self, most: int) -> None:
        self.number = self._most = most
        self._idle_since = math.inf

    def follow(self, busy: int, idle: int, now: float) -> int:
        """How many workers are wanted now.

        Args:
            busy: workers that have a job.
            idle: workers that are ready and have none.
            now: a time in seconds.
        """
        if idle == 0:
            if busy >= self.number:
                self.number = self._most
            self._idle_since = math.inf
        elif self._idle_since == math.inf:
            self._idle_since = now
        elif now - self._idle_since >= RELEASE_TIME:
            self.number = min(self.number, busy + 1)
        return self.number
