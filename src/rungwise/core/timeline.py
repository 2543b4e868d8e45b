"""When what happened in a study: for figures. No decision depends on it."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from heapq import heappop, heappush

OUTCOMES = ("", "paused", "stopped", "failed", "lost", "ended")
"""What became of the trial of a job when the job left its worker; empty while it has not."""


@dataclass(frozen=True, slots=True)
class Rise:
    """That the ceiling was set or has risen.

    Attributes:
        reports: the number of reports by then.
        level: where it is from then on.
        at: when, in seconds of the study.
        spent: the resource spent by then.
        why: why, as a clause; empty for the first ceiling.
    """

    reports: int
    level: float
    at: float
    spent: float
    why: str


@dataclass(frozen=True, slots=True)
class AppliedRequest:
    """Something that people asked for.

    Attributes:
        at: when, in seconds of the study.
        kind: ``"extended"``, ``"added"``, ``"stopped"`` or ``"failed"``.
        number: of the extension or of the trial; or how many configurations were added.
        reason: why a trial was stopped, in the words of the request.
    """

    at: float
    kind: str
    number: int
    reason: str = ""


class Timeline:
    """The times of jobs, of improvements, of rises of the ceiling and of requests.

    All times are on the clock of the events.

    Attributes:
        starts: when each job was issued.
        ends: when each job left its worker; NaN while it has not.
        slots: where each job is drawn: the first worker that was free. Which one it really was is
            not in the log.
        workers: how many slots there are.
        rises: how the ceiling rose.
        requests: what people asked for.
    """

    __slots__ = (
        "_bests",
        "_free",
        "_outcomes",
        "ends",
        "requests",
        "rises",
        "slots",
        "starts",
        "workers",
    )

    def __init__(self) -> None:
        # Arrays of plain numbers, as trials have them: the garbage collector passes them over.
        self.starts, self.ends = array("d"), array("d")
        self.slots = array("q")
        self.workers = 0
        self.rises: list[Rise] = []
        self.requests: list[AppliedRequest] = []
        self._bests = array("d")  # four numbers for each
        self._outcomes = array("b")
        self._free: list[int] = []

    @property
    def bests(self) -> list[tuple[float, float, int, float]]:
        """[(the resource spent by then, the time, trial, loss), …] whenever the best improved."""
        flat = iter(self._bests)
        fours = zip(flat, flat, flat, flat, strict=False)
        return [(spent, at, int(trial), loss) for spent, at, trial, loss in fours]

    def outcome(self, job: int) -> str:
        """One of :data:`OUTCOMES`."""
        return OUTCOMES[self._outcomes[job]]

    def has_jobs(self, number: int) -> bool:
        """Whether it knows of that many jobs, and of no others."""
        columns = (self.starts, self.ends, self.slots, self._outcomes)
        return all(len(column) == number for column in columns)

    def issued(self, at: float) -> None:
        """The next job was issued."""
        if self._free:
            slot = heappop(self._free)
        else:
            slot, self.workers = self.workers, self.workers + 1
        self.starts.append(at)
        self.ends.append(math.nan)
        self.slots.append(slot)
        self._outcomes.append(0)

    def left(self, job: int, at: float, outcome: str) -> None:
        """A job has left its worker; ``outcome`` is one of :data:`OUTCOMES`."""
        self.ends[job] = at
        self._outcomes[job] = OUTCOMES.index(outcome)
        heappush(self._free, self.slots[job])

    def improved(self, spent: float, at: float, trial: int, loss: float) -> None:
        """A trial has reported a better value than any before."""
        self._bests.extend((spent, at, trial, loss))
