"""Ctrl-C once: finish gracefully; twice: now. SIGTERM counts as the first.

A script that does not catch the interrupt ends with its message instead of a traceback.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from rungwise.errors import StudyInterrupted

EXIT_CODE = 130
"""The exit code of a program that was interrupted."""

ExceptHook = Callable[[type[BaseException], BaseException, TracebackType | None], object]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def graceful(on_first: Callable[[], None]) -> Iterator[None]:
    """Within the block the first signal calls on_first, the second raises, others do nothing.

    Signals can be handled in the main thread only; elsewhere nothing is changed.

    Args:
        on_first: called inside the signal handler.

    Raises:
        KeyboardInterrupt: at the second signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen = 0

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal seen
        seen += 1
        if seen == 1:
            on_first()
        elif seen == 2:
            raise KeyboardInterrupt
        # A third must not interrupt the cleaning that the second has begun: it ends everything
        # that was started, which takes a moment.

    before: dict[int, Any] = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: it was not set from Python, and cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def make_interrupt(message: str) -> StudyInterrupted:
    """The exception of an interrupted study; a script that does not catch it shows no traceback."""
    if not isinstance(sys.excepthook, _ShortEnding):
        sys.excepthook = _ShortEnding(sys.excepthook)
    return StudyInterrupted(message)


class _ShortEnding:
    """Shows the exception of an interrupted study without a traceback, and all others as before.

    Args:
        before: shows the others.
    """

    def __init__(self, before: ExceptHook) -> None:
        self._before = before

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if not issubclass(kind, StudyInterrupted):
            self._before(kind, error, trace)
            return
        print(f"rungwise: {error}", file=sys.stderr)  # noqa: T201 - it is the place for it
        if not (sys.flags.interactive or hasattr(sys, "ps1")):
            raise SystemExit(EXIT_CODE)  # Python ends with the code of an error raised here
