"""How soon does a trial that was promoted train again? On warm workers, of this machine and of Ray.

ASHA up to 81 epochs that take no time, with checkpoints. For every job that resumes a trial: the
time from the moment that the worker's job before it returned to the moment that its first report
was answered, which holds the end of the one, the decision, its commit, reading the checkpoint and a
report. Ray Tune's figures are in the facts of docs/cluster.md.

    python perf/ray_resume.py
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import rungwise as rw

FOLDER = "RUNGWISE_RESUME_TIMES"
_last: list[float] = []


def train(config: dict[str, Any], run: Any) -> None:
    """Train for nothing, and note the time of the first report of a job that resumes."""
    first = True
    for epoch in run.resources():
        with run.checkpoint(epoch) as folder:
            (folder / "x").write_text("x")
        run.report(epoch, loss=config["x"] + 1 / epoch)
        if first and run.start and _last:
            with Path(config["folder"], str(os.getpid())).open("a") as file:
                file.write(f"{time.monotonic() - _last[0]}\n")
        first = False
    _last[:] = [time.monotonic()]


def measure(backend: Any, trials: int = 100) -> list[float]:
    """The seconds of every resumption, sorted."""
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder, "times")
        times.mkdir()
        rw.tune(
            train,
            {"x": rw.Float(0, 1), "folder": [str(times)]},
            metric="loss",
            goal="min",
            scheduler=rw.ASHA(max_resource=81),
            trials=trials,
            backend=backend,
            study=Path(folder, "study.db"),
            show="quiet",
        )
        lines = [line for file in times.iterdir() for line in file.read_text().split()]
    return sorted(map(float, lines))


def main() -> None:
    """Measure and print."""
    print(f"{'backend':8} {'resumed':>8} {'median':>9} {'95 %':>9} {'most':>9}   (milliseconds)")
    for name, backend in (("local", rw.Local(2)), ("ray", rw.Ray(2))):
        found = measure(backend)
        row = (statistics.median(found), found[int(len(found) * 0.95)], found[-1])
        print(f"{name:8} {len(found):8} " + " ".join(f"{1000 * each:9.1f}" for each in row))


if __name__ == "__main__":
    main()
