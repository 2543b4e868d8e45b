"""Checkpoints on disk: a folder a trial, in it a folder a checkpoint, whole or not there at all.

::

    digits.db.files/
      trial-00007/
        checkpoints/at-9-job-12-0/       committed: resource 9, written by job 12
        checkpoints/.writing-…/          under way, or left over from a job that died
        output.log                       the last of what the trial printed

A checkpoint is committed by renaming its folder, which the file system does at once or not at
all. The one before it is kept until the study has taken in a report as far as the new one: a leg
must never start beyond what was reported, or the report in between would be lost.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rungwise.core.checks import whole
from rungwise.errors import InvalidArgumentError

WRITING = ".writing-"
_NAME = re.compile(r"at-(?P<resource>[0-9.e+-]+)-job-(?P<job>\d+)-(?P<number>\d+)")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NEARLY_NOTHING = 64 * 1024


@dataclass(frozen=True, order=True)
class Checkpoint:
    """A committed checkpoint; later ones are greater."""

    resource: float
    job: int
    number: int
    path: Path


class TrialFolder:
    """What one trial keeps on disk.

    Args:
        path: its folder; made when it is first written to.
        durable: whether checkpoints must survive a power failure.
    """

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self.path = path
        self._durable = durable
        self._checkpoints = path / "checkpoints"

    @property
    def output(self) -> Path:
        """Where the last of what the trial printed is kept."""
        return self.path / "output.log"

    def committed(self) -> list[Checkpoint]:
        """The checkpoints there are, the earliest first."""
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
        """The last checkpoint that is not beyond a resource."""
        return max((found for found in self.committed() if found.resource <= at_most), default=None)

    @contextmanager
    def writing(self, resource: float, job: int) -> Iterator[Path]:
        """A fresh folder to write to; committed when the block ends well, gone when it does not."""
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

    def prune(self, *, reported: float) -> None:
        """Keep the last checkpoint up to what was reported, and the one written last."""
        found = self.committed()
        needed = [checkpoint for checkpoint in found if checkpoint.resource <= reported][-1:]
        # Not the furthest: that may be of a leg that died before it could report as far.
        newest = max(
            found, key=lambda checkpoint: (checkpoint.job, checkpoint.number), default=None
        )
        for checkpoint in found:
            if checkpoint not in needed and checkpoint != newest:
                discard(checkpoint.path)

    def sweep(self) -> None:
        """Remove what jobs that died were in the middle of writing."""
        for folder in self._checkpoints.glob(f"{WRITING}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def clear(self) -> None:
        """Remove all checkpoints."""
        for checkpoint in self.committed():
            discard(checkpoint.path)
        self.sweep()


def flush(folder: Path) -> None:
    """Wait until a folder and all that is in it are on the disk."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            _flush_one(Path(place, name))
        _flush_one(Path(place))


def _flush_one(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(folder: Path) -> None:
    """Remove a checkpoint: first it ceases to be one, then its contents go."""
    doomed = folder.with_name(f"{WRITING}gone-{folder.name}")
    try:
        folder.rename(doomed)
    except FileNotFoundError:
        return
    shutil.rmtree(doomed, ignore_errors=True)


def size_of(folder: Path) -> int:
    """How many bytes the files in a folder hold."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).lstat().st_size
    return total


def means_full_disk(error: BaseException, folder: Path) -> bool:
    """Whether an exception was raised because the disk is full."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    # Libraries written in C++ raise errors of their own; then the disk itself is asked.
    if not isinstance(error, Exception):
        return False
    try:
        return shutil.disk_usage(folder).free < _NEARLY_NOTHING
    except OSError:
        return False


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of(name: str, value: object) -> int:
    """A number of bytes from a number or from text such as ``"20GB"`` or ``"512 MiB"``."""
    rule = "it must be a number of bytes, or text such as '20GB' or '512MiB'"
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        if found is None or found[2].upper() not in _UNITS:
            raise InvalidArgumentError(name, value, rule)
        return int(float(found[1]) * _UNITS[found[2].upper()])
    try:
        return whole(name, value, at_least=0)
    except InvalidArgumentError:
        raise InvalidArgumentError(name, value, rule) from None


def resource_text(resource: float) -> str:
    """A resource as it stands in a name: 9, not 9.0."""
    return str(int(resource)) if float(resource).is_integer() else repr(float(resource))
