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

INTERRUPTED = 130
"""How a command ends that was interrupted, as shells tell it."""


def fresh() -> SpawnContext:
    """How to start them: spawned, not forked, since a thread may hold a lock just now."""
    return multiprocessing.get_context("spawn")


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started within the block do not hear of Ctrl-C, from their first moment.

    It reaches the whole group, and an interpreter that is just importing would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started within, it would lift the block for its starter as well.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
