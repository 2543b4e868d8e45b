"""What the children of overhead.py have in common: the task, the tally, the stopwatch.

Every system runs in a process of its own, a child, which gets its task from the environment (as do
the processes that it starts in turn) and prints what came of it as one line of JSON.

What was trained is counted by the trainable itself and not by the system: each process keeps a
few numbers in a mapped file of its own, which costs less than a microsecond an epoch and outlives
a SIGKILL, the way some systems pause and stop trials.
"""

from __future__ import annotations

import importlib
import json
import logging
import mmap
import os
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

VARIABLE = "RUNGWISE_OVERHEAD_TASK"
MAX_RESOURCE, ETA = 81, 3
NUMBERS = struct.Struct("qqdd")  # epochs, reports, times of the first and the last report


@dataclass(frozen=True)
class Task:
    """What to measure; see --help of overhead.py."""

    system: str
    mode: str
    trials: int
    epochs: int
    seconds: float
    workers: int
    limit: float
    folder: str
    born: float  # when the child was started; time.monotonic is the same clock in all processes

    @classmethod
    def given(cls) -> Task:
        """The task of this process."""
        return cls(**json.loads(os.environ[VARIABLE]))

    @property
    def environment(self) -> dict[str, str]:
        """An environment in which this is the task."""
        return {**os.environ, VARIABLE: json.dumps(asdict(self))}

    @property
    def longest(self) -> int:
        """The most epochs of a trial."""
        return self.epochs if self.mode == "fixed" else MAX_RESOURCE


@dataclass
class Counts:
    """What was trained and reported, and when (of time.monotonic)."""

    epochs: int = 0
    reports: int = 0
    first: float = 0.0
    last: float = 0.0


class Tally:
    """The trainable of one process, and its counts."""

    def __init__(self, task: Task) -> None:
        self.seconds = task.seconds
        self.counts = Counts()
        path = Path(task.folder, f"{os.getpid()}-{time.monotonic_ns()}.tally")
        with path.open("w+b") as file:
            file.truncate(NUMBERS.size)
            self.map = mmap.mmap(file.fileno(), NUMBERS.size)

    def train(self, x: float, epoch: int) -> float:
        """Train for an epoch, that is sleep or do nothing; what its loss is."""
        if self.seconds:
            time.sleep(self.seconds)
        self.counts.epochs += 1
        self.save()
        return x + 1.0 / epoch

    def reported(self) -> None:
        """A report was made."""
        counts = self.counts
        counts.last = time.monotonic()
        if not counts.reports:
            counts.first = counts.last
        counts.reports += 1
        self.save()

    def save(self) -> None:
        """Put the counts where they outlive the process."""
        counts = self.counts
        NUMBERS.pack_into(self.map, 0, counts.epochs, counts.reports, counts.first, counts.last)


_tallies: dict[str, Tally] = {}


def tally(task: Task | None = None) -> Tally:
    """The tally of this process."""
    key = os.environ[VARIABLE]
    if key not in _tallies:
        _tallies[key] = Tally(task or Task.given())
    return _tallies[key]


def counted(folder: str | Path) -> Counts:
    """The counts of all processes together."""
    whole = Counts()
    for path in Path(folder).glob("*.tally"):
        data = path.read_bytes()
        if len(data) < NUMBERS.size:  # killed before it had begun
            continue
        epochs, reports, first, last = NUMBERS.unpack(data)
        whole.epochs += epochs
        whole.reports += reports
        if reports:
            whole.first = min(whole.first or first, first)
            whole.last = max(whole.last, last)
    return whole


@dataclass
class Watch:
    """When the tuner was called, and for how long it worked."""

    start: float
    wall: float = 0.0
    processor: float = 0.0  # seconds of this process
    cpu: float = 0.0  # of this process


@contextmanager
def stopwatch(task: Task) -> Iterator[Watch]:
    """Time the tuner from its call to its return."""
    watch = Watch(time.monotonic())
    begun = time.process_time()
    Path(task.folder, "start").write_text(repr(watch.start), encoding="utf-8")
    used = time.process_time()
    yield watch
    watch.processor = time.process_time() - used
    watch.wall = time.monotonic() - watch.start
    watch.cpu = time.process_time() - begun


def peak_mb() -> float:
    """The largest resident set of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # the other figure may be that of the process that started this one
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def print_outcome(task: Task, watch: Watch, seen: int, peak: float | None = None) -> None:
    """Print what came of a task; seen is how many reports the tuner knows of."""
    outcome: dict[str, Any] = {
        "wall": watch.wall,
        "processor": watch.processor,
        "cpu": watch.cpu,
        "setup": watch.start - task.born,
        "start": watch.start,
        "seen": seen,
        "peak_mb": peak_mb() if peak is None else peak,
        "cut": watch.wall >= task.limit,
    }
    print("\n" + json.dumps(outcome), flush=True)


def start_ray(task: Task) -> Any:
    """A Ray of its own with a processor for each worker; the module."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = importlib.import_module("ray")
    ray.init(
        address="local",
        num_cpus=task.workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _temp_dir=f"{task.folder}/ray",
    )
    return ray


def run_processes(task: Task, script: str) -> tuple[Watch, list[dict[str, Any]]]:
    """Run a script in ``task.workers`` processes, timed from when all are ready to the last end.

    A process prints "ready", waits for "go", and prints its outcome as one line of JSON.
    """
    processes = [
        subprocess.Popen(
            [sys.executable, script, "process", str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(task.workers)
    ]
    for process in processes:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{script}: a process did not get ready")
    with stopwatch(task) as watch:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError(f"{script}: a process failed")
    return watch, [json.loads(text) for text in said]


def wait_for_go() -> None:
    """Say that this process is ready, and wait."""
    print("ready", flush=True)
    sys.stdin.readline()
