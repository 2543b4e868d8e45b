"""The jobs of a study as bars of a timeline: which slot, from when to when, and how each ended."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

from rungwise.core.decisions import Job
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobLost
from rungwise.core.trials import State

SHOWN = 3000
"""How many jobs are sent at most; of earlier ones only the sums are."""

BINS = 80
"""Into how many parts the study is divided for the utilisation."""

_HOW = {State.PAUSED: "paused", State.STOPPED: "stopped", State.FAILED: "failed"}


@dataclass(slots=True)
class JobLine:
    """One job.

    Attributes:
        slot: the first worker that was free; which worker it really was is not in the log.
        how: how it ended; empty while it runs.
        seen: the version of the study in which it last changed.
    """

    slot: int
    how: str = ""
    seen: int = 0


class JobTimeline:
    """Follows the jobs of an engine."""

    def __init__(self) -> None:
        self.lines: list[JobLine] = []
        self.slots = 0
        self._free: list[int] = []

    def issued(self, job: Job, version: int) -> None:
        """A job was issued."""
        if self._free:
            slot = heapq.heappop(self._free)
        else:
            slot, self.slots = self.slots, self.slots + 1
        assert job.id == len(self.lines), "jobs are numbered in the order in which they are issued"
        self.lines.append(JobLine(slot, seen=version))

    def left(self, event: JobEnded | JobFailed | JobLost, engine: Engine, version: int) -> None:
        """A job has left its worker."""
        line = self.lines[event.job]
        heapq.heappush(self._free, line.slot)
        trial = engine.trials[engine.jobs[event.job].trial]
        if isinstance(event, JobLost) and trial.state is State.LOST:
            line.how = "lost"
        elif isinstance(event, JobFailed) and trial.state is State.FAILED:
            line.how = "failed"
        else:
            line.how = _HOW.get(trial.state, "ended")
        line.seen = version

    def list_rows(self, engine: Engine, since: int) -> list[list[Any]]:
        """[job, trial, slot, start, end, from, until, how] of the last jobs that have changed."""
        first = max(0, len(self.lines) - SHOWN)
        starts, ends, jobs = engine.timeline.starts, engine.timeline.ends, engine.jobs
        rows: list[list[Any]] = []
        for number in range(first, len(self.lines)):
            line = self.lines[number]
            if line.seen > since:
                job, end = jobs[number], ends[number]
                rows.append(
                    [
                        number,
                        job.trial,
                        line.slot,
                        round(starts[number], 3),
                        None if end != end else round(end, 3),  # noqa: PLR0124 - NaN while it runs
                        job.start,
                        job.until,
                        line.how,
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
        slots = max(1, self.slots)
        return {
            "slots": self.slots,
            "span": clock,
            "share": min(1.0, sum(busy) / (slots * span)) if self.lines else None,
            "bins": [round(min(1.0, part / (slots * width)), 3) for part in busy],
            "hidden": max(0, len(self.lines) - SHOWN),
        }
