"""Phrases about a study that displays share."""

from __future__ import annotations

from rungwise.display.base import Snapshot
from rungwise.formatting import format_count, format_resource

__all__ = ["describe_draws", "describe_failures", "describe_scheduler"]


def describe_draws(snapshot: Snapshot) -> str:
    """How many of its trials a study has drawn."""
    limit = snapshot.view.limits.trials
    number = snapshot.view.trials
    return format_count(number, "trial") if limit is None else f"{number:,} of {limit:,} trials"


def describe_scheduler(snapshot: Snapshot) -> str:
    """The scheduler of a study and how far it may train."""
    furthest = snapshot.max_resource
    end = "open-ended" if furthest is None else f"up to {format_resource(furthest)}"
    return f"{type(snapshot.view.recipe).__name__} {end}"


def describe_failures(snapshot: Snapshot) -> str:
    """How many trials of a study have failed and are not retried, and how many jobs have failed."""
    trials, jobs = snapshot.failed_trials, snapshot.failures
    return f"{format_count(trials, 'trial')} ({format_count(jobs, 'job')})"
