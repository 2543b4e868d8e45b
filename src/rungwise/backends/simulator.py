"""A backend in virtual time: jobs read their reports off a table of learning curves.

No real time ever enters. Messages of the same virtual time come in the order in which they were
scheduled; a job's next report is scheduled when the one before it is handed out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace

from rungwise.backends.base import WorkerView
from rungwise.backends.messages import Ended, Message, Reported
from rungwise.benchmarks.table import Table
from rungwise.run import Assignment


class _Leg:
    """A job under way."""

    __slots__ = ("assignment", "job", "position", "resource", "seconds", "since", "values")

    def __init__(
        self, assignment: Assignment, values: list[float], seconds: list[float], since: float
    ) -> None:
        self.assignment = assignment
        self.job = assignment.job
        self.resource = int(assignment.start)  # of the last report
        self.position = 0  # in values and seconds
        self.values = values
        self.seconds = seconds
        self.since = since


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

    def idle(self) -> int:
        return self.workers - len(self._legs) - len(self._ended)

    def start(self, assignment: Assignment) -> None:
        start, until = int(assignment.start), int(assignment.until)
        values, seconds = self._table.leg(self._rows[assignment.trial], start, until)
        leg = self._legs[assignment.job] = _Leg(assignment, values, seconds, self.now)
        self._scheduled += 1
        heappush(self._agenda, (self.now + seconds[0], self._scheduled, leg))

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        if not go_on:
            self._end(job)

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002 - it leaves at once
        self._end(job)

    def poll(self) -> Sequence[Message]:
        # One message at a time: in virtual time nothing happens at once.
        if self._ended:
            return (Ended(self._ended.popleft()),)
        agenda = self._agenda
        while agenda:
            time, _, leg = agenda[0]
            if leg.job not in self._legs:  # stopped in the middle
                heappop(agenda)
                continue
            return (self._advance(time, leg),)
        return ()

    def wake(self) -> None:
        """Nothing to do: poll() never waits."""

    def views(self) -> Sequence[WorkerView]:
        return [
            WorkerView(
                number,
                "simulated",
                leg.assignment.trial,
                leg.resource,
                leg.assignment.until,
                self.now - leg.since,
            )
            for number, leg in enumerate(self._legs.values())
        ]

    def close(self) -> None:
        self._legs.clear()
        self._ended.clear()
        self._agenda.clear()

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
        return Reported(leg.job, leg.resource, value)
