"""When what happened in a study: for figures. No decision depends on it."""

from __future__ import annotations

import math
from array import array


class Timeline:
    """The times of jobs and of improvements, on the clock of the events.

    Attributes:
        starts: when each job was issued.
        ends: when each job left its worker; NaN while it has not.
    """

    __slots__ = ("_bests", "ends", "starts")

    def __init__(self) -> None:
        # Arrays of plain doubles, as trials have them: the garbage collector passes them over.
        self.starts, self.ends = array("d"), array("d")
        self._bests = array("d")  # four numbers for each

    @property
    def bests(self) -> list[tuple[float, float, int, float]]:
        """[(the resource spent by then, the time, trial, loss), …] whenever the best improved."""
        flat = iter(self._bests)
        fours = zip(flat, flat, flat, flat, strict=False)
        return [(spent, at, int(trial), loss) for spent, at, trial, loss in fours]

    def issued(self, at: float) -> None:
        """The next job was issued."""
        self.starts.append(at)
        self.ends.append(math.nan)

    def left(self, job: int, at: float) -> None:
        """A job has left its worker."""
        self.ends[job] = at

    def improved(self, spent: float, at: float, trial: int, loss: float) -> None:
        """A trial has reported a better value than any before."""
        self._bests.extend((spent, at, trial, loss))
