"""What asking and telling costs: reports per second of CPU time, as a study grows.

    python perf/ask_tell.py [--trials 10000]

One thread trains nothing and reports; the study is ASHA up to 27, in a file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import rungwise as rw


def main() -> None:
    """Measure, and print a line for each tenth of the study."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    trials = parser.parse_args().trials
    space = {"x": rw.Float(0, 1)}
    limits = {"max_resource": 27, "trials": trials}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "study.db")
        with rw.open_study(
            path, space, metric="loss", goal="min", scheduler="asha", **limits
        ) as study:
            reports, jobs, mark = 0, 0, trials // 10
            before, began = 0, time.process_time()
            for job in study.jobs():
                jobs += 1
                for resource in job.resources():
                    reports += 1
                    loss = (job.config["x"] - 0.3) ** 2 + 1 / resource
                    if not study.report(job, resource, loss):
                        break
                if job.trial + 1 >= mark and job.start == 0:
                    took = time.process_time() - began
                    rate = (reports - before) / took
                    print(f"trial {mark:6d}: {rate:7.0f} reports/s of CPU time", flush=True)
                    before, began, mark = reports, time.process_time(), mark + trials // 10
            print(f"{reports} reports, {jobs} jobs")


if __name__ == "__main__":
    main()
