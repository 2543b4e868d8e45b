"""A small process that outlives the tuner by a moment, to end what the tuner has started.

When a tuner is killed it cannot stop its workers. The watchdog can: it hears of every worker's
process group, and when the tuner's end of its pipe closes, for whatever reason, it kills them
all. It inherits the lock of the study file, so that no other tuner resumes the study before that
is done.

It is run as a script and imports nothing of rungwise: it must be there in no time.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import suppress

LONGEST = 8.0
"""Seconds that killed processes have to be gone; who waits for the lock waits longer."""


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
    # A kill is an order, not the deed: a process that frees a GPU takes its time to die.
    deadline = time.monotonic() + LONGEST
    while not all(map(_gone, groups)) and time.monotonic() < deadline:
        time.sleep(0.01)
    for folder in sys.argv[1:]:
        shutil.rmtree(folder, ignore_errors=True)


def _gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return True
    # It may be dead all the same, and only nobody has taken notice (some containers never do).
    place = f"/proc/{group}"
    try:
        with open(f"{place}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            state = file.read().rpartition(")")[2].split()[0]
        return state == "Z" and len(os.listdir(f"{place}/task")) <= 1  # noqa: PTH208
    except OSError:
        return os.path.isdir("/proc/self")  # noqa: PTH112 - reaped, if one could see it


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    main()
