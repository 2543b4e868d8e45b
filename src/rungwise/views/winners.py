"""Which trial wins, and what each is ranked by: the one place that decides it.

Two rules. ``"best"``: the best value at any resource. ``"top"``: the best at the highest rung. The
winner is trained in full in the end, so where a metric can get worse again, as cross-entropy does
when a network overfits, an early peak is not what counts, and ``"top"`` is the better rule. It
needs a highest rung that the good trials have reached: under Hyperband, for example, it holds the
few that were sent there at random.

Law of this file: a trial that failed, diverged, or was stopped by a person never ranks before one
that did not and has a finite value, under either rule.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rungwise.core.scheduler import Recipe, Winner
from rungwise.core.timeline import AppliedRequest
from rungwise.core.trials import State, Trial

Key = tuple[int, int, float, int]

HEALTHY, DISMISSED, BROKEN, EMPTY = range(4)
"""The first part of a key: nothing is wrong; stopped by a person; failed or diverged; no value."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a trial is ranked by.

    Attributes:
        key: smaller is better.
        loss: the loss that counts; infinite if the trial has no finite one.
        place: which of its reports that is; None if it has none.
        problem: why the trial cannot win while a healthy one reported; empty if it can.
    """

    key: Key
    loss: float
    place: int | None
    problem: str


def choose_winner(asked: Winner | None, recipe: Recipe) -> Winner:
    """Return the rule that was asked for, else that of the scheduler."""
    return recipe.winner if asked is None else asked


def list_dismissed(requests: Sequence[AppliedRequest]) -> Mapping[int, str]:
    """Return {trial: "stopped" or "failed"} of the trials that a person has ended."""
    return {one.number: one.kind for one in requests if one.kind in ("stopped", "failed")}


def has_diverged(losses: Sequence[float]) -> bool:
    """Return whether the last value of a curve is NaN or infinite."""
    return bool(losses) and not losses[-1] < math.inf


def judge_health(
    losses: Sequence[float], resource: float, *, failed: bool, note: str = "", stopped: bool = False
) -> tuple[int, str]:
    """Return (:data:`HEALTHY`, "") or why a trial cannot win while a healthy one reported.

    Args:
        losses: what it reported; infinite where that was not finite.
        resource: where the last of them was reported.
        failed: whether it failed, or a person failed it.
        note: why.
        stopped: whether a person stopped it.
    """
    if failed:
        return BROKEN, f"failed: {note}" if note else "failed"
    if has_diverged(losses):
        return BROKEN, f"diverged: its last value, at {resource:g}, is not finite"
    return (DISMISSED, "stopped on request") if stopped else (HEALTHY, "")


def find_record(
    trial: Trial, levels: Sequence[int], winner: Winner, dismissed: Mapping[int, str]
) -> Record:
    """Return what a trial is ranked by.

    Args:
        trial: the trial.
        levels: the levels of the rungs, ascending.
        winner: the rule.
        dismissed: the trials that a person has ended, by :func:`list_dismissed`.
    """
    how = dismissed.get(trial.id)
    failed = trial.state is State.FAILED or how == "failed"
    health = judge_health(
        trial.losses, trial.resource, failed=failed, note=trial.note, stopped=how is not None
    )
    return rank_curve(trial.id, trial.resources, trial.losses, health, levels, winner)


def rank_curve(
    number: int,
    resources: Sequence[float],
    losses: Sequence[float],
    health: tuple[int, str],
    levels: Sequence[int] = (),
    winner: Winner = "best",
) -> Record:
    """Return what a curve is ranked by.

    For ``"top"`` that is the loss at the highest rung where it is finite, and higher rungs come
    first; for ``"best"``, and below the first rung, its lowest loss.

    Args:
        number: of the trial; ties go to the lower one.
        resources: where it reported, ascending.
        losses: what it reported there; infinite where that was not finite.
        health: by :func:`judge_health`.
        levels: the levels of the rungs, ascending.
        winner: the rule.
    """
    tier, problem = health
    rung = bisect_right(levels, resources[-1]) if winner == "top" and len(losses) else 0
    while rung:
        place = bisect_left(resources, levels[rung - 1])
        if losses[place] < math.inf:
            break
        rung -= 1
    else:
        loss = min(losses, default=math.inf)
        if not loss < math.inf:
            return Record((EMPTY, 0, math.inf, number), math.inf, None, problem)
        place = list(losses).index(loss)
    return Record((tier, -rung, losses[place], number), losses[place], place, problem)
