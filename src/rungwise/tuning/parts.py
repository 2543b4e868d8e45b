"""What follows a study while it runs: a new watcher is a class, and a line in a list here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rungwise.session.checkpoint_retention import Retention
from rungwise.session.file_watch import FileWatch
from rungwise.session.give_up import GiveUp
from rungwise.session.mirror import Mirrored
from rungwise.session.misuse import CONTINUE, SAVE, BeyondMaximum, TrainedAgain
from rungwise.session.output_files import OutputFiles
from rungwise.session.part import Part
from rungwise.session.prefetch import Prefetch
from rungwise.session.safety_net import SafetyNet
from rungwise.session.shown import Shown
from rungwise.session.snapshot_keeper import Snapshots
from rungwise.session.tracking import Tracking
from rungwise.tuning.request_desk import Requests


def follow_any(callbacks: Sequence[Any]) -> list[Part]:
    """Return what follows every study.

    Args:
        callbacks: what is called with what happens.
    """
    return [
        FileWatch(),
        Snapshots(),
        Mirrored(),
        Prefetch(),
        BeyondMaximum(),
        SafetyNet(),
        Tracking(callbacks),
    ]


def follow_workers() -> list[Part]:
    """Return what follows training in workers, which print and save."""
    return [OutputFiles(), Retention()]


def follow_tuning(callbacks: Sequence[Any]) -> list[Part]:
    """Return what follows a study that workers train."""
    return [*follow_workers(), TrainedAgain(SAVE), *follow_any(callbacks), Requests(), Shown()]


def follow_retraining(callbacks: Sequence[Any]) -> list[Part]:
    """Return what follows a winner that is trained in full."""
    return [*follow_workers(), *follow_any(callbacks), GiveUp(), Shown()]


def follow_asking(callbacks: Sequence[Any]) -> list[Part]:
    """Return what follows a study that a loop of the user's asks for jobs."""
    return [TrainedAgain(CONTINUE), *follow_any(callbacks), Requests()]
