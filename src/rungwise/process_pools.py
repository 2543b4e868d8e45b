"""Pools of new processes that leave Ctrl-C to their parent, and end when it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext
from types import FrameType
from typing import Any, TypeVar

from rungwise.errors import RungwiseError

T = TypeVar("T")


def spawn_context() -> SpawnContext:
    """Processes are spawned, not forked, since a thread may hold a lock during a fork."""
    return multiprocessing.get_context("spawn")


@contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Processes that are started within the block never receive SIGINT (Ctrl-C).

    Ctrl-C reaches the whole process group, and an interpreter that is importing would print a
    traceback. So would one whose parent is interrupted before it has sent its child any work; the
    parent itself handles the interrupt at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # If it were started within the block, it would unblock the signal for this process as well.
    resource_tracker.ensure_running()
    with _deferring_interrupts():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _deferring_interrupts() -> Iterator[None]:
    """Defer an interrupt to the end of the block: a mask alone leaves it to other threads."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs signal handlers in the main thread only
        return
    received: list[tuple[int, FrameType | None]] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        # None: it was not set from Python, and cannot be restored.
        signal.signal(signal.SIGINT, signal.SIG_DFL if usual is None else usual)
    if received and callable(usual):
        usual(*received[0])


def run_in_pool(
    pool: ProcessPoolExecutor,
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    *,
    cancel: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, T]]:
    """(number, result) of each task, when it is finished; then the pool is shut down.

    Args:
        pool: a fresh pool.
        function: what is called in its processes.
        tasks: the arguments of each call.
        cancel: called before the pool is shut down, so that tasks under way may end sooner: after
            an error or Ctrl-C no further results are needed.

    Raises:
        RungwiseError: a process died.
    """
    try:
        with ignoring_interrupts():
            futures = {pool.submit(function, *given): n for n, given in enumerate(tasks)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise RungwiseError(
            "A process that simulated studies died (out of memory?). No results were stored; try "
            "again with fewer --processes."
        ) from None
    finally:
        cancel()
        pool.shutdown(wait=True, cancel_futures=True)


def die_with_parent() -> None:
    """Called in a child: end it when its parent is killed.

    Otherwise it would wait for work forever.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
