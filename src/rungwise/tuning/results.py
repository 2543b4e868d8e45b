"""What a session leaves: a result."""

from __future__ import annotations

from rungwise.session.session import StudySession
from rungwise.tuning.result import TuningResult
from rungwise.tuning.retraining import list_retrained


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
