"""How long do `show` and `list` take on large studies, and how much memory?

Writes studies of 10,000 trials with few and with many reports (from the simulator), and runs the
commands on them in processes of their own. What is printed from the summary in the file must not
depend on the number of reports; with --replay the summary is removed, and everything is replayed.

    python perf/reading.py
    python perf/reading.py --resources 20 200 --replay
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import rungwise as rw
from rungwise.core.study import Study
from rungwise.storage.base import Entry
from rungwise.storage.study_file import About, StudyFile
from rungwise.tuning.folding import fold
from rungwise.tuning.summaries import keep_summary

BATCH = 1000


class FileLog:
    """A study file as the log of a simulation, written in large transactions."""

    def __init__(self, file: StudyFile) -> None:
        self._file = file
        self._waiting: list[Entry] = []

    def begin(self, study: Study) -> None:
        """Store the specification of the study."""
        self._file.begin_with(study, About(metric="loss"))

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
        self._file.extend(waiting)


def write_study(path: Path, trials: int, resources: int) -> int:
    """Write a study in which every trial is trained fully; how many reports it has."""
    table = rw.power_laws(rows=trials, resources=resources, seed=1)
    with StudyFile(path) as file:
        log = FileLog(file)
        rw.simulate(table, f"fixed:{resources}", trials=trials, workers=4, log=log)  # type: ignore[arg-type]
        log.flush()
        engine, seconds = fold(file)
        keep_summary(file, engine, seconds)
        return engine.reports


def measure(*command: str) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and megabytes that a command takes."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", "from rungwise.cli import main; main()", *command],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} ended with {status}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Write the studies and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--resources", type=int, nargs="*", default=[2, 20])
    parser.add_argument("--replay", action="store_true")
    asked = parser.parse_args()
    print(
        "| reports | command | seconds | of the processor | MB |\n|---|---|---|---|---|", flush=True
    )
    for resources in asked.resources:
        with tempfile.TemporaryDirectory(prefix="reading-") as folder:
            path = Path(folder, "study.db")
            reports = write_study(path, asked.trials, resources)
            if asked.replay:
                database = sqlite3.connect(path)
                database.execute("DELETE FROM summary")
                database.commit()
                database.close()
            for command in (("show", str(path)), ("list", folder)):
                seconds, processor, megabytes = measure(*command)
                times = f"{seconds:.1f} | {processor:.1f}"
                row = f"| {reports:,} | {command[0]} | {times} | {megabytes:.0f} |"
                print(row, flush=True)


if __name__ == "__main__":
    main()
