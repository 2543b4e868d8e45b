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

from dataclasses import dataclass
from typing import Annotated, Any, get_args

from rungwise.core.fields import Config, Form, Number, Table, Text, Whole, find_table, read_object


@dataclass(frozen=True, slots=True)
class Job:
    """A trial to be trained to its next rung, by one worker.

    Attributes:
        id: the order of issue, from 0.
        trial: the trial to train.
        config: its configuration.
        start: the furthest resource the trial has reported; the job resumes from the checkpoint
            there, or from an earlier one if no later one was kept.
        until: how far it may run: to the next rung if the scheduler pauses trials, to the maximum
            if trials keep running until they are stopped.
    """

    id: Whole
    trial: Whole
    config: Config
    start: Number
    until: Number


_JOB = Table(Job)


def _job_from_json(data: Any, place: str) -> Any:
    return find_table({"Job": _JOB}, read_object(data, place), place).from_json(data)


IssuedJob = Annotated[
    Job, Form("a job", lambda value: type(value) is Job, _job_from_json, _JOB.to_json)
]


@dataclass(frozen=True, slots=True)
class StartJob:
    """Start this job on the worker that requested one."""

    job: IssuedJob


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do now; ask again when something has changed."""


@dataclass(frozen=True, slots=True)
class Done:
    """The study is over, and why."""

    why: Text


@dataclass(frozen=True, slots=True)
class Continue:
    """Continue training."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Keep the checkpoint and free the worker; the trial may be promoted later."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Free the worker; the trial will not be trained further."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The event was recorded; nothing needs to be done."""


Decision = StartJob | Wait | Done | Continue | Pause | Stop | Noted

WAIT = Wait()
CONTINUE = Continue()
PAUSE = Pause()
STOP = Stop()
NOTED = Noted()

TABLES: dict[type, Table] = {
    # "Run" is the name that logs have for it, since before the class was renamed.
    kind: Table(kind, "Run" if kind is StartJob else "")
    for kind in get_args(Decision)
}
"""The fields of every kind of decision."""
