"""What a callback is: it is called with what happens in a study, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rungwise.callbacks.events import (
    CeilingRaised,
    JobLeft,
    JobStarted,
    ReportEvent,
    StudyBegan,
    StudyEnded,
)


class Callback:
    """Subclass it and override what you need: every method does nothing by itself.

    A fact is in the log before a callback is called, and the study goes on whatever a callback
    does: what it raises becomes a notice. A callback may be given to several studies, one after
    the other.

    Attributes:
        words: names for the command line, if not that of the class.
        paths: the arguments that name files or folders; in YAML they are relative to its folder.
        slow: whether it may take longer than a report may wait (a server, a network). It is then
            called in a thread of its own, in the order of the facts and a moment later.
        stops_the_study: whether what it raises stops the study instead.
    """

    words: ClassVar[tuple[str, ...]] = ()
    paths: ClassVar[tuple[str, ...]] = ()
    slow: ClassVar[bool] = False
    stops_the_study: ClassVar[bool] = False

    def check(self) -> None:
        """Raise now if something is missing, before anything is trained."""

    def begin(self, study: StudyBegan) -> None:
        """The study begins, or is resumed."""

    def started(self, job: JobStarted) -> None:
        """A job starts."""

    def reported(self, report: ReportEvent) -> None:
        """A report was made and decided on."""

    def left(self, job: JobLeft) -> None:
        """A job has left its worker."""

    def ceiling(self, raised: CeilingRaised) -> None:
        """The ceiling has risen."""

    def fill(self, reports: Iterable[ReportEvent]) -> None:
        """Every report of the study so far, for a sink that adds what it has not.

        Called after :meth:`begin` when a study is resumed, and before :meth:`ended` if reports
        were not passed on, because they came too fast or the callback had raised.
        """

    def flush(self) -> None:
        """Write what was collected; a slow callback is asked to about once a second."""

    def ended(self, result: StudyEnded) -> None:
        """The study has ended, or stops before its end: close everything."""


METHODS = ("begin", "started", "reported", "left", "ceiling", "fill", "flush", "ended")
"""What a callback may have; one that is no subclass of :class:`Callback` may leave some out."""
