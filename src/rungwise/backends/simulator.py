"""A backend in virtual time: jobs read their reports from a table of learning curves.

It never reads a real clock. Messages of the same virtual time come in the order in which they were
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


class _RunningJob:
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
    """Runs jobs on a table.

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
        self._agenda: list[tuple[float, int, _RunningJob]] = []
        self._scheduled = 0
        self._jobs: dict[int, _RunningJob] = {}
        self._ended: deque[int] = deque()

    def idle(self) -> int:
        return self.workers - len(self._jobs) - len(self._ended)

    def start(self, assignment: Assignment) -> None:
        start, until = int(assignment.start), int(assignment.until)
        values, seconds = self._table.leg(self._rows[assignment.trial], start, until)
        running = self._jobs[assignment.job] = _RunningJob(assignment, values, seconds, self.now)
        self._scheduled += 1
        heappush(self._agenda, (self.now + seconds[0], self._scheduled, running))

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        if not go_on:
            self._end(job)

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002 - it leaves at once
        self._end(job)

    def poll(self) -> Sequence[Message]:
        # One message at a time: in virtual time no two things happen together.
        if self._ended:
            return (Ended(self._ended.popleft()),)
        agenda = self._agenda
        while agenda:
            time, _, running = agenda[0]
            if running.job not in self._jobs:  # stopped in the middle
                heappop(agenda)
                continue
            return (self._advance(time, running),)
        return ()

    def wake(self) -> None:
        """Nothing to do: poll() never waits."""

    def views(self) -> Sequence[WorkerView]:
        return [
            WorkerView(
                number,
                "simulated",
                running.assignment.trial,
                running.resource,
                running.assignment.until,
                self.now - running.since,
            )
            for number, running in enumerate(self._jobs.values())
        ]

    def close(self) -> None:
        self._jobs.clear()
        self._ended.clear()
        self._agenda.clear()

    def _end(self, job: int) -> None:
        if self._jobs.pop(job, None) is not None:
            self._ended.append(job)

    def _advance(self, time: float, running: _RunningJob) -> Reported:
        self.now = time
        value = running.values[running.position]
        running.resource += 1
        running.position += 1
        if running.position < len(running.values):
            self._scheduled += 1
            later = time + running.seconds[running.position]
            heapreplace(self._agenda, (later, self._scheduled, running))
        else:
            heappop(self._agenda)
            self._end(running.job)
        return Reported(running.job, running.resource, value)
