"""Do reports per second stay the same from the first quarter of a large study to the last?

Tunes a function that does nothing, in threads, and counts how many reports come in a second of
processor time in each quarter of the reports: the tuner, the engine and the study file, without
training. Run it with nothing else on the machine:

    python perf/steadiness.py
    python perf/steadiness.py --trials 2000 --repeats 1
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import rungwise as rw


def train(config: dict[str, float], run: rw.Run) -> None:
    """Report a curve that is computed at once."""
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] + (1 - config["x"]) / epoch)


def measure_quarters(trials: int, seed: int) -> list[float]:
    """Reports per second of processor time, quarter by quarter."""
    times: list[float] = []
    with tempfile.TemporaryDirectory(prefix="steadiness-") as folder:
        rw.tune(
            train,
            {"x": rw.Float(0, 1)},
            metric="loss",
            goal="min",
            max_resource=27,
            trials=trials,
            scheduler="asha",
            backend=rw.Threads(2),
            study=Path(folder, "study.db"),
            seed=seed,
            show="quiet",
            on_report=lambda _: times.append(time.process_time()),
        )
    quarter = len(times) // 4
    ends = [times[0], *(times[quarter * n - 1] for n in (1, 2, 3, 4))]
    return [quarter / (after - before) for before, after in pairwise(ends)]


def main() -> None:
    """Measure, and print the quarters and how the last compares with the first."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    print("| run | first | second | third | last | last / first |\n|---|---|---|---|---|---|")
    ratios = []
    for number in range(asked.repeats):
        rates = measure_quarters(asked.trials, seed=number)
        ratios.append(rates[-1] / rates[0])
        cells = " | ".join(f"{rate:.0f}" for rate in rates)
        print(f"| {number + 1} | {cells} | {ratios[-1]:.3f} |", flush=True)
    print(f"\nMedian of last / first: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
