"""Answers out: what the engine decides, as frozen values.

===================  ======================================
answer to            one of
===================  ======================================
``JobRequested``     :class:`StartJob`, :class:`Wait`, :class:`Done`
``Reported``         :class:`Continue`, :class:`Pause`, :class:`Stop`
every other event    :class:`Noted`
===================  ======================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """One leg of training.

    Attributes:
        id: the order of issue, from 0.
        trial: the trial to train.
        config: its configuration.
        start: the furthest resource it has reported; the leg goes on from the checkpoint there,
            or from an earlier one if that is what was kept.
        until: how far it may run: to the next rung where trials are paused, to the maximum where
            they run on until they are stopped.
    """

    id: int
    trial: int
    config: Mapping[str, Any]
    start: float
    until: float


@dataclass(frozen=True, slots=True)
class StartJob:
    """Start this job on the worker that asked."""

    job: Job


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do now; ask again when something has changed."""


@dataclass(frozen=True, slots=True)
class Done:
    """The study is over, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Continue:
    """Train on."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Keep the checkpoint and free the worker; the trial may be promoted later."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Free the worker; the trial will not be trained further."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The fact was taken in; nothing is to be done."""


Decision = StartJob | Wait | Done | Continue | Pause | Stop | Noted

WAIT = Wait()
CONTINUE = Continue()
PAUSE = Pause()
STOP = Stop()
NOTED = Noted()
