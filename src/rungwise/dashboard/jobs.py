"""The jobs of a study as bars of a timeline: which slot, from when to when, and how each ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rungwise.core.codec import jsonable
from rungwise.views import StudyView

SHOWN = 3000
"""How many jobs are sent at most; of earlier ones only the sums are."""

BINS = 80
"""Into how many parts the study is divided for the utilisation."""


def list_rows(view: StudyView, changed: Sequence[int], since: int) -> list[list[Any]]:
    """[job, trial, slot, start, end, from, until, how] of the last jobs that have changed.

    Args:
        view: the study.
        changed: the version in which each job last changed.
        since: the version that is known.
    """
    rows: list[list[Any]] = []
    for number in range(max(0, len(changed) - SHOWN), len(changed)):
        if changed[number] > since:
            job = view.job(number)
            times = [round(job.issued, 3), jsonable(round(job.left, 3))]
            rows.append([number, job.trial, job.slot, *times, job.start, job.until, job.outcome])
    return rows


def measure_use(view: StudyView, clock: float) -> dict[str, Any]:
    """How much of the workers' time jobs took, in all and in equal parts of the study."""
    span = max(clock, 1e-9)
    width = span / BINS
    busy = [0.0] * BINS
    times = view.job_times()
    for start, stop in times:
        end = clock if math.isnan(stop) else stop
        first, last = min(int(start / width), BINS - 1), min(int(end / width), BINS - 1)
        if first == last:
            busy[first] += end - start
            continue
        busy[first] += (first + 1) * width - start
        busy[last] += end - last * width
        for between in range(first + 1, last):
            busy[between] += width
    slots = max(1, view.slots)
    return {
        "slots": view.slots,
        "span": clock,
        "share": min(1.0, sum(busy) / (slots * span)) if times else None,
        "bins": [round(min(1.0, part / (slots * width)), 3) for part in busy],
        "hidden": max(0, len(times) - SHOWN),
    }
