"""Trials and the table of their states.

Two laws of this file:

1. Only the engine changes a trial. Schedulers see a :class:`Candidate`, searchers an ``Observed``.
2. Which state follows which is data (:data:`MOVES`); no other code decides it, and
   ``docs/states.md`` is generated from it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, unique
from typing import Any, Protocol

from rungwise.core.decisions import Job


@unique
class State(Enum):
    """The state of a trial."""

    NEW = "new"
    RUNNING = "running"
    PAUSING = "pausing"
    STOPPING = "stopping"
    PAUSED = "paused"
    LOST = "lost"
    STOPPED = "stopped"
    ENDED = "ended"
    FAILED = "failed"

    # Members are singletons; hashing their names in Python code would cost more than a report.
    __hash__ = object.__hash__


@unique
class Cause(Enum):
    """What moves a trial from one state to another."""

    RUN = "job started"
    PAUSE = "pause decided"
    STOP = "stop decided"
    END = "job ended"
    FAIL = "job failed"
    LOSE = "job lost"
    EXTEND = "study extended"
    DISMISS = "stopped on request"
    REJECT = "failed on request"

    __hash__ = object.__hash__


MOVES: Mapping[tuple[State, Cause], State] = {
    (State.NEW, Cause.RUN): State.RUNNING,
    (State.PAUSED, Cause.RUN): State.RUNNING,
    (State.LOST, Cause.RUN): State.RUNNING,
    (State.RUNNING, Cause.PAUSE): State.PAUSING,
    (State.RUNNING, Cause.STOP): State.STOPPING,
    (State.RUNNING, Cause.END): State.ENDED,
    (State.RUNNING, Cause.FAIL): State.FAILED,
    (State.RUNNING, Cause.LOSE): State.LOST,
    # A job is settled once pause or stop was decided: however it ends, the trial keeps what it
    # has reached. Without this a crash between the answer and the end would revive the trial.
    (State.PAUSING, Cause.END): State.PAUSED,
    (State.PAUSING, Cause.FAIL): State.PAUSED,
    (State.PAUSING, Cause.LOSE): State.PAUSED,
    (State.STOPPING, Cause.END): State.STOPPED,
    (State.STOPPING, Cause.FAIL): State.STOPPED,
    (State.STOPPING, Cause.LOSE): State.STOPPED,
    # A study that goes on: a job that its end cut short is started again, and a trial that was
    # trained to the maximum waits there, if the maximum was raised.
    (State.PAUSED, Cause.EXTEND): State.LOST,
    (State.STOPPED, Cause.EXTEND): State.PAUSED,
    # On request: a trial on a worker is asked to stop at once, and ends when its job has left.
    (State.PAUSED, Cause.DISMISS): State.STOPPED,
    (State.LOST, Cause.DISMISS): State.STOPPED,
    (State.STOPPED, Cause.DISMISS): State.STOPPED,
    (State.PAUSED, Cause.REJECT): State.FAILED,
    (State.LOST, Cause.REJECT): State.FAILED,
    (State.STOPPED, Cause.REJECT): State.FAILED,
}

MEANING: Mapping[State, str] = {
    State.NEW: "drawn, not started yet (internal)",
    State.RUNNING: "its job is on a worker",
    State.PAUSING: "to be paused at a rung; its job has not ended yet",
    State.STOPPING: "to be stopped; its job has not ended yet",
    State.PAUSED: "waits at a rung and may be promoted",
    State.LOST: "its job was lost, or cut short by the end of a study that was extended since; it "
    "will be started again before any other",
    State.STOPPED: "trained no further: it reached the maximum, or was stopped, by the scheduler "
    "or on request",
    State.ENDED: "its job ended without an error before its next rung; ranks last there",
    State.FAILED: "its job failed and is not retried, or it was failed on request; ranks last at "
    "its next rung",
}


class Candidate(Protocol):
    """A trial as a scheduler sees it: for reading."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def bracket(self) -> int:
        """The bracket of the scheduler that it belongs to."""

    @property
    def state(self) -> State:
        """Its state."""

    @property
    def failed(self) -> bool:
        """Whether it failed and will not be retried."""

    @property
    def until(self) -> float:
        """The level its current or last job runs to."""

    @property
    def resource(self) -> float:
        """The furthest resource reported; 0 before the first report."""

    @property
    def resources(self) -> Sequence[float]:
        """The resources it has reported at, ascending."""

    @property
    def losses(self) -> Sequence[float]:
        """The loss at each of these resources: always minimised, and inf for NaN."""


class Trial:
    """One configuration and all that is known about it.

    Only the engine changes a trial; where trials stand in rungs is known to the schedulers.

    Attributes:
        id: the order of drawing, from 0.
        config: the configuration.
        state: see :class:`State`.
        bracket: which bracket of the scheduler it belongs to.
        until: the level its current or last job runs to.
        resource: the furthest resource reported.
        resources: the resources reported, ascending.
        losses: the losses there, always minimised, +inf for NaN and ±inf.
        note: why it failed or was stopped, as far as that was said.
    """

    __slots__ = (
        "bracket",
        "config",
        "id",
        "losses",
        "note",
        "resource",
        "resources",
        "state",
        "until",
    )

    def __init__(self, number: int, config: Mapping[str, Any], bracket: int) -> None:
        self.id = number
        self.config = config
        self.bracket = bracket
        self.state = State.NEW
        self.until: float = 0
        self.resource: float = 0
        # Arrays of plain doubles: a third of the memory of lists, and the garbage collector does
        # not have to visit their items.
        self.resources = array("d")
        self.losses = array("d")
        self.note = ""

    @classmethod
    def recall(
        cls,
        number: int,
        config: Mapping[str, Any],
        bracket: int = 0,
        *,
        state: State,
        until: float,
        resource: float,
        note: str = "",
        curve: tuple[Iterable[float], Iterable[float]] = ((), ()),
    ) -> Trial:
        """Return a trial as it was recorded: for snapshots, and for studies kept without an engine.

        Args:
            number: its id.
            config: the configuration.
            bracket: see :attr:`bracket`.
            state: see :attr:`state`.
            until: see :attr:`until`.
            resource: see :attr:`resource`.
            note: see :attr:`note`.
            curve: the resources reported, and the losses there.
        """
        trial = cls(number, config, bracket)
        trial.state, trial.until, trial.resource, trial.note = state, until, resource, note
        trial.resources, trial.losses = array("d", curve[0]), array("d", curve[1])
        return trial

    def __repr__(self) -> str:
        return f"<trial {self.id}: {self.state.value}, resource {self.resource:g}>"

    @property
    def failed(self) -> bool:
        """Whether it failed and will not be retried."""
        return self.state is State.FAILED

    def story(self, jobs: Sequence[Job] = (), sign: float = 1.0) -> list[str]:
        """What happened to it, one sentence each.

        Args:
            jobs: the jobs issued for it.
            sign: turns losses into values.
        """
        sentences = [f"trial {self.id} was drawn with {dict(self.config)}"]
        sentences += [
            f"job {job.id} was started to train it from {job.start:g} to {job.until:g}"
            for job in jobs
        ]
        if self.resources:
            often = len(self.resources)
            times = "once, at" if often == 1 else f"{often} times, last at"
            value = sign * self.losses[-1]
            sentences.append(f"it reported {times} resource {self.resource:g} with value {value:g}")
        sentences.append(
            f"it is now {self.state.value}: {MEANING[self.state]}{self.note and f' ({self.note})'}"
        )
        return sentences
