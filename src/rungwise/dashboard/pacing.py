"""How often something expensive is computed again: as often as it is cheap."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SHARE = 0.02
"""The part of the time that one thing may take, while a study runs."""


class Paced:
    """A value that is computed again when it is out of date and its turn has come.

    Args:
        compute: computes it.
        clock: returns seconds.
    """

    def __init__(
        self, compute: Callable[[], Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._compute = compute
        self._clock = clock
        self._value: Any = None
        self._of: int | None = None
        self._next = 0.0

    def get(self, version: int, *, now: bool = False) -> Any:
        """The value; perhaps one of an earlier version.

        Args:
            version: of what it is computed from.
            now: compute it whatever it costs, if it is out of date.
        """
        begun = self._clock()
        if version != self._of and (now or begun >= self._next or self._of is None):
            self._value, self._of = self._compute(), version
            took = self._clock() - begun
            self._next = begun + took / SHARE
        return self._value

    @property
    def version(self) -> int | None:
        """Of what the value was computed."""
        return self._of
