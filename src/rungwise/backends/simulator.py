"""A backend in virtual time: jobs read their reports off a table of learning curves.

No real time ever enters. Facts of the same virtual time come in the order in which they were
scheduled; a job's next report is scheduled when the one before it is handed out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace

from rungwise.backends.base import Fact
from rungwise.benchmarks.table import Table
from rungwise.core.decisions import CONTINUE, Decision, Job
from rungwise.core.events import JobEnded, Reported


class _Leg:
    """A job under way."""

    __slots__ = ("job", "position", "resource", "seconds", "values")

    def __init__(self, job: int, resource: int, values: list[float], seconds: list[float]) -> None:
        self.job = job
        self.resource = resource  # of the last report
        self.position = 0  # in values and seconds
        self.values = values
        self.seconds = seconds


class Simulator:
    """Plays a table.

    Args:
        table: the curves.
        workers: how many jobs run at a time.
        rows: which row trial 0, 1, 2, … reads.
    """

    def __init__(self, table: Table, *, workers: int, rows: Sequence[int]) -> None:
        self.workers = workers
        self.now = 0.0
        self._table = table
        self._rows = rows
        self._agenda: list[tuple[float, int, _Leg]] = []
        self._scheduled = 0
        self._legs: dict[int, _Leg] = {}
        self._ended: deque[int] = deque()

    def start(self, job: Job) -> None:
        start, until = int(job.start), int(job.until)
        values, seconds = self._table.leg(self._rows[job.trial], start, until)
        leg = self._legs[job.id] = _Leg(job.id, start, values, seconds)
        self._scheduled += 1
        heappush(self._agenda, (self.now + seconds[0], self._scheduled, leg))

    def answer(self, job: int, decision: Decision) -> None:
        if decision is not CONTINUE:
            self._end(job)

    def poll(self) -> Sequence[Fact]:
        # One fact at a time: in virtual time nothing happens at once.
        if self._ended:
            return (JobEnded(self._ended.popleft(), self.now),)
        agenda = self._agenda
        while agenda:
            time, _, leg = agenda[0]
            if leg.job not in self._legs:  # stopped in the middle
                heappop(agenda)
                continue
            return (self._advance(time, leg),)
        return ()

    def _end(self, job: int) -> None:
        if self._legs.pop(job, None) is not None:
            self._ended.append(job)

    def _advance(self, time: float, leg: _Leg) -> Reported:
        self.now = time
        value = leg.values[leg.position]
        leg.resource += 1
        leg.position += 1
        if leg.position < len(leg.values):
            self._scheduled += 1
            later = time + leg.seconds[leg.position]
            heapreplace(self._agenda, (later, self._scheduled, leg))
        else:
            heappop(self._agenda)
            self._end(leg.job)
        return Reported(leg.job, leg.resource, value, time)
