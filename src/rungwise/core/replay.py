"""Replay: fold a log into an engine, checking every decision on the way.

State is never stored, only rebuilt. So resuming a log also verifies it: the error names the first
decision that would be different now.
"""

from __future__ import annotations

from collections.abc import Iterable

from rungwise.core.decisions import Decision, StartJob
from rungwise.core.engine import Config, Engine
from rungwise.core.events import Event, JobLost
from rungwise.core.proposals import is_repeatable
from rungwise.core.study import Study
from rungwise.errors import IllegalEventError, ReplayMismatchError


def replay(
    study: Study, log: Iterable[tuple[Event, Decision]], *, propose: bool | None = None
) -> Engine:
    """The engine as it was after the last entry of a log.

    Args:
        study: the study of the log.
        log: its entries, in order.
        propose: ask the searcher again and compare what it proposes; otherwise configurations
            are taken from the log as they are. By default a searcher is not asked again if it is
            slow or not ``repeatable``.

    Raises:
        ReplayMismatchError: an entry whose decision would be different now.
    """
    recorded: Config | None = None
    engine = Engine(study)

    def take_recorded(number: int) -> Config | None:
        engine.proposals.drawn(number, recorded)
        return recorded

    if not (is_repeatable(study.searcher) if propose is None else propose):
        engine.proposer = take_recorded
    for index, (event, decision) in enumerate(log):
        recorded = decision.job.config if isinstance(decision, StartJob) else None
        try:
            again: object = engine.handle(event)
        except IllegalEventError as error:
            again = error
        if again != decision:
            raise ReplayMismatchError(index, event, decision, again)
    # From here on configurations come from the study's own searcher.
    engine.proposer = engine.proposals
    return engine


def lost_jobs(engine: Engine, *, at: float = 0.0) -> list[JobLost]:
    """The events that resume a study after a crash: every open job is lost.

    Jobs that were answered with pause or stop are among them; their trials keep their state.
    """
    return [JobLost(job, at=at) for job in engine.open_jobs]
