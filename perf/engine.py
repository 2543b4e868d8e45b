"""How much does a report cost, and does it grow with the number of trials?

Simulates ASHA, PASHA and adaptive halving on power-law curves (200 epochs, η = 3, 4 workers) with
and without noise, for growing numbers of configurations, and prints CPU microseconds per report
(everything: event loop, engine, criterion), peak memory of the study, and the growth from the
smallest to the largest. Run it with nothing else on the machine:

    python perf/engine.py
    python perf/engine.py --configurations 256 1024 --seeds 2
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from dataclasses import asdict, dataclass

import rungwise as rw
from rungwise.core.scheduler import Recipe

RECIPES: dict[str, Recipe] = {
    "ASHA": rw.ASHA(max_resource=200),
    "PASHA": rw.PASHA(max_resource=200),
    "adaptive halving": rw.AdaptiveHalving(max_resource=200),
}
CURVES = {
    "noisy": {"noise": 0.01, "crossings": True},
    "noise-free": {"noise": 0.0, "crossings": True},
    "noise-free, stable order": {"noise": 0.0, "crossings": False},
}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    curves: str
    scheduler: str
    configurations: int
    reports: int
    microseconds: float
    ceiling: int
    peak_mib: float


def measure(curves: str, scheduler: str, configurations: int, seeds: int) -> Row:
    """The median over seeds of the CPU time per report."""
    costs, reports, ceilings = [], [], []
    recipe = RECIPES[scheduler]
    for seed in range(seeds):
        table = rw.power_laws(configurations, 200, seed=seed, **CURVES[curves])  # type: ignore[arg-type]
        start = time.process_time()
        result = rw.simulate(table, recipe, trials=configurations, workers=4, seed=seed)
        costs.append((time.process_time() - start) / result.reports * 1e6)
        reports.append(result.reports)
        ceilings.append(result.ceilings[-1][1])
    # Memory is traced in a run of its own: tracing slows everything down.
    tracemalloc.start()
    rw.simulate(table, recipe, trials=configurations, workers=4, seed=seeds - 1)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return Row(
        curves,
        scheduler,
        configurations,
        round(statistics.median(reports)),
        statistics.median(costs),
        round(statistics.median(ceilings)),
        peak,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--configurations", type=int, nargs="+", default=[256, 1024, 4096, 16384])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    measure("noisy", "PASHA", 64, 1)  # warm up
    rows = []
    for curves in CURVES:
        for scheduler in RECIPES:
            mine = []
            for configurations in options.configurations:
                row = measure(curves, scheduler, configurations, options.seeds)
                mine.append(row)
                if not options.json:
                    print(
                        f"{row.curves:26} {row.scheduler:6} N={row.configurations:6} "
                        f"{row.reports:8} reports  {row.microseconds:6.1f} µs/report  "
                        f"ceiling {row.ceiling:3}  peak {row.peak_mib:6.1f} MiB",
                        flush=True,
                    )
            rows += mine
            if not options.json:
                growth = mine[-1].microseconds / mine[0].microseconds
                print(f"{'':26} {scheduler:6} growth {growth:.2f}×", flush=True)
    if options.json:
        json.dump([asdict(row) for row in rows], sys.stdout, indent=1)


if __name__ == "__main__":
    main()
