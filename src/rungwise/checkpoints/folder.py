"""Checkpoints in a folder, local or shared: one folder per trial, in it one per checkpoint.

::

    digits.db.files/
      trial-00007/
        checkpoints/at-9-job-12-0/       committed: resource 9, written by job 12
        checkpoints/.writing-…/          being written, or left over from a job that died
        output.log                       the last lines that the trial printed

A checkpoint is committed by renaming its folder, which is atomic: the checkpoint is complete, or
it does not exist. The previous one is kept until a report at the resource of the new one is in
the log: a job must never start beyond the last report, or the report in between would be lost.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rungwise.checkpoints.base import Checkpoint
from rungwise.checkpoints.disk import find_write_problem, measure_folder
from rungwise.errors import InvalidArgumentError

WRITING = ".writing-"
_NAME = re.compile(
    r"at-(?P<resource>\d+(\.\d+)?(e[+-]?\d+)?)-job-(?P<job>\d+)-(?P<number>\d+)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A folder that every worker can reach: on this machine's disk, or on a shared one (NFS).

    Args:
        path: the folder; it is created when it is first written to.
        durable: whether checkpoints must survive a power failure.
    """

    path: str
    durable: bool = False

    def __str__(self) -> str:
        return self.path

    def trial(self, place: str) -> TrialFolder:
        """The folder of one place."""
        return TrialFolder(Path(self.path, place), durable=self.durable)

    def places(self) -> Iterator[str]:
        """The names of its folders."""
        try:
            found = sorted(os.scandir(self.path), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            reason = f"it cannot be read ({error.strerror or error})"
            raise InvalidArgumentError("checkpoints", self.path, reason) from error
        yield from (entry.name for entry in found if entry.is_dir(follow_symlinks=False))

    def find_problem(self) -> str | None:
        """Why nothing can be written to it now."""
        return find_write_problem(Path(self.path))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"type": "FolderStore", "path": self.path, "durable": self.durable}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> FolderStore:
        """The store that :meth:`to_json` described."""
        return cls(str(document["path"]), bool(document["durable"]))


class TrialFolder:
    """What one trial keeps on disk.

    Args:
        path: its folder; created when it is first written to.
        durable: whether checkpoints must survive a power failure.
    """

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path = path
        self._durable = durable
        self._checkpoints = path / "checkpoints"

    @property
    def output(self) -> Path:
        """The file with the last lines that the trial printed."""
        return self.path / "output.log"

    @property
    def folder(self) -> Path:
        """For anything else that the trial writes."""
        return self.path

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """Its folder, which can be read directly."""
        return checkpoint.path

    def size(self) -> int:
        """How many bytes its checkpoints take."""
        return measure_folder(self._checkpoints)

    def committed(self) -> list[Checkpoint]:
        """All committed checkpoints, the earliest first."""
        try:
            names = [path.name for path in self._checkpoints.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(
            Checkpoint(
                float(found["resource"]),
                int(found["job"]),
                int(found["number"]),
                self._checkpoints / name,
            )
            for name in names
            if (found := _NAME.fullmatch(name))
        )

    def latest(self, *, at_most: float) -> Checkpoint | None:
        """The last checkpoint at or below a resource."""
        return max((found for found in self.committed() if found.resource <= at_most), default=None)

    @contextmanager
    def writing(self, resource: float, job: int) -> Iterator[Path]:
        """A new folder to write to; committed when the block ends, removed if it raises."""
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        taken = [found.number for found in self.committed() if found.job == job]
        name = f"at-{resource_text(resource)}-job-{job}-{max(taken, default=-1) + 1}"
        folder = self._checkpoints / f"{WRITING}{name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
            if self._durable:
                flush(folder)
            folder.rename(self._checkpoints / name)
            if self._durable:
                _flush_one(self._checkpoints)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def prune(self, *, reported: float, newest: tuple[int, int] | None = None) -> None:
        """Keep the last checkpoint up to the resource reported, and the one written last."""
        found = self.committed()
        needed = [each for each in found if each.resource <= reported][-1:]
        written = sorted(found, key=lambda each: (each.job, each.number))
        # Not the furthest: that may be of a job that died before it reported that resource.
        recent = written[-1:]
        if newest is not None:
            recent = [each for each in written if (each.job, each.number) >= newest] or recent
        for each in found:
            if each not in needed and each not in recent:
                discard(each.path)

    def sweep(self, *, up_to: float = math.inf) -> None:
        """Remove the unfinished checkpoints of jobs that died.

        Args:
            up_to: the last job that died; later ones may be writing now.
        """
        for folder in self._checkpoints.glob(f"{WRITING}*"):
            found = _NAME.fullmatch(folder.name.removeprefix(WRITING))
            if found is None or int(found["job"]) <= up_to:
                shutil.rmtree(folder, ignore_errors=True)

    def evict(self) -> None:
        """Remove all checkpoints, and the folders if they are empty then."""
        for checkpoint in self.committed():
            discard(checkpoint.path)
        self.sweep()
        with suppress(OSError):  # there are other files in it, or it was removed meanwhile
            self._checkpoints.rmdir()
            self.path.rmdir()


def flush(folder: Path) -> None:
    """Wait until a folder and everything in it are on the disk."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            # A link is part of its folder; opening a socket fails, and opening a FIFO waits for
            # a writer that never comes.
            if stat.S_ISREG(Path(place, name).lstat().st_mode):
                _flush_one(Path(place, name))
        _flush_one(Path(place))


def _flush_one(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(folder: Path) -> None:
    """Remove a checkpoint: rename it first, so that it is never incomplete, then delete it."""
    removed = folder.with_name(f"{WRITING}gone-{folder.name}")
    try:
        folder.rename(removed)
    except FileNotFoundError:
        return
    shutil.rmtree(removed, ignore_errors=True)


def resource_text(resource: float) -> str:
    """A resource as part of a name: 9, not 9.0."""
    return str(int(resource)) if float(resource).is_integer() else repr(float(resource))
