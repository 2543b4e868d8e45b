"""A backend without workers: a loop of the user's asks for jobs and says what became of them.

What would be messages of workers are calls. Each call is one poll, so that the driver, and with it
the policy and the log, see the same as with any other backend.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rungwise.backends.base import WorkerView
from rungwise.backends.messages import Crashed, Ended, Message, Reported
from rungwise.run import Assignment


@dataclass(slots=True)
class _Open:
    """A job that has not left."""

    assignment: Assignment
    since: float
    last: float = 0.0


class AskedJobs:
    """Holds what was said until the next poll, and what was decided until it is taken.

    Args:
        since: where the clock of the study stands.

    Attributes:
        asking: whether someone wants a job now: then there is one free slot.
    """

    def __init__(self, since: float = 0.0) -> None:
        self.now = since
        self.asking = False
        self._began = time.monotonic() - since
        self._said: list[Message] = []
        self._started: Assignment | None = None
        self._answers: dict[int, bool] = {}
        self._open: dict[int, _Open] = {}

    # -- the loop's side -----------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether something was said that no poll has returned yet."""
        return bool(self._said)

    def last_resource(self, job: int) -> float | None:
        """What a job has reported last, 0 before that; None for one that has left."""
        return self._open[job].last if job in self._open else None

    def say(self, message: Message) -> None:
        """Something has happened to a job."""
        self._said.append(message)

    def take_job(self) -> Assignment | None:
        """The job that was started for the caller, once."""
        started, self._started = self._started, None
        return started

    def take_answer(self, job: int) -> bool:
        """The answer to the last report of a job; jobs that have left get no other than False."""
        return self._answers.pop(job, False)

    # -- the driver's side ---------------------------------------------------------------------

    def idle(self) -> int:
        return int(self.asking and self._started is None)

    def start(self, assignment: Assignment) -> None:
        self._started = assignment
        self._open[assignment.job] = _Open(assignment, self.now)

    def answer(self, job: int, go_on: bool) -> None:  # noqa: FBT001 - the answer itself
        self._answers[job] = go_on

    def poll(self) -> Sequence[Message]:
        said, self._said = self._said, []
        self.now = max(self.now, time.monotonic() - self._began)
        for message in said:
            if isinstance(message, (Ended, Crashed)):
                self._open.pop(message.job, None)
            elif isinstance(message, Reported) and message.job in self._open:
                self._open[message.job].last = message.resource
        return said

    def ask_to_leave(self, job: int, why: str) -> None:  # noqa: ARG002 - the loop is not reached
        # It cannot be unwound: for the study it has left, and its next report is answered False.
        if job in self._open:
            self.say(Ended(job))

    def wake(self) -> None:
        """Nothing to do: poll() never waits."""

    def views(self) -> Sequence[WorkerView]:
        return [
            WorkerView.busy(
                number,
                "asked",
                each.assignment,
                max(each.last, each.assignment.start),
                self.now - each.since,
            )
            for number, each in enumerate(self._open.values())
        ]

    def close(self) -> None:
        self._said.clear()
        self._open.clear()
