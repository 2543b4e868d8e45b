"""What a report costs the tuner in this tree and in another one, in alternating runs.

Both trees tune the trainable of overhead.py that only reports, on local workers; compared is the
processor time of the tuner's process from its call to its return, less that of a study of few
trials, so that imports and the start of workers do not count. Trees take turns, so that a busy
machine slows both; what counts is the median of the ratios. Bytecode is kept in a temporary folder.

For example, against the commit 05ed0da:

    mkdir /tmp/old && git archive 05ed0da | tar -x -C /tmp/old
    python perf/overhead_pairs.py /tmp/old
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _overhead_common import Task

ROOT = Path(__file__).parents[1]
CHILD = Path(__file__).parent / "_overhead_rungwise.py"
EPOCHS, FEW = 20, 10


def measure(tree: Path, bytecode: str, trials: int, workers: int) -> tuple[float, int]:
    """The seconds of processor time of one study's tuner, and its reports."""
    with tempfile.TemporaryDirectory(prefix="overhead-", ignore_cleanup_errors=True) as folder:
        task = Task(
            system="rungwise",
            mode="fixed",
            trials=trials,
            epochs=EPOCHS,
            seconds=0.0,
            workers=workers,
            limit=600.0,
            folder=folder,
            born=time.monotonic(),
        )
        environment = {**os.environ, **task.environment, "PYTHONPATH": str(tree / "src")}
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, str(CHILD)]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    outcome = json.loads(done.stdout.strip().splitlines()[-1])
    return outcome["processor"], outcome["seen"]


def cost(tree: Path, bytecode: str, trials: int, workers: int) -> float:
    """Microseconds of processor time per report."""
    (few, fewer), (many, more) = (
        measure(tree, bytecode, number, workers) for number in (FEW, trials)
    )
    return 1e6 * (many - few) / (more - fewer)


def main() -> None:
    """Measure, and print a line for every pair."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("other", type=Path, help="another checkout, to compare with")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--trials", type=int, default=1600)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    trees = (ROOT, given.other.resolve())
    ratios = []
    print(f"load {os.getloadavg()[0]:.1f}; µs of processor time per report: this, other, ratio")
    with tempfile.TemporaryDirectory() as bytecode:
        for tree in trees:
            measure(tree, bytecode, FEW, given.workers)
        for _ in range(given.pairs):
            ours, theirs = (cost(tree, bytecode, given.trials, given.workers) for tree in trees)
            ratios.append(ours / theirs)
            print(f"{ours:8.1f}{theirs:8.1f}{ratios[-1]:8.2f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
