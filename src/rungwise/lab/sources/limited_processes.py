"""Child processes with limits on memory and time, to read untrusted files in.

A file that asks for too much memory is refused by its name (``RLIMIT_AS``; systems without
``/proc``, as macOS, do not enforce it). One that takes too much processor time ends its process: a
signal alone can interrupt C code. Each process works through its own files in order, so the first
one without an answer is the one that ended it.
"""

from __future__ import annotations

import os
import resource
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rungwise import process_pools
from rungwise.errors import TableError, Words, WorkerStartError

T = TypeVar("T")

AHEAD = 8
"""So many files per process are handed over before their answers are taken."""


class Limits(NamedTuple):
    """What reading a file may take.

    Attributes:
        memory: bytes, beyond what the process has when it starts.
        seconds: seconds of processor time per file.
    """

    memory: int
    seconds: float


LIMITS = Limits(memory=512 * 2**20, seconds=10)
"""A hundred times what a real file takes, and more."""


def map_limited(
    function: Callable[[str, Any], T], tasks: Iterable[tuple[str, Any]], workers: int
) -> Iterator[T]:
    """What a function gives for each task, in their order.

    Args:
        function: is called with the name and the content of a task; a function of a module, since
            it is called in other processes.
        tasks: names of files, for errors, and what else the function needs.
        workers: how many processes there are.

    Raises:
        TableError: that of the function; or the file needs more than the limits.
        WorkerStartError: the processes cannot start.
    """
    waiting: deque[tuple[str, Future[T | TableError]]] = deque()
    with start_executors(workers, LIMITS) as executors:
        for executor, (name, content) in zip(cycle(executors), tasks, strict=False):
            waiting.append((name, _submit(executor, _call, function, name, content, LIMITS)))
            if len(waiting) == AHEAD * workers:
                yield _take_answer(*waiting.popleft())
        while waiting:
            yield _take_answer(*waiting.popleft())


def _submit(executor: Executor, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """The answer to come, which is an error if the process has ended already.

    An earlier file without an answer has ended it then, and its answer is taken before this one.
    """
    try:
        return executor.submit(function, *arguments)
    except BrokenProcessPool as error:
        future: Future[T] = Future()
        future.set_exception(error)
        return future


@contextmanager
def start_executors(workers: int, limits: Limits) -> Iterator[list[Executor]]:
    """Processes with limits; they end with the block."""
    executors: list[Executor] = []
    started: list[Future[int]] = []
    try:
        with process_pools.ignoring_interrupts():
            for _ in range(workers):
                executors.append(
                    ProcessPoolExecutor(
                        1,
                        mp_context=process_pools.spawn_context(),
                        initializer=_prepare,
                        initargs=(limits.memory,),
                    )
                )
                started.append(executors[-1].submit(int))  # here, without Ctrl-C
        _await_start(started)
        yield executors
    finally:
        for executor in executors:
            executor.shutdown(cancel_futures=True)


def _await_start(started: Iterable[Future[int]]) -> None:
    try:
        for one in started:
            one.result()
    except BrokenProcessPool as error:
        said = (
            "the processes that read files ended at once. In a script, put the call under "
            'if __name__ == "__main__": each process imports the script again'
        )
        raise WorkerStartError(said) from error


def _take_answer(name: str, future: Future[T | TableError]) -> T:
    try:
        answer = future.result()
    except BrokenProcessPool as error:
        rule = (
            f"it must be readable, in at most {LIMITS.seconds:g} seconds of processor time: the "
            f"reading process ended. The file is probably damaged: download it again. If another "
            f"program ended the process, try again"
        )
        raise TableError(name, Words("unreadable"), rule) from error
    if isinstance(answer, TableError):
        raise answer
    return answer


# -- in the child ------------------------------------------------------------------------------


def _prepare(memory: int) -> None:
    process_pools.die_with_parent()
    limit_memory(memory)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # Python itself prints a few faults that an untrusted file can cause.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def limit_memory(more: int) -> None:
    """Let this process have so many bytes more than now, where the system can enforce it."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        size = int(statm.read_text("ascii").split()[0]) * resource.getpagesize() + more
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        soft = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _call(
    function: Callable[[str, Any], T], name: str, content: Any, limits: Limits
) -> T | TableError:
    """The answer, or the error as a value: raised, it would bring a traceback of this process."""
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)  # its signal ends the process
    try:
        return function(name, content)
    except TableError as error:  # a copy, without the frames that hold what was read
        return TableError(error.argument, error.value, error.rule)
    except MemoryError:
        rule = f"reading it must take at most {limits.memory >> 20:,} MiB of memory"
        return TableError(name, Words("too large"), rule)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
