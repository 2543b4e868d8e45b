"""Replay: fold a log into an engine, checking every decision on the way.

State is never stored, only rebuilt. A log taken up again thus proves itself: the first decision
that would be taken otherwise now is named.
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
    """The engine as it stood after the last entry of a log.

    Args:
        study: what the log is of.
        log: its entries, in order.
        propose: ask the searcher again and compare what it proposes; otherwise configurations
            are taken from the log as they are. By default slow searchers are not asked again,
            nor those that are not ``repeatable``.

    Raises:
        ReplayMismatchError: an entry whose decision would now be another.
    """
    recorded: Config | None = None
    engine = Engine(study)

    def again_drawn(number: int) -> Config | None:
        engine.proposals.drawn(number, recorded)
        return recorded

    if not (is_repeatable(study.searcher) if propose is None else propose):
        engine.proposer = again_drawn
    for index, (event, decision) in enumerate(log):
        recorded = decision.job.config if isinstance(decision, StartJob) else None
        try:
            again: object = engine.handle(event)
        except IllegalEventError as error:
            again = error
        if again != decision:
            raise ReplayMismatchError(index, event, decision, again)
    # Whoever goes on from here asks the study's own searcher.
    engine.proposer = engine.proposals
    return engine


def lost_jobs(engine: Engine, *, at: float = 0.0) -> list[JobLost]:
    """The events that take up a study after a crash: every open job is lost.

    Jobs told to pause or stop are among them; being settled, they owe nothing.
    """
    return [JobLost(job, at=at) for job in engine.open_jobs]
