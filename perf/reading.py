"""How long do `show`, `list`, `resume` and the page take on large studies, and how much memory?

Writes studies of 10,000 trials with few and with many reports (from the simulator), and runs the
commands on them in processes of their own: first as a tuner leaves them that is killed just before
its next snapshot, then as one leaves them that has ended. `resume` is timed until its first report,
`dashboard` until its page has all that it shows. With --replay there are no snapshots, and
everything is replayed.

    python perf/reading.py
    python perf/reading.py --resources 20 200 --replay
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

import rungwise as rw
from rungwise.core.engine import Engine
from rungwise.core.study import Study
from rungwise.session.snapshot_keeper import EVERY, SnapshotKeeper
from rungwise.storage.base import Entry
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.folding import fold

BATCH = 1000

SHOW = "from rungwise.cli import main; main()"

RESUME = """
import os, sys
import rungwise as rw

def train(config, run):
    for epoch in run.resources():
        run.report(epoch, loss=1.0)

def stop(event):
    os._exit(0)  # its time and its memory so far are what is asked for

rw.resume(sys.argv[2], train, trials=int(sys.argv[3]), backend=rw.Threads(1),
          on_report=stop, show="quiet")
"""


class FileLog:
    """A study file as the log of a simulation, with snapshots as a tuner keeps them.

    Args:
        file: the file, open for writing.

    Attributes:
        engine: the engine of the study, which handles the same events.
        seconds: the processor time that snapshots took.
    """

    def __init__(self, file: StudyFile) -> None:
        self._file = file
        self._waiting: list[Entry] = []
        self.seconds = 0.0

    def begin(self, study: Study) -> None:
        """Store the specification of the study."""
        self._file.begin_with(study, StudyRecord(metric="loss"))
        self.engine = Engine(study)
        self.keeper = SnapshotKeeper(self._file.main, self.engine)

    def append(self, *entry: object) -> None:
        """Store an entry with the next batch."""
        self.extend([entry])  # type: ignore[list-item]

    def extend(self, entries: Iterable[Entry]) -> None:
        """Store entries with the next batch."""
        self._waiting += entries
        if len(self._waiting) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Store what is waiting."""
        waiting, self._waiting = self._waiting, []
        for event, _ in waiting:
            self.engine.handle(event)
        self._file.main.extend(waiting)
        began = time.process_time()
        self.keeper.work()
        self.seconds += time.process_time() - began


def write_study(path: Path, trials: int, resources: int) -> tuple[int, float]:
    """Write a study in which every trial is trained fully: its reports, and what snapshots cost."""
    table = rw.power_laws(rows=trials, resources=resources, seed=1)
    with StudyFile(path) as file:
        log = FileLog(file)
        rw.simulate(table, f"fixed:{resources}", trials=trials, workers=4, log=log)  # type: ignore[arg-type]
        log.flush()
        return log.engine.reports, log.seconds


def leave(path: Path) -> None:
    """What a tuner does when it leaves a study."""
    with StudyFile(path) as file:
        engine, _ = fold(file)
        SnapshotKeeper(file.main, engine).close()


def forget(path: Path) -> None:
    """Remove everything from a study but its entries."""
    database = sqlite3.connect(path)
    database.execute("DELETE FROM snapshot")
    database.commit()
    database.close()


def run_elsewhere(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own.

    For Linux the most memory that a process has had is at least what its parent has when it starts
    it; so this process must stay small.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def measure(program: str, *command: str) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and megabytes that a command takes."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", program, *command], stdout=subprocess.DEVNULL)
    processor, megabytes = wait_for(process, command)
    return time.monotonic() - began, processor, megabytes


def measure_page(path: Path) -> tuple[float, float, float]:
    """Seconds until a page has all that it shows of a study, and what its server takes in all."""
    began = time.monotonic()
    command = ("dashboard", str(path), "--no-open", "--until-closed")
    with subprocess.Popen(
        [sys.executable, "-c", SHOW, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        browser = build_opener(HTTPCookieProcessor(), ProxyHandler({}))
        browser.open(address).read()
        with browser.open(f"{address.partition('?')[0]}snapshot?study={path.name}") as answer:
            shown = json.loads(answer.read())
        seconds = time.monotonic() - began
        if len(shown["trials"]) != shown["headline"]["trials"]:
            raise SystemExit("the page does not show all trials")
        process.stdin.close()
        return seconds, *wait_for(process, command)


def wait_for(process: subprocess.Popen[bytes], command: tuple[str, ...]) -> tuple[float, float]:
    """Seconds of processor time and megabytes that a process has taken."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{command} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def print_row(reports: int, state: str, name: str, found: tuple[float, float, float]) -> None:
    """Print a row of the table."""
    seconds, processor, megabytes = found
    cells = f"{seconds:.1f} | {processor:.1f} | {megabytes:.0f}"
    print(f"| {reports:,} | {state} | {name} | {cells} |", flush=True)


def main() -> None:
    """Write the studies and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--resources", type=int, nargs="*", default=[2, 20])
    parser.add_argument("--replay", action="store_true")
    asked = parser.parse_args()
    print("| reports | study | command | seconds | of the processor | MB |")
    print("|---|---|---|---|---|---|", flush=True)
    notes = []
    for resources in asked.resources:
        with tempfile.TemporaryDirectory(prefix="reading-") as folder:
            path = Path(folder, "study.db")
            reports, cost = run_elsewhere(write_study, path, asked.trials, resources)
            notes.append(f"{reports:,} reports: snapshots took {1e6 * cost / reports:.2f} µs each")
            for state in ("killed", "ended"):
                if state == "ended":
                    run_elsewhere(leave, path)
                if asked.replay:
                    forget(path)
                for name, program, *words in (
                    ("show", SHOW, "show", str(path)),
                    ("list", SHOW, "list", folder),
                    ("resume", RESUME, "resume", str(path), str(asked.trials + 1)),
                ):
                    print_row(reports, state, name, measure(program, *words))
                if asked.replay:
                    forget(path)  # resume has stored one again
                print_row(reports, state, "dashboard", measure_page(path))
    print(f"\nA snapshot every {EVERY:,} entries. {'; '.join(notes)}.")


if __name__ == "__main__":
    main()
