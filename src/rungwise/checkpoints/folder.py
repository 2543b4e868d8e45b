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
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rungwise.checkpoints.base import (
    NAME,
    Checkpoint,
    find_superseded,
    make_name,
    parse_name,
)
from rungwise.checkpoints.disk import find_write_problem, measure_folder
from rungwise.errors import InvalidArgumentError, StoreUnavailableError

WRITING = ".writing-"


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

    @property
    def within_process(self) -> bool:
        """A folder is on a disk."""
        return False

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

    def check(self) -> None:
        """Write a file in the folder, and read it again; a folder that was not there is removed."""
        place = Path(self.path)
        missing: list[Path] = []
        try:
            missing += (each for each in (place, *place.parents) if not each.exists())
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place, prefix=".check-") as file:
                file.write(b"rungwise")
                file.flush()
                same = Path(file.name).read_bytes() == b"rungwise"
        except (OSError, ValueError) as error:  # the name may be one that no folder can have
            raise StoreUnavailableError(self.path, str(error)) from error
        finally:
            for each in missing:
                with suppress(OSError):
                    each.rmdir()
        if not same:
            raise StoreUnavailableError(self.path, "what was written is not what is read")

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

    def release(self) -> None:
        """There are no copies."""

    def locate(self, *, at_most: float) -> Path | None:
        """The folder of the last checkpoint at or below a resource."""
        found = self.latest(at_most=at_most)
        return None if found is None else found.path

    def size(self) -> int:
        """How many bytes its checkpoints take."""
        return measure_folder(self._checkpoints)

    def committed(self) -> list[Checkpoint]:
        """All committed checkpoints, the earliest first."""
        try:
            names = [path.name for path in self._checkpoints.iterdir()]
        except (FileNotFoundError, NotADirectoryError):  # a file may be where its folder was
            return []
        found = [parse_name(name, self._checkpoints / name) for name in names]
        return sorted(each for each in found if each is not None)

    def latest(self, *, at_most: float) -> Checkpoint | None:
        """The last checkpoint at or below a resource."""
        return max((found for found in self.committed() if found.resource <= at_most), default=None)

    @contextmanager
    def writing(self, resource: float, job: int) -> Iterator[Path]:
        """A new folder to write to; committed when the block ends, removed if it raises."""
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        name = make_name(resource, job, self.committed())
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

    def prune(
        self,
        *,
        reported: float,
        newest: tuple[int, int] | None = None,
        best: float | None = None,
    ) -> None:
        """Keep the last checkpoint up to the resource reported, and the one written last."""
        for each in find_superseded(self.committed(), reported, newest, best):
            discard(each.path)

    def sweep(self, *, up_to: float = math.inf) -> None:
        """Remove the unfinished checkpoints of jobs that died.

        Args:
            up_to: the last job that died; later ones may be writing now.
        """
        for folder in self._checkpoints.glob(f"{WRITING}*"):
            found = NAME.fullmatch(folder.name.removeprefix(WRITING))
            if found is None or int(found["job"]) <= up_to:
                shutil.rmtree(folder, ignore_errors=True)

    def evict(self, *, since: int = 0) -> None:
        """Remove checkpoints, and the folders if they are empty then.

        Args:
            since: the first job whose checkpoints are removed.
        """
        for checkpoint in self.committed():
            if checkpoint.job >= since:
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
