"""Programs that jobs start while they run in the tuner's own process.

Where every worker is a process of its own, killing its group reaches what it has started. A thread
has no group: so each program gets one, and this file ends what is left of them, when the backend is
closed, and through the watchdog also when the tuner is killed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from rungwise.backends.base import Workplace
from rungwise.backends.processes import Watchdog

_guards: list[Guard] = []


class Guard:
    """Ends the programs of one backend.

    Args:
        workplace: what the tuner gave the backend.
        on_notice: called with what a person should know.
    """

    def __init__(self, workplace: Workplace, on_notice: Callable[[str], None]) -> None:
        self._workplace = workplace
        self._on_notice = on_notice
        self._watchdog: Watchdog | None = None  # started with the first program
        self._groups: set[int] = set()
        self._lock = threading.Lock()
        _guards.append(self)

    def watch(self, group: int) -> None:
        """A program was started, the leader of this process group."""
        with self._lock:
            if self._watchdog is None:
                place = self._workplace
                self._watchdog = Watchdog(
                    place.locks, place.temporary, self._on_notice, max(1.0, place.grace)
                )
            self._groups.add(group)
            self._watchdog.watch(group)

    def forget(self, group: int) -> None:
        """That program has ended, and all it had started."""
        with self._lock:
            if group in self._groups and self._watchdog is not None:
                self._groups.discard(group)
                self._watchdog.forget(group)

    def close(self) -> None:
        """End what is left."""
        with suppress(ValueError):
            _guards.remove(self)
        with self._lock:
            for group in self._groups:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
            self._groups.clear()
            if self._watchdog is not None:
                self._watchdog.close()
                self._watchdog = None


def need_a_group() -> bool:
    """Whether a program that is started here needs a process group of its own."""
    return bool(_guards)


def watch(group: int) -> None:
    """From now on this process group ends with the study, if that is of this process."""
    for guard in _guards:
        guard.watch(group)


def forget(group: int) -> None:
    """It has ended."""
    for guard in _guards:
        guard.forget(group)
