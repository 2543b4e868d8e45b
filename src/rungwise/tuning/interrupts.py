"""Ctrl-C once: finish gracefully; twice: now. SIGTERM counts as the first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def graceful(on_first: Callable[[], None]) -> Iterator[None]:
    """Within the block the first signal calls on_first, and the second raises.

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
        if seen > 1:
            raise KeyboardInterrupt
        on_first()

    before: dict[int, Any] = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: it was not set from Python, and cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
