"""Replay: fold a log into an engine, checking every decision on the way.

Resuming a log also verifies it: the error names the first decision that would be different now. Of
a large study a snapshot may stand for the first part of its log (``storage/snapshots.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from rungwise.core.decisions import Decision, StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import Event, JobLost
from rungwise.core.proposals import is_repeatable
from rungwise.core.study import Study
from rungwise.core.study_state import Config
from rungwise.errors import IllegalEventError, ReplayMismatchError


def replay(
    study: Study,
    log: Iterable[tuple[Event, Decision]],
    *,
    propose: bool | None = None,
    on_rounded: Callable[[int], None] = lambda _: None,
    after: tuple[Engine, int] | None = None,
) -> Engine:
    """The engine as it was after the last entry of a log.

    Args:
        study: the study of the log.
        log: its entries, in order.
        propose: ask the searcher again and compare what it proposes; otherwise configurations
            are taken from the log as they are. By default a searcher is not asked again if it is
            slow or not ``repeatable``.
        on_rounded: called with the number of every trial whose configuration this machine would
            have proposed with other last bits. The log's is what happened, and is taken.
        after: an engine as it was after a number of entries, and that number; ``log`` then holds
            those that follow.

    Raises:
        ReplayMismatchError: an entry whose decision would be different now.
    """
    recorded: Config | None = None
    engine, first = (Engine(study), 0) if after is None else after

    def take_recorded(number: int) -> Config | None:
        engine.proposals.drawn(number, recorded)
        return recorded

    def propose_again(number: int) -> Config | None:
        config = engine.proposals.propose(number)
        if config != recorded and differ_by_rounding(config, recorded):
            on_rounded(number)
            config = recorded
        engine.proposals.drawn(number, config)
        return config

    again_asked = is_repeatable(study.searcher) if propose is None else propose
    engine.proposer = propose_again if again_asked else take_recorded
    for index, (event, decision) in enumerate(log, first):
        recorded = find_drawn(decision, len(engine.trials))
        try:
            again: object = engine.handle(event)
        except IllegalEventError as error:
            again = error
        if again != decision:
            raise ReplayMismatchError(index, event, decision, again)
    # From here on configurations come from the study's own searcher.
    engine.proposer = engine.proposals
    return engine


def find_drawn(decision: Decision, number: int) -> Config | None:
    """The configuration that was drawn for a trial; None if there was nothing left to propose.

    Args:
        decision: what the log holds; it may promote an older trial instead.
        number: of the trial, the next to be drawn.
    """
    if type(decision) is StartJob and decision.job.trial == number:
        return decision.job.config
    return None


ULPS = 4
"""How many units in the last place a float may differ by on a machine with other mathematics."""


def differ_by_rounding(one: Config | None, other: Config | None) -> bool:
    """Whether two configurations are the same but for the last bits of floats."""
    if one is None or other is None or one.keys() != other.keys():
        return False
    return all(_nearly_equal(one[name], other[name]) for name in one)


def _nearly_equal(one: Any, other: Any) -> bool:
    if type(one) is not float or type(other) is not float:
        return type(one) is type(other) and bool(one == other)
    return abs(one - other) <= ULPS * max(math.ulp(one), math.ulp(other))


def lost_jobs(engine: Engine, *, at: float = 0.0) -> list[JobLost]:
    """The events that resume a study after a crash: every open job is lost.

    Jobs that were answered with pause or stop are among them; their trials keep their state.
    """
    return [JobLost(job, at=at) for job in engine.open_jobs]
