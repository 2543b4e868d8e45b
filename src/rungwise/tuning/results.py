"""What a session leaves: a summary in the file of its study, and a result."""

from __future__ import annotations

from contextlib import suppress

from rungwise.errors import RungwiseError
from rungwise.session.session import StudySession
from rungwise.tuning.result import TuningResult
from rungwise.tuning.retraining import list_retrained
from rungwise.tuning.summaries import keep_summary


def summarise(session: StudySession) -> None:
    """Write the summary of a study that this process leaves as it is now."""
    if session.opened.kept and session.in_step:
        with suppress(RungwiseError):  # it is only a summary
            keep_summary(session.opened.file, session.engine, session.seconds)


def make_result(session: StudySession, workers: int, *, running: bool = False) -> TuningResult:
    """Return what came of a study so far.

    Args:
        session: the study.
        workers: how many jobs were open at a time, at most.
        running: whether it goes on.
    """
    opened = session.opened
    return TuningResult(
        session.engine,
        opened.file.path,
        opened.about,
        seconds=session.seconds,
        failures=opened.file.failures(),
        retrained=list_retrained(opened.file, opened.store),
        options=opened.options,
        workers=workers,
        running=running,
        kept=opened.kept,
    )
