"""What a part of a session is: it follows what happens, and may do something about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rungwise.backends.messages import Message
from rungwise.core.decisions import Decision, Job
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported, Request, StudyExtended
from rungwise.core.failures import Failure

if TYPE_CHECKING:
    from rungwise.session.session import StudySession

Left = JobEnded | JobFailed | JobLost
"""How a job has left its worker."""


class Part:
    """Follows one session; every method does nothing, and is not called where it is not overridden.

    What has nothing to follow in a study sets ``idle`` in :meth:`open`, and is not called again.

    The parts of a session are called in their order, by one thread at a time. Whatever one of them
    is told is in the log already.

    Attributes:
        session: the session, from before :meth:`open` on.
        idle: whether there is nothing to follow.
    """

    session: StudySession
    idle = False

    def open(self) -> None:
        """The study was read, and nothing runs yet; events may be written to the log."""

    def begin(self) -> None:
        """The backend is open, and no job has started; there is no backend if the study is over."""

    def started(self, job: Job, at: float) -> None:
        """A job is about to start."""

    def resumed(self, trial: int, start: float) -> None:
        """A trial that had reported starts again from its checkpoint, at 0 if it has none."""

    def message(self, message: Message, trial: int) -> None:
        """A job has sent something that is not a report."""

    def reported(self, report: Reported, decision: Decision, trial: int) -> None:
        """A job has reported something new, and its answer was sent."""

    def repeated(self, trial: int) -> None:
        """A job has reported again what its trial had reported before."""

    def left(self, fact: Left, trial: int) -> None:
        """A job has left its worker."""

    def failed(self, failure: Failure, *, again: bool) -> None:
        """A job has failed; whether its trial is tried again."""

    def requested(self, event: Request | StudyExtended) -> None:
        """Something was asked of the study while it runs, and was done."""

    def step(self, now: float) -> None:
        """Everything that has happened is done with; ``now`` is by ``time.monotonic()``."""

    def ready(self) -> bool:
        """Whether a request for a job would be answered at once."""
        return True

    def measure(self) -> int:
        """How many bytes of checkpoints this part takes care of."""
        return 0

    def end(self, *, failed: bool) -> None:
        """The study has ended, or stops; whether an error stops it. Its log can still be written.

        What :meth:`begin` has not been called for may end, too.
        """

    def close(self) -> None:
        """The backend is closed: end threads, close files."""
