"""How one callback is called: at once, or behind a bounded queue in a thread of its own.

Law of this file: whatever a callback raises, and however long it takes, the study goes on and its
other callbacks are called. Reports that could not be passed on are not lost: they are in the log,
and before the end the callback is given all of them again (:meth:`Callback.fill`).
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any

from rungwise.callbacks.base import METHODS, Callback
from rungwise.callbacks.events import StudyBegan, StudyEnded

CAPACITY = 100_000
"""Facts that may wait for a slow callback; what comes then is filled in at the end."""

FAILURES = 10
"""After so many failures of a method in a row a callback is not called again before the end."""

PERIOD = 0.4
"""Seconds between two looks into the queue: rare, so that a study does not feel them."""

LONGEST_REST = 10.0
"""Seconds after which a slow callback is called again in any case."""

SLICE = 0.01
"""Seconds that facts are passed on for in one go; what waits longer is passed on at the end."""

REST = 39
"""A slow callback rests so many times as long as it worked: threads share one interpreter."""

LONGEST_BEGINNING = 10.0
"""Seconds that a study waits for a slow callback to begin: what it loads would slow reports."""

LONGEST_CALL = 60.0
"""When the study has ended, a slow callback is given up after so many seconds in one call."""

SHOW_AFTER = 2.0
"""Seconds after which the user is told what is waited for."""

Tell = Callable[[str], None]


class Outlet:
    """Calls a callback at once.

    Args:
        callback: the callback.
        say: shows something important; called in the thread that calls the callback.
    """

    def __init__(self, callback: Callback, say: Tell) -> None:
        self._callback = callback
        self._say = say
        self._name = type(callback).__name__
        self._fatal = callback.stops_the_study
        self._methods = {name: getattr(callback, name) for name in METHODS}
        self._began: StudyBegan | None = None
        self._failures = 0
        self._in_a_row: Counter[str] = Counter()
        self._missed = 0  # facts that were not passed on, or whose call failed
        self._off = self._never_begun = False

    def put(self, name: str, fact: Any) -> None:
        """Pass on a fact.

        Args:
            name: of the method.
            fact: its argument, or a ``partial`` that makes it.
        """
        self._pass_on(name, fact)

    def wait_until_begun(self) -> None:
        """Return when :meth:`Callback.begin` has returned."""

    def close(self, show: Tell) -> None:
        """Return when everything was passed on.

        Args:
            show: says what is waited for.
        """

    def _pass_on(self, name: str, fact: Any) -> None:
        if type(fact) is partial:
            fact = fact()
        if isinstance(fact, StudyBegan):
            self._began = fact
            self._call(name, fact)
            if self._failures:
                self._off = self._never_begun = True
            elif fact.resumed:
                self._call("fill", fact.earlier())
            return
        if isinstance(fact, StudyEnded):
            self._off = self._never_begun  # one that was given up has another chance
            if self._missed and self._began is not None:
                self._call("fill", self._began.earlier())
        self._call(name, fact)

    def _call(self, name: str, *arguments: Any) -> None:
        method = self._methods[name]
        if self._off:
            return
        try:
            method(*arguments)
        except BaseException as error:  # a library may call sys.exit()
            if self._fatal or self._is_of_the_study(error):
                raise
            self._failed(name, error)
        else:
            self._in_a_row[name] = 0

    def _is_of_the_study(self, error: BaseException) -> bool:
        """Whether an error has only met the callback, and was meant for the study: a Ctrl-C."""
        return isinstance(error, KeyboardInterrupt)

    def _failed(self, name: str, error: BaseException) -> None:
        self._failures += 1
        self._in_a_row[name] += 1
        self._missed += 1
        what = f"the callback {self._name} failed in {name}() ({type(error).__name__}: {error})"
        if name == "begin":
            self._say(f"{what}; it is not called any more, and the study goes on")
        elif self._failures == 1:
            self._say(f"{what}; the study goes on, and so does the callback")
        if self._in_a_row[name] == FAILURES:
            self._off = True
            self._say(f"{what}, {FAILURES} times in a row: it is not called again before the end")


class QueuedOutlet(Outlet):
    """Calls a callback in a thread of its own, in the order of the facts.

    Args:
        callback: the callback.
        say: shows something important; called in that thread.
    """

    def __init__(self, callback: Callback, say: Tell) -> None:
        super().__init__(callback, say)
        self._queue: deque[tuple[str, Any]] = deque()
        self._closing = threading.Event()
        self._told = threading.Event()  # that the study begins, or that there is none
        self._ready = threading.Event()
        self._left_at = time.monotonic()  # when the last call returned
        self._thread = threading.Thread(
            target=self._work, name=f"rungwise-{self._name}", daemon=True
        )

    def put(self, name: str, fact: Any) -> None:
        """Let a fact wait for its turn, if there is room.

        Args:
            name: of the method.
            fact: its argument, or a ``partial`` that makes it when its turn has come.
        """
        if self._thread.ident is None:  # the first one: until then nobody would end the thread
            self._thread.start()
        if len(self._queue) < CAPACITY or isinstance(fact, StudyEnded):
            self._queue.append((name, fact))
            self._told.set()
        else:
            if not self._missed:
                self._say(
                    f"the callback {self._name} is slower than the reports: those after "
                    f"{CAPACITY:,} that wait are added when the study has ended"
                )
            self._missed += 1

    def wait_until_begun(self) -> None:
        """Wait until the callback is ready; one that takes too long begins while trials train."""
        self._ready.wait(LONGEST_BEGINNING)

    def close(self, show: Tell) -> None:
        """Wait until everything was passed on, as long as the callback gets anywhere.

        Args:
            show: says what is waited for.
        """
        self._closing.set()
        self._told.set()
        begun = time.monotonic()
        said = False
        while self._thread.is_alive():
            self._thread.join(0.1)
            now = time.monotonic()
            if not said and now - begun > SHOW_AFTER:
                said = True
                show(f"waiting for the callback {self._name}: {len(self._queue)} facts left")
            if now - max(begun, self._left_at) > LONGEST_CALL:
                self._say(
                    f"the callback {self._name} has not returned for {LONGEST_CALL:g} seconds and "
                    f"is given up; {len(self._queue)} facts were not passed on. Resume the study "
                    f"with the same callback: it adds what is missing"
                )
                return

    def _is_of_the_study(self, error: BaseException) -> bool:  # noqa: ARG002
        """In this thread none is."""
        return False

    def _work(self) -> None:
        self._told.wait()
        self._drain()
        pause = PERIOD
        while True:
            closing = self._closing.wait(pause)
            begun = time.monotonic()
            self._drain()
            if self._began is not None:
                self._call("flush")
            self._left_at = time.monotonic()
            if closing and not self._queue:
                return
            pause = min(max(PERIOD, REST * (self._left_at - begun)), LONGEST_REST)

    def _drain(self) -> None:
        begun = time.monotonic()
        while self._queue:
            self._pass_on(*self._queue.popleft())
            self._ready.set()
            self._left_at = time.monotonic()
            if self._left_at - begun > SLICE and not self._closing.is_set():
                return
