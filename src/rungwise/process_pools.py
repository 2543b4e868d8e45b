"""Pools of fresh processes that leave Ctrl-C to their parent, and end when it does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext
from types import FrameType


def fresh() -> SpawnContext:
    """How to start them: spawned, not forked, since a thread may hold a lock just now."""
    return multiprocessing.get_context("spawn")


@contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Processes that are started within the block do not hear of Ctrl-C, from their first moment.

    It reaches the whole group, and an interpreter that is just importing would print a traceback.
    So would one whose parent is interrupted before it has told its child what to do; the parent
    itself hears of it at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started within, it would lift the block for its starter as well.
    resource_tracker.ensure_running()
    with _held():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _held() -> Iterator[None]:
    """An interrupt waits for the end of the block: a mask alone leaves it to another thread."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no handler of Python's runs here
        return
    came: list[tuple[int, FrameType | None]] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        # None: it was not set from Python, and cannot be put back.
        signal.signal(signal.SIGINT, signal.SIG_DFL if usual is None else usual)
    if came and callable(usual):
        usual(*came[0])


def die_with_parent() -> None:
    """For a child to call: a parent that is killed without a word takes it along.

    Nobody else would end it: it would wait for work for ever.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
