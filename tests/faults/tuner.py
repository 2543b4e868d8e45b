"""The tuner under test, in a process of its own that can be killed.

It is started once, imports everything, and forks a fresh tuner for each request that it reads
from its standard input as a line of JSON; so a test pays for the imports once. A request is
``{"start": {…}}``, answered with the number of the process, or ``{"poll": pid}``, answered with
how the process ended, or null.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import rungwise as rw
from rungwise.display.quiet import QuietDisplay
from rungwise.session import snapshot_keeper
from rungwise.storage.sqlite import SqliteLog

IMPORTED = (rw.tune, rw.resume, rw.PASHA)
"""Before the first fork: an interrupt in the middle of an import may get lost in Python itself."""

SPACE = {"a": rw.Float(0.2, 1.0), "b": rw.Float(0.0, 1.0)}


class Notices(QuietDisplay):
    """Keeps what a person should know."""

    def __init__(self, folder):
        self._file = (folder / "notices").open("a", buffering=1)

    def notice(self, text):
        self._file.write(text.replace("\n", " ") + "\n")


# -- mischief --------------------------------------------------------------------------------------


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_transaction(number, *, committed):
    """Kill the tuner in the middle of the n-th append, or after it and before anything is done."""
    original, seen = SqliteLog.extend, 0

    def extend(self, entries, **part):
        nonlocal seen
        seen += 1
        if seen < number:
            original(self, entries, **part)
            return
        if committed:
            original(self, entries, **part)
            die()
        with self.transaction():
            original(self, entries, **part)
            die()

    SqliteLog.extend = extend


def die_at_begin(number):
    """Kill the tuner when the study was written and not yet committed."""
    original = SqliteLog.begin

    def begin(self, study):
        original(self, study)
        die()

    SqliteLog.begin = begin


def die_in_migration(number):
    """Kill the tuner in the middle of making the n-th version of the tables."""
    from rungwise.storage import opening  # noqa: PLC0415

    def last(database):
        migrate(database)
        die()

    migrate = opening.MIGRATIONS[number]
    opening.MIGRATIONS = [*opening.MIGRATIONS[:number], last, *opening.MIGRATIONS[number + 1 :]]


def die_when_closing(number):
    """Kill the tuner when the workers are gone and the watchdog is not."""
    from rungwise.backends.processes import Watchdog  # noqa: PLC0415

    original = Watchdog.close

    def close(self):
        self._process.stdin.close = die
        original(self)

    Watchdog.close = close


def die_when_tidying(number):
    """Kill the tuner in the middle of removing checkpoints."""
    from rungwise.session.checkpoint_retention import CheckpointRetention  # noqa: PLC0415

    original = CheckpointRetention.tidy

    def tidy(self, leaders):
        original(self, leaders[:1])
        die()

    CheckpointRetention.tidy = tidy


def turn_back_the_clock(number):
    """With every look the clock has gone back by an hour."""
    hours = iter(range(10**9))
    time.time = lambda: 2e9 - 3600 * next(hours)
    time.time_ns = lambda: int(2e18) - 3600 * 10**9 * next(hours)


def keep_snapshots(number):
    """Store a snapshot every so many entries, as if the study were large."""
    snapshot_keeper.EVERY = number


MISCHIEF = {
    "snapshots": keep_snapshots,
    "transaction": lambda number: die_in_transaction(number, committed=False),
    "committed": lambda number: die_in_transaction(number, committed=True),
    "begin": die_at_begin,
    "migration": die_in_migration,
    "closing": die_when_closing,
    "tidying": die_when_tidying,
    "clock": turn_back_the_clock,
}


# -- a tuner ---------------------------------------------------------------------------------------


def peak():
    """The most memory this process has used so far, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def tuner(request):
    folder = Path(request["folder"])
    os.environ.update(request["environ"])
    os.environ["FAULTS"] = str(folder)
    for name, number in request["mischief"].items():
        MISCHIEF[name](number)
    import trainings  # noqa: PLC0415 - reads the environment

    train = getattr(trainings, request["train"])
    study, options = request["study"], dict(request["options"])
    if options.get("searcher") == "slow":
        rw.searchers.KDE.slow = True  # it is cheap, and proposes by all that it is shown
        options["searcher"] = rw.searchers.KDE(random=0.1)
    began, memory = time.monotonic(), peak()
    try:
        options["show"] = Notices(folder)
        if request["call"] == "resume":
            result = rw.resume(study, train, **options)
        else:
            result = rw.tune(
                train, SPACE, metric=trainings.METRIC, goal="max", study=study, **options
            )
        outcome = {"ended": result.ended, "why": result.why}
    except BaseException as error:  # noqa: BLE001 - the test is to see it
        outcome = {
            "error": type(error).__name__,
            "rungwise": isinstance(error, rw.RungwiseError),
            "message": str(error),
            "trace": traceback.format_exc(),
        }
    outcome["seconds"] = time.monotonic() - began
    outcome["cpu"] = time.process_time()
    outcome["grown"] = peak() - memory
    (folder / f"outcome-{os.getpid()}").write_text(json.dumps(outcome))


def start(request):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        out = os.open(
            Path(request["folder"]) / "tuner.out", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
        )
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (out, 1), (out, 2)):
            os.dup2(old, new)
        tuner(request)
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def main():
    # A shell hands down an ignored SIGINT to what it starts in the background; a person who
    # interrupts a tuner has started it in the foreground.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        request = json.loads(line)
        if "start" in request:
            answer = start(request["start"])
        else:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = None if pid == 0 else os.waitstatus_to_exitcode(status)
        print(json.dumps(answer), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
