"""How far does one tuner carry, and does a report cost more with more workers or more trials?

    python perf/scale.py tuner                      # 10, 100, 1000 fake workers over TCP
    python perf/scale.py simulator                  # 10,000 simulated workers, 10⁶ trials

``tuner``: a whole study by ``rungwise.tune`` with its file, while another process plays all the
workers: they connect over TCP with the token, and report as fast as they are answered. A report is
durable when it is answered: it is in the study file. Reports per second are counted from the first
report to the last; the CPU time is that of the tuner's process, the fake workers' is not in it.

``simulator``: ASHA and PASHA on recorded noisy power laws with many workers in virtual time. CPU
time is that of everything (event loop, engine, criterion); memory is the growth of the process.

Run it with nothing else on the machine.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rungwise as rw
from rungwise.backends.base import PreparedBackend
from rungwise.backends.launchers import Ending
from rungwise.backends.listener import Listener
from rungwise.backends.workers import WorkerBackend

WORKERS = Path(__file__).with_name("_scale_workers.py")


# -- the tuner -------------------------------------------------------------------------------------


class FakeHandle:
    """The tuner's end of a fake worker."""

    def __init__(self, number: int) -> None:
        self.where = self.node = f"fake {number}"
        self.waits_for = "it has not connected"
        self.socket: socket.socket | None = None
        self.output: int | None = None
        self.leaving: str | None = None
        self.dead = False

    def nudge(self) -> None:
        """A message has to do."""

    def kill(self) -> None:
        """Its end is that of its socket."""

    def release(self) -> None:
        """Never asked for: their number does not change."""

    def reap(self) -> Ending:
        """Close the socket."""
        if self.socket is not None:
            self.socket.close()
        return Ending("its socket was closed")


class FakeLauncher:
    """All fake workers are one process, which connects once for each."""

    def __init__(self, workers: int) -> None:
        self._listener = Listener("127.0.0.1", self._greeted)
        self.arrivals: int | None = self._listener.fileno()
        self._handles = [FakeHandle(number) for number in range(workers)]
        command = [self._listener.address, self._listener.token, str(workers)]
        self._process = subprocess.Popen([sys.executable, str(WORKERS), *command])

    def wanted(self, busy: int, idle: int) -> int | None:  # noqa: ARG002
        """It does not change."""
        return None

    def launch(self, number: int) -> FakeHandle:
        """It is on its way."""
        return self._handles[number]

    def accept(self) -> None:
        """Take in who has connected."""
        self._listener.attend()

    def _greeted(self, greeting: Mapping[str, Any], connected: socket.socket) -> None:
        self._handles[greeting["number"]].socket = connected

    def close(self) -> None:
        """End the process."""
        self._listener.close()
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class FakeWorkers:
    """A backend whose workers train nothing."""

    workers: int = 10

    def prepare(self, train: Any) -> PreparedBackend:  # noqa: ARG002 - nothing is trained
        """Start nothing yet."""
        return PreparedBackend(
            self.workers,
            lambda place: WorkerBackend(
                lambda _: FakeLauncher(self.workers),
                self.workers,
                setup={"cwd": os.getcwd(), "preload": []},  # noqa: PTH109
                function=b"nothing",
                workplace=place,
            ),
        )

    def single(self) -> FakeWorkers:
        """One of them."""
        return FakeWorkers(1)


def measure_tuner(workers: int, trials: int) -> None:
    """Tune, and print one line."""
    times: list[float] = []
    cpu: list[float] = []

    def count(_: rw.ReportEvent) -> None:
        times.append(time.perf_counter())
        cpu.append(time.process_time())

    with tempfile.TemporaryDirectory() as folder:
        result = rw.tune(
            lambda config, run: None,  # noqa: ARG005 - fake workers do not call it
            {"x": rw.Float(0, 1)},
            metric="loss",
            goal="min",
            max_resource=81,
            trials=trials,
            scheduler="asha",
            backend=FakeWorkers(workers),
            study=Path(folder, "study.db"),
            on_report=count,
            show="quiet",
        )
        rate = (len(times) - 1) / (times[-1] - times[0])
        spent = (cpu[-1] - cpu[0]) / (len(cpu) - 1) * 1e6
        size = Path(folder, "study.db").stat().st_size / result.reports
    print(
        f"{workers:6} workers  {trials:7} trials  {result.reports:8} reports  "
        f"{rate:8,.0f} durable reports/s  {spent:6.1f} µs CPU/report  {size:5.0f} bytes/report",
        flush=True,
    )


# -- the simulator ---------------------------------------------------------------------------------


def measure_simulator(scheduler: str, workers: int, trials: int) -> None:
    """Simulate in a process of its own, whose memory is nothing else's."""
    arguments = ["_simulate", scheduler, str(workers), str(trials)]
    subprocess.run([sys.executable, __file__, *arguments], check=True)


def simulate_here(scheduler: str, workers: int, trials: int) -> None:
    """Simulate, and print one line."""
    table = rw.power_laws(trials, 27, seed=0, noise=0.01, crossings=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.collect()
    start = time.process_time()
    result = rw.simulate(table, scheduler, trials=trials, workers=workers, seed=0)
    spent = (time.process_time() - start) / result.reports * 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{scheduler:6} {workers:6} workers  {trials:8} trials  {result.reports:9} reports  "
        f"{spent:6.1f} µs CPU/report  {(peak - before) / 1024:7.0f} MiB  "
        f"{(peak - before) * 1024 / trials:6.0f} bytes/trial",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["_simulate"]:
        simulate_here(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    tuner = commands.add_parser("tuner")
    tuner.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    tuner.add_argument("--trials", type=int, default=10_000)
    simulator = commands.add_parser("simulator")
    simulator.add_argument("--workers", type=int, default=10_000)
    simulator.add_argument("--trials", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    simulator.add_argument("--schedulers", nargs="+", default=["asha", "pasha"])
    options = parser.parse_args()
    if options.command == "tuner":
        for workers in options.workers:
            measure_tuner(workers, options.trials)
    else:
        for scheduler in options.schedulers:
            for trials in options.trials:
                measure_simulator(scheduler, options.workers, trials)


if __name__ == "__main__":
    main()
