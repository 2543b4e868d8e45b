"""The jobs of a study as bars of a timeline: which slot, from when to when, and how each ended."""

from __future__ import annotations

from typing import Any

from rungwise.core.engine import Engine

SHOWN = 3000
"""How many jobs are sent at most; of earlier ones only the sums are."""

BINS = 80
"""Into how many parts the study is divided for the utilisation."""


class JobTimeline:
    """Which jobs of an engine have changed.

    Args:
        number: how many jobs there are.
        version: the version of the study in which they are seen first.

    Attributes:
        seen: the version in which each job last changed.
    """

    def __init__(self, number: int = 0, version: int = 0) -> None:
        self.seen = [version] * number

    def issued(self, version: int) -> None:
        """The next job was issued."""
        self.seen.append(version)

    def left(self, job: int, version: int) -> None:
        """A job has left its worker."""
        self.seen[job] = version

    def list_rows(self, engine: Engine, since: int) -> list[list[Any]]:
        """[job, trial, slot, start, end, from, until, how] of the last jobs that have changed."""
        first = max(0, len(self.seen) - SHOWN)
        timeline, jobs = engine.timeline, engine.jobs
        rows: list[list[Any]] = []
        for number in range(first, len(self.seen)):
            if self.seen[number] > since:
                job, end = jobs[number], timeline.ends[number]
                rows.append(
                    [
                        number,
                        job.trial,
                        timeline.slots[number],
                        round(timeline.starts[number], 3),
                        None if end != end else round(end, 3),  # noqa: PLR0124 - NaN while it runs
                        job.start,
                        job.until,
                        timeline.outcome(number),
                    ]
                )
        return rows

    def measure_use(self, engine: Engine, clock: float) -> dict[str, Any]:
        """How much of the workers' time jobs took, in all and in equal parts of the study."""
        span = max(clock, 1e-9)
        width = span / BINS
        busy = [0.0] * BINS
        for start, stop in zip(engine.timeline.starts, engine.timeline.ends, strict=True):
            end = clock if stop != stop else stop  # noqa: PLR0124 - NaN while it runs
            first, last = min(int(start / width), BINS - 1), min(int(end / width), BINS - 1)
            if first == last:
                busy[first] += end - start
                continue
            busy[first] += (first + 1) * width - start
            busy[last] += end - last * width
            for between in range(first + 1, last):
                busy[between] += width
        slots = max(1, engine.timeline.workers)
        return {
            "slots": engine.timeline.workers,
            "span": clock,
            "share": min(1.0, sum(busy) / (slots * span)) if self.seen else None,
            "bins": [round(min(1.0, part / (slots * width)), 3) for part in busy],
            "hidden": max(0, len(self.seen) - SHOWN),
        }
