"""A small process that outlives the tuner by a moment, to end what the tuner has started.

When a tuner is killed it cannot stop its workers. The keeper can: it hears of every worker's
process group, and when the tuner's end of its pipe closes, for whatever reason, it kills them
all. It inherits the lock of the study file, so that nobody takes the study up before that is done.

It is run as a script and imports nothing of rungwise: it must be there in no time.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress


def main() -> None:
    """Follow ``+group`` and ``-group`` lines until there are no more, then kill what is left."""
    groups: set[int] = set()
    for line in sys.stdin:
        sign, group = line[:1], int(line[1:])
        if sign == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):  # gone already
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    main()
