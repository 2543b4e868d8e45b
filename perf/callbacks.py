"""What does it cost a study to be tracked? Reports a second with each callback and without.

Trials that do nothing but report, in worker processes, as in overhead.py: any pause of the tuner
shows. Every kind is run once in each round, in turn, in a process of its own; what counts is the
ratio to the run without callbacks of the same round, so that a busy machine disturbs all alike.

- reports/s: from the first report to the last, which is what a study feels while it runs.
- drain: seconds from the last report until the tuner has returned, beyond those without callbacks:
  slow callbacks write what has waited. It is paid once, at the end.
- CPU: of the tuner's process per report, with imports and the drain; no other work disturbs it.

Run it:

    python perf/callbacks.py
    python perf/callbacks.py --kinds tensorboard mlflow --trials 256 --epochs 50 --rounds 5
    python perf/callbacks.py --epoch-seconds 0.02       # epochs that take a time
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass

from _overhead_common import Task
from overhead import available, play

KINDS = ("", "csv", "tensorboard", "mlflow", "wandb")


@dataclass(frozen=True)
class Sample:
    """One run."""

    rate: float
    drain: float
    cpu: float


def measure(kind: str, options: argparse.Namespace) -> Sample:
    """Run one study."""
    system = f"rungwise+{kind}" if kind else "rungwise"
    with tempfile.TemporaryDirectory(prefix="callbacks-", ignore_cleanup_errors=True) as folder:
        task = Task(
            system=system,
            mode="fixed",
            trials=options.trials,
            epochs=options.epochs,
            seconds=options.epoch_seconds,
            workers=options.workers,
            limit=options.limit_seconds,
            folder=folder,
            born=time.monotonic(),
        )
        outcome, counts = play(task, sys.executable)
    span = max(counts.last - counts.first, 1e-9)
    drain = outcome["start"] + outcome["wall"] - counts.last
    return Sample((counts.reports - 1) / span, drain, outcome["cpu"] / counts.reports * 1e6)


def parse() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS[1:], default=list(KINDS[1:]))
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--epoch-seconds", type=float, default=0.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-seconds", type=float, default=300.0)
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    options = parse()
    options.systems = [f"rungwise+{kind}" for kind in options.kinds]
    options.mode = "fixed"
    versions, _ = available(options, dict.fromkeys(options.systems, sys.executable))
    kinds = ["", *(kind for kind in options.kinds if f"rungwise+{kind}" in versions)]
    load = os.getloadavg()[0]
    rounds = [{kind: measure(kind, options) for kind in kinds} for _ in range(options.rounds)]
    what = f"{options.trials} trials of {options.epochs} reports, {options.workers} workers"
    print(
        f"{what}, epochs of {options.epoch_seconds:g} s, {options.rounds} rounds; "
        f"{os.cpu_count()} cores, load {load:.1f} before"
    )
    heading = f"{'callback':12} {'reports/s':>10} {'of without':>11} {'least':>7} {'most':>7}"
    print(f"{heading} {'drain':>8} {'CPU':>8}")
    for kind in kinds:
        ratios = [each[kind].rate / each[""].rate for each in rounds]
        drains = [each[kind].drain - each[""].drain for each in rounds]
        rate = statistics.median(each[kind].rate for each in rounds)
        print(
            f"{kind or 'none':12} {rate:10.0f} {statistics.median(ratios):11.1%} "
            f"{min(ratios):7.1%} {max(ratios):7.1%} {statistics.median(drains):7.1f}s "
            f"{statistics.median(each[kind].cpu for each in rounds):5.0f} µs"
        )


if __name__ == "__main__":
    main()
