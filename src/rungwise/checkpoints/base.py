"""What a checkpoint store is.

A worker commits checkpoints and reads the latest; only the tuner removes any. So a worker that has
lost its connection to the tuner, and keeps training, cannot remove the checkpoint from which
another worker resumes the trial.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

NAME = re.compile(
    r"at-(?P<resource>\d+(\.\d+)?(e[+-]?\d+)?)-job-(?P<job>\d+)-(?P<number>\d+)", re.ASCII
)
"""The name of a checkpoint, see :func:`make_name`."""


@dataclass(frozen=True, order=True)
class Checkpoint:
    """A committed checkpoint; later ones are greater.

    Attributes:
        resource: how much had been trained.
        job: the job that wrote it.
        number: its place among the checkpoints of that job.
        path: its folder, in a folder store; in any other its name there.
    """

    resource: float
    job: int
    number: int
    path: Path


class RemoteCheckpoint:
    """A checkpoint that is somewhere else; it is copied to this machine when its path is asked for.

    Use it like the path of a folder: ``checkpoint / "model.pt"``, ``os.fspath(checkpoint)``. As
    text it is its address. The copy is removed when the process ends.

    Args:
        address: where it is, for people.
        fetch: copies it.
    """

    def __init__(self, address: str, fetch: Callable[[], Path]) -> None:
        self.address = address
        self._fetch = fetch

    def __fspath__(self) -> str:
        return str(self._fetch())

    def __truediv__(self, name: str | os.PathLike[str]) -> Path:
        return self._fetch() / name

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"<checkpoint {self.address}>"


class TrialCheckpoints(Protocol):
    """The checkpoints of one trial (or of one retraining)."""

    @property
    def folder(self) -> Path:
        """A local folder for anything else the trial writes; created when it is first used."""
        ...

    def writing(self, resource: float, job: int) -> AbstractContextManager[Path]:
        """A new local folder; its contents are committed as a whole if the block does not raise."""
        ...

    def committed(self) -> list[Checkpoint]:
        """All committed checkpoints, the earliest first."""
        ...

    def latest(self, *, at_most: float) -> Checkpoint | None:
        """The last checkpoint at or below a resource."""
        ...

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """A local folder with the contents of a checkpoint."""
        ...

    def locate(self, *, at_most: float) -> Path | RemoteCheckpoint | None:
        """What :meth:`latest` finds, for readers of results: nothing is copied before its use."""
        ...

    def release(self) -> None:
        """Remove local copies that :meth:`fetch` has made: the job has left."""
        ...

    def size(self) -> int:
        """How many bytes its checkpoints take."""
        ...

    # -- the tuner only ------------------------------------------------------------------------

    def prune(
        self,
        *,
        reported: float,
        newest: tuple[int, int] | None = None,
        best: float | None = None,
    ) -> None:
        """Keep the last checkpoint up to the resource reported, and the one written last.

        Args:
            reported: how far the trial has reported.
            newest: the job and the number of the last checkpoint that the caller knows: later
                ones are kept as well, since they may be reported at any time. None if no job is
                writing.
            best: where the best value was reported, if the last checkpoint up to there is kept too.
        """
        ...

    def sweep(self, *, up_to: float = math.inf) -> None:
        """Remove the unfinished checkpoints of jobs that died, up to one of them."""
        ...

    def evict(self, *, since: int = 0) -> None:
        """Remove all checkpoints, or those of this job and of later ones."""
        ...


@runtime_checkable
class CheckpointStore(Protocol):
    """Where the checkpoints of a study are kept: a value that can be sent to every worker."""

    @property
    def within_process(self) -> bool:
        """Whether it is in the memory of a process, where other processes cannot see it."""
        ...

    def trial(self, place: str) -> TrialCheckpoints:
        """The checkpoints of a place, for example ``"trial-00007"``."""
        ...

    def places(self) -> Iterator[str]:
        """The places that have any checkpoints or files."""
        ...

    def check(self) -> None:
        """Write something, read it again and remove it.

        Raises:
            StoreUnavailableError: that does not work; nothing could be kept here.
        """
        ...

    def to_json(self) -> dict[str, Any]:
        """The store as plain JSON, with its ``type``."""
        ...


class KnownStore(CheckpointStore, Protocol):
    """A kind of store that workers, and files of studies, know by its name."""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CheckpointStore:
        """The store that :meth:`to_json` described."""
        ...


def make_name(resource: float, job: int, committed: list[Checkpoint]) -> str:
    """The name of a job's next checkpoint.

    Args:
        resource: how much has been trained.
        job: the job that writes it.
        committed: the checkpoints of the trial so far.
    """
    taken = [found.number for found in committed if found.job == job]
    return f"at-{resource_text(resource)}-job-{job}-{max(taken, default=-1) + 1}"


def parse_name(name: str, path: Path) -> Checkpoint | None:
    """The checkpoint of a name; None if it is no name of a checkpoint."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    return Checkpoint(float(found["resource"]), int(found["job"]), int(found["number"]), path)


def find_superseded(
    found: list[Checkpoint],
    reported: float,
    newest: tuple[int, int] | None,
    best: float | None = None,
) -> list[Checkpoint]:
    """Which checkpoints of a trial are not needed any more, see :meth:`TrialCheckpoints.prune`.

    Args:
        found: all that are committed, the earliest first.
        reported: how far the trial has reported.
        newest: the job and the number of the last checkpoint that the tuner knows.
        best: where the best value was reported, if the checkpoint there is kept too.
    """
    needed = [each for each in found if each.resource <= reported][-1:]
    if best is not None:
        needed += [each for each in found if each.resource <= best][-1:]
    written = sorted(found, key=lambda each: (each.job, each.number))
    # Not the furthest: that may be of a job that died before it reported that resource.
    recent = written[-1:]
    if newest is not None:
        recent = [each for each in written if (each.job, each.number) >= newest] or recent
    return [each for each in found if each not in needed and each not in recent]


def resource_text(resource: float) -> str:
    """A resource as part of a name: 9, not 9.0."""
    return str(int(resource)) if float(resource).is_integer() else repr(float(resource))
