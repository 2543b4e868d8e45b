"""How long does the live page take on a large study, how much processor, and is it smooth?

Writes a study of 10,000 trials with 200,000 reports (from the simulator), opens it in a Chromium
while the last part of it is written at 1,000 reports a second as by a tuner, and prints: how long
until the page shows it, the processor time of the server for each second of the study, its memory,
and how long the page takes to draw an update.

    python perf/dashboard.py

Needs Chromium (RUNGWISE_CHROMIUM, or on the path) and the extra dev. Linux only (/proc).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

import rungwise as rw
from rungwise.core.events import Reported
from rungwise.storage.base import Entry
from rungwise.storage.record import StudyRecord
from rungwise.storage.study_file import StudyFile

SERVE = "from rungwise.cli import main; main()"
WATCH = """() => {
  window.draws = [];
  const take = (list) => list.getEntries().forEach((entry) => window.draws.push(entry.duration));
  new PerformanceObserver(take).observe({ type: "measure" });
}"""


def write_batches(file: StudyFile, entries: Iterator[Entry], reports: int, size: int) -> int:
    """Write entries with about this many reports; how many there were."""
    written = 0
    while written < reports and (batch := list(itertools.islice(entries, size))):
        file.extend(batch)
        written += sum(type(event) is Reported for event, _ in batch)
    return written


def read_times(pid: int) -> float:
    """The processor time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_memory(pid: int) -> float:
    """The most memory that a process has had, in megabytes."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def read_draw_times(session: Any) -> dict[str, float]:
    """What the page has cost so far: the processor time of its thread, in milliseconds."""
    found = session.send("Performance.getMetrics")["metrics"]
    return {one["name"]: 1000 * one["value"] for one in found}


def find_worst(durations: list[float]) -> str:
    """The median and the 95th percentile of durations."""
    if not durations:
        return "none"
    ranked = sorted(durations)
    middle, high = ranked[len(ranked) // 2], ranked[int(len(ranked) * 0.95)]
    return f"median {middle:.0f} ms, 95 % below {high:.0f} ms, of {len(ranked)}"


def measure_live(file: StudyFile, entries: Iterator[Entry], rate: int, seconds: int) -> None:
    """Write at a rate, as a tuner does."""
    begun = time.monotonic()
    for tick in range(seconds * 10):
        write_batches(file, entries, rate // 10, max(1, rate // 100))
        time.sleep(max(0.0, begun + (tick + 1) / 10 - time.monotonic()))


def measure_view(page: Page, session: Any, view: str, run: Any) -> str:
    """What a view takes to draw while the study runs, with layout and painting."""
    page.evaluate("view => { location.hash = '#/study.db/' + view }", view)
    page.wait_for_timeout(1500)
    page.evaluate("() => { window.draws = [] }")
    before = read_draw_times(session)
    run()
    after = read_draw_times(session)
    draws = page.evaluate("() => window.draws")
    each = (after["TaskDuration"] - before["TaskDuration"]) / max(1, len(draws))
    return f"{each:.0f} ms of the processor per update; by the clock {find_worst(draws)}"


def main() -> None:
    """Write the study and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--resources", type=int, default=20)
    parser.add_argument("--rate", type=int, default=1000, help="reports a second")
    parser.add_argument("--seconds", type=int, default=8, help="of each view")
    asked = parser.parse_args()
    views = ("overview", "curves", "ladder", "trials", "workers")
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("RUNGWISE_CHROMIUM") or next(filter(None, map(shutil.which, names)))
    log = rw.MemoryLog()
    table = rw.power_laws(asked.trials, asked.resources, seed=1)
    scheduler: Any = f"fixed:{asked.resources}"
    rw.simulate(table, scheduler, trials=asked.trials, workers=4, log=log)
    last = asked.rate * (asked.seconds + 2) * len(views)
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        path = Path(folder, "study.db")
        with StudyFile(path) as file:
            file.begin_with(log.study, StudyRecord(metric="loss"))
            entries = iter(log.read_from(0))
            known = write_batches(file, entries, asked.trials * asked.resources - last, 5000)
            command = [sys.executable, "-c", SERVE, "dashboard", str(path), "--until-closed"]
            with (
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
                sync_playwright() as play,
            ):
                assert server.stdout is not None
                assert server.stdin is not None
                address = json.loads(server.stdout.readline())["address"]
                browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                page.add_init_script(f"({WATCH})()")
                session: Any = page.context.new_cdp_session(page)
                session.send("Performance.enable", {"timeDomain": "threadTicks"})
                begun, before = time.monotonic(), read_times(server.pid)
                page.goto(address)
                page.locator("svg path").first.wait_for(state="attached")
                opened = time.monotonic() - begun
                page.wait_for_timeout(3000)
                print(f"| {known:,} reports: until the page shows them | {opened:.1f} s |")
                print(
                    f"| … processor time of the server | {read_times(server.pid) - before:.1f} s |"
                )
                for view in views:
                    before, begun = read_times(server.pid), time.monotonic()
                    drawn = measure_view(
                        page,
                        session,
                        view,
                        lambda: measure_live(file, entries, asked.rate, asked.seconds),
                    )
                    share = (read_times(server.pid) - before) / (time.monotonic() - begun)
                    print(f"| {view}: server, ms a second | {1000 * share:.0f} |")
                    print(f"| {view}: drawing | {drawn} |", flush=True)
                print(f"| memory of the server at most | {read_memory(server.pid):.0f} MB |")
                browser.close()
                server.stdin.close()


if __name__ == "__main__":
    main()
