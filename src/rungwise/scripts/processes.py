"""End processes of the user's scripts, and describe how they ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rungwise.backends.unwinding import UNWIND

TERM_TIMEOUT = 2.0
"""Seconds between asking a script to end (SIGTERM) and killing it (SIGKILL). It is less than the
grace of a tuner for its workers, so that the worker is still alive to do the second."""

_PAUSE = 0.02
_PROCESSES = Path("/proc")

Known = tuple[int, str]
"""A process: its number, and when it started, because numbers are used again."""


@contextmanager
def delaying_unwind() -> Iterator[None]:
    """A signal to unwind that arrives within the block is handled at its end.

    If an exception were raised while a process is being started, nothing would ever end it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = signal.signal(UNWIND, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        signal.signal(UNWIND, signal.SIG_DFL if before is None else before)
    if caught:
        signal.raise_signal(UNWIND)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it started: SIGTERM, then SIGKILL; nothing if it has ended already.

    Those it started are found only where the system lists processes under /proc.
    """
    if process.poll() is not None:
        return
    family = _descendants(process.pid)
    try:
        process.terminate()
        _send(family, signal.SIGTERM)
        deadline = time.monotonic() + TERM_TIMEOUT
        while time.monotonic() < deadline and (process.poll() is None or _alive(family)):
            time.sleep(_PAUSE)
        if process.returncode is None:
            family |= _descendants(process.pid)  # started meanwhile
    finally:  # also when this very wait is interrupted
        process.kill()  # does nothing to one that has ended
        _send(family, signal.SIGKILL)
        process.wait()
        _await_deaths(family)


def _await_deaths(family: set[Known]) -> None:
    """Wait, for a limited time, until killed processes are gone: SIGKILL does not act at once."""
    deadline = time.monotonic() + TERM_TIMEOUT
    while _alive(family) and time.monotonic() < deadline:
        time.sleep(_PAUSE)


def describe_exit(code: int) -> str:
    """How a process ended, as the rest of a sentence."""
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"was killed by {name}{hint}"
    hints = {126: " (a command is not executable)", 127: " (a command was not found)"}
    return f"ended with exit code {code}{hints.get(code, '')}"


def _descendants(pid: int) -> set[Known]:
    """The children of a process, their children, and so on."""
    children: dict[int, list[Known]] = {}
    for entry in _PROCESSES.glob("[0-9]*"):
        found = _stat(int(entry.name))
        if found is not None:
            parent, started = found
            children.setdefault(parent, []).append((int(entry.name), started))
    family: set[Known] = set()
    ahead = [pid]
    while ahead:
        for child in children.get(ahead.pop(), ()):
            if child not in family:
                family.add(child)
                ahead.append(child[0])
    return family


def _stat(pid: int) -> tuple[int, str] | None:
    """The parent of a process and when it started; None if it has ended."""
    try:
        text = (_PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold anything; fields 3, 4 and 22 of proc(5) stand behind it.
    state, parent, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else (int(parent), rest[17])


def _alive(family: set[Known]) -> bool:
    return any(_is(known) for known in family)


def _is(known: Known) -> bool:
    found = _stat(known[0])
    return found is not None and found[1] == known[1]


def _send(family: set[Known], number: int) -> None:
    for known in family:
        if _is(known):
            try:
                os.kill(known[0], number)
            except (ProcessLookupError, PermissionError):
                continue  # ended meanwhile, or its number belongs to another user's process
