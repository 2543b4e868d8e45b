"""A small process that outlives the tuner for a short time, to end what the tuner has started.

When a tuner is killed it cannot stop its workers. The watchdog can: the tuner sends it the process
group of every worker, and when the tuner's end of its pipe closes, for whatever reason, it kills
them all. It inherits the lock of the study file, so that no other tuner resumes the study before
that is done.

It is run as a script and imports nothing of rungwise: it must start quickly.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import suppress

KILL_TIMEOUT = 8.0
"""Seconds in which killed processes must be gone; a tuner waits longer than that for the lock."""


def main() -> None:
    """Follow ``+group`` and ``-group`` lines until there are no more, then kill what is left.

    The folders given as arguments, with what the tuner has written for its workers, go as well.
    A line ``.`` says that all is in order: then nothing is done.
    """
    groups: set[int] = set()
    for line in sys.stdin:
        if line[:1] == ".":
            return
        sign, group = line[:1], int(line[1:])
        if sign == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):  # gone already
            os.killpg(group, signal.SIGKILL)
    # SIGKILL does not act at once: a process that frees a GPU takes a while to end.
    deadline = time.monotonic() + KILL_TIMEOUT
    while not all(map(_gone, groups)) and time.monotonic() < deadline:
        time.sleep(0.01)
    for folder in sys.argv[1:]:
        shutil.rmtree(folder, ignore_errors=True)


def _gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return True
    # It may have ended and not have been reaped (in some containers no process ever does that).
    place = f"/proc/{group}"
    try:
        with open(f"{place}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            state = file.read().rpartition(")")[2].split()[0]
        return state == "Z" and len(os.listdir(f"{place}/task")) <= 1  # noqa: PTH208
    except OSError:
        return os.path.isdir("/proc/self")  # noqa: PTH112 - reaped, where /proc shows processes


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    main()
