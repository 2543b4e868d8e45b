# ruff: noqa: T201 - it prints a table
"""Kill tuners, workers and watchdogs for as long as asked, and count what was lost.

It is not part of the test suite. What trials did is written down by the trials themselves, outside
rungwise: one line for every acknowledged report, and a lock per trial, so that two processes that
train the same trial at once are caught in the act. Functions, scripts and Gaussian processes take
part. The table that it prints is the one of docs/faults.md.

    python tests/faults/campaign.py --kills 500 --minutes 15
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from faults.scenarios import Launcher, Scene, eventually  # noqa: E402

import rungwise as rw  # noqa: E402
from rungwise.tuning.verification import verify_study  # noqa: E402

KINDS = {
    "function, 1 worker": {"train": "steady", "workers": 1},
    "function, 3 workers": {"train": "steady", "workers": 3},
    "stopping": {"train": "steady", "workers": 2, "scheduler": "asha:variant=stopping"},
    "KDE": {"train": "steady", "workers": 2, "searcher": "kde"},
    "GP": {"train": "steady", "workers": 2, "searcher": "gp:startup=4"},
    "script": {"train": "scripted", "workers": 2},
}
"""What is killed; each in turn."""

TARGETS = ("tuner", "tuner", "tuner", "worker", "watchdog", "watchdog and tuner", "stop")
"""Who is killed, at random; "stop" stops the tuner for a while instead."""


class Study:
    """One study that is killed and resumed until it has ended.

    Args:
        scene: where it is.
        kind: its row in the table.
        rng: decides about everything random.
        row: what is counted.
    """

    def __init__(self, scene: Scene, kind: str, rng: random.Random, row: Counter[str]) -> None:
        self.scene, self.rng, self.row = scene, rng, row
        self.options = {"trials": 18, "max_resource": 27, "retries": 1000, **KINDS[kind]}
        self.train = self.options.pop("train")

    def run(self, kills: int, deadline: float) -> int:
        """Kill until it has ended, or so many times; how many times that was."""
        done = 0
        tuner = self._start(0.02)
        while done < kills and time.monotonic() < deadline:
            time.sleep(self.rng.uniform(0.05, 1.2))
            if tuner.poll() is not None:
                break
            if self._strike(tuner):
                done += 1
            if tuner.poll() is not None:  # resumed at once, whatever the last one has left
                tuner = self._start(0.02)
        tuner.wait(within=300)
        for _ in range(5):
            if "ended" in self._outcome(tuner):
                break
            tuner = self._start(0.0)
            tuner.wait(within=300)
        self._check()
        return done

    def _start(self, pace: float):
        # Half of them store a snapshot every ten entries, as if they were large.
        mischief = {"snapshots": 10} if self.rng.random() < 0.5 else {}
        return self.scene.start(self.train, pace=pace, mischief=mischief, **self.options)

    def _outcome(self, tuner) -> str:
        with suppress(OSError):
            return (self.scene.folder / f"outcome-{tuner.pid}").read_text()
        return ""

    def _strike(self, tuner) -> bool:
        target = self.rng.choice(TARGETS)
        self.row[target] += 1
        if target == "stop":
            tuner.signal(signal.SIGSTOP)
            time.sleep(self.rng.uniform(0.5, 2))
            tuner.signal(signal.SIGCONT)
            return True
        if target == "worker":
            facts = self.scene.side("leg", "script")[-2:]
            return self._kill([fact["pid"] for fact in facts][:1])
        if target.startswith("watchdog"):
            found = self._kill(self.scene.watchdogs())
            return tuner.kill() if target == "watchdog and tuner" else found
        return tuner.kill()

    def _kill(self, pids: list[int]) -> bool:
        hit = False
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                hit = True
        return hit

    def _check(self) -> None:
        """Compare the journal of the trials with the study file."""
        row = self.row
        row["studies"] += 1
        row["acknowledged"] += len(self.scene.side("ack"))
        row["trained twice at once"] += len(self.scene.side("violation"))
        try:
            engine = self.scene.assert_sound()
            verify_study(self.scene.study)
        except Exception as error:  # noqa: BLE001 - it is counted
            row["lost or wrong"] += 1
            print(f"NOT SOUND: {error}", file=sys.stderr)
            return
        row["not ended"] += engine.ended is None
        row["failed trials"] += sum(trial.failed for trial in engine.trials)
        try:
            eventually(lambda: not self.scene.processes(), within=10)
        except AssertionError:
            row["orphans"] += len(self.scene.processes())
        rw.load(self.scene.study).to_json()


COLUMNS = (
    "studies",
    "kills",
    "acknowledged",
    "lost or wrong",
    "trained twice at once",
    "orphans",
    "not ended",
    "failed trials",
)


def main() -> None:
    """Run the campaign that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)  # noqa: S311
    deadline = time.monotonic() + 60 * asked.minutes
    table: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    if not _has_gp():
        del table["GP"]  # two empty studies are equal, and say nothing
        print("GP is left out: its extra is not installed", file=sys.stderr)
    launcher, total = Launcher(), 0
    try:
        while total < asked.kills and time.monotonic() < deadline:
            for kind, row in table.items():
                if total >= asked.kills or time.monotonic() > deadline:
                    break
                with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
                    scene = Scene(launcher, Path(folder))
                    try:
                        hit = Study(scene, kind, rng, row).run(
                            min(20, asked.kills - total), deadline
                        )
                    finally:
                        scene.close()
                row["kills"] += hit
                total += hit
    finally:
        launcher.close()
    show(table)


def show(table: dict[str, Counter[str]]) -> None:
    """Print the table for the docs."""
    print(f"| | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for kind, row in (*table.items(), ("in all", sum(table.values(), Counter()))):
        print(f"| {kind} | {' | '.join(str(row[name]) for name in COLUMNS)} |")
    counts = {name: sum(row[name] for row in table.values()) for name in dict.fromkeys(TARGETS)}
    print("\nStruck: " + ", ".join(f"{name} {count}" for name, count in counts.items()))


def _has_gp() -> bool:
    try:
        import rungwise.searchers.gaussian  # noqa: F401, PLC0415 - it needs an extra
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main()
