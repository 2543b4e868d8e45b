"""Checkpoints behind an address of fsspec: an object store such as S3, or any other file system.

::

    s3://bucket/studies/digits.db.files/
      trial-00007/
        at-9-job-12-0/5f0c2a9b71d3/model.pt         the files, under a prefix used by no other job
        at-9-job-12-0/5f0c2a9b71d3/COMMITTED        written last: their names and sizes

Object stores cannot rename a folder, so a checkpoint exists when its object ``COMMITTED`` exists,
and everything it lists is there in full. Whatever removes a checkpoint removes ``COMMITTED``
first. Files are written to a local folder, and uploaded when the block has ended; they are
downloaded again into a local folder that is removed when the job leaves.

Credentials come from where the library of the storage looks for them (environment variables, its
configuration files, the machine's role). None are part of the store, which is kept in study files.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rungwise.checkpoints.addresses import open_address
from rungwise.checkpoints.base import (
    Checkpoint,
    RemoteCheckpoint,
    find_superseded,
    make_name,
    parse_name,
)
from rungwise.checkpoints.scratch import find_folder, make_scratch
from rungwise.errors import StoreUnavailableError

COMMITTED = "COMMITTED"

WAITS = (0.2, 1.0, 3.0, 8.0, 15.0)
"""Seconds before something that failed is tried again, each time."""

LASTING = (FileNotFoundError, PermissionError, NotImplementedError, TypeError, ImportError)
"""Errors that stay however often one tries."""

Objects = dict[str, int]
"""Names of objects below a place, with their sizes."""

_copies: dict[tuple[int, str], Path] = {}
"""The local copies of checkpoints, by process (a fork has none) and address."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class FsspecStore:
    """An address that every worker can reach, in the form that fsspec understands.

    Args:
        address: for example ``"s3://bucket/studies/digits"``; nothing is created before something
            is written.
    """

    address: str

    def __str__(self) -> str:
        return self.address

    @property
    def within_process(self) -> bool:
        """Whether it is the memory of a process, which no other process can see."""
        return self.address.startswith("memory://")

    def trial(self, place: str) -> TrialObjects:
        """The checkpoints of one place."""
        return TrialObjects(f"{self.address.rstrip('/')}/{place}")

    def places(self) -> Iterator[str]:
        """The names of all places that have any objects."""
        found = _list_objects(self.address)
        yield from sorted({name.partition("/")[0] for name in found if "/" in name})

    def check(self) -> None:
        """Write an object, read it again, and remove it; once, without trying again."""
        files, root = open_address(self.address)
        name, said = f"{root}/.check-{secrets.token_hex(6)}", secrets.token_bytes(16)
        try:
            files.pipe_file(name, said)
            found = files.cat_file(name)
            files.rm_file(name)
        except Exception as error:  # whatever the library of the storage raises
            raise StoreUnavailableError(self.address, describe(error)) from error
        if found != said:
            raise StoreUnavailableError(self.address, "what was written is not what is read")

    def find_problem(self) -> str | None:
        """Why nothing can be written to it now."""
        try:
            self.check()
        except StoreUnavailableError as error:
            return str(error)
        return None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"type": "FsspecStore", "address": self.address}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> FsspecStore:
        """The store that :meth:`to_json` described."""
        return cls(str(document["address"]))


def parse_manifest(text: bytes) -> Objects:
    """Return the files of a checkpoint that its manifest names, with their sizes.

    It is not trusted, since others may write to the storage: a name that leads out of the folder of
    the checkpoint is refused before anything is made.

    Raises:
        ValueError: it is damaged, or names such a file.
    """
    try:
        found = json.loads(text)["files"]
        sizes = {name: found[name] for name in found}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{COMMITTED} is damaged") from None
    for name, size in sizes.items():
        if type(size) is not int or size < 0:
            raise ValueError(f"{COMMITTED} is damaged: the size of {name!r} is {size!r}")
        parts = name.split("/")
        if not all(parts) or {".", ".."} & set(parts) or "\\" in name or "\0" in name:
            raise ValueError(f"{COMMITTED} names {name!r}, which is outside of the checkpoint")
    return sizes


class TrialObjects:
    """What one trial keeps behind an address.

    Args:
        address: its own address.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    def folder(self) -> Path:
        """A folder of this machine: what else a trial writes is not uploaded."""
        return find_folder(self.address)

    # -- reading -------------------------------------------------------------------------------

    def committed(self) -> list[Checkpoint]:
        """All committed checkpoints, the earliest first."""
        return _find_committed(_list_objects(self.address))

    def latest(self, *, at_most: float) -> Checkpoint | None:
        """The last checkpoint at or below a resource of which nothing is missing."""
        objects = _list_objects(self.address)
        for found in reversed(_find_committed(objects)):
            if found.resource <= at_most:
                try:
                    flaw = _find_flaw(self._read_manifest(found), found, objects)
                except ValueError as error:
                    flaw = str(error)
                if not flaw:
                    return found
                text = f"the checkpoint {self.address}/{found.path} is not used: {flaw}"
                warnings.warn(text, stacklevel=2)
        return None

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """A local copy; there is one per process, until :meth:`release`."""
        address = f"{self.address}/{checkpoint.path}"
        found = _copies.get((os.getpid(), address))
        if found is None or not found.is_dir():
            try:
                sizes = self._read_manifest(checkpoint)
            except ValueError as error:
                raise StoreUnavailableError(address, str(error)) from None
            found = make_scratch()
            try:
                self._download(checkpoint, sizes, found)
            except BaseException:
                shutil.rmtree(found, ignore_errors=True)
                raise
            _copies[os.getpid(), address] = found
        return found

    def locate(self, *, at_most: float) -> RemoteCheckpoint | None:
        """The last checkpoint at or below a resource; where all are, if the storage is away."""

        def fetch() -> Path:
            found = self.latest(at_most=at_most)
            if found is None:
                raise StoreUnavailableError(self.address, "the checkpoint is gone")
            return self.fetch(found)

        try:
            objects = _list_objects(self.address, waits=())
        except StoreUnavailableError:
            return RemoteCheckpoint(self.address, fetch)
        found = [each for each in _find_committed(objects) if each.resource <= at_most]
        return RemoteCheckpoint(f"{self.address}/{found[-1].path}", fetch) if found else None

    def release(self) -> None:
        """Remove the local copies."""
        for owner, address in list(_copies):
            if owner == os.getpid() and address.startswith(f"{self.address}/"):
                shutil.rmtree(_copies.pop((owner, address)), ignore_errors=True)

    def size(self) -> int:
        """How many bytes its objects take."""
        return sum(_list_objects(self.address).values())

    def _read_manifest(self, checkpoint: Checkpoint) -> Objects:
        """The names of its files, with their sizes; ValueError if it cannot be used."""
        files, root = open_address(self.address)
        name = f"{root}/{checkpoint.path}/{COMMITTED}"
        text = _persist(f"{self.address}/{checkpoint.path}", lambda: files.cat_file(name))
        return parse_manifest(text)

    def _download(self, checkpoint: Checkpoint, sizes: Objects, place: Path) -> None:
        files, root = open_address(self.address)
        source = f"{root}/{checkpoint.path}/files"
        for name in sizes:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
        theirs = [f"{source}/{name}" for name in sizes]
        ours = [str(place / name) for name in sizes]
        where = f"{self.address}/{checkpoint.path}"
        if sizes:
            _persist(where, lambda: files.get(theirs, ours))
        for name, size in sizes.items():
            found = (place / name).stat().st_size
            if found != size:
                flaw = f"{name} has {found} bytes instead of {size}"
                raise StoreUnavailableError(where, flaw)

    # -- writing -------------------------------------------------------------------------------

    @contextmanager
    def writing(self, resource: float, job: int) -> Iterator[Path]:
        """A new local folder; uploaded and committed when the block ends."""
        place = make_scratch()
        try:
            yield place
            self._upload(place, make_name(resource, job, self.committed()))
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _upload(self, place: Path, name: str) -> None:
        files, root = open_address(self.address)
        prefix = f"{root}/{name}/{secrets.token_hex(6)}"
        sizes = {
            (Path(folder, each).relative_to(place)).as_posix(): Path(folder, each).stat().st_size
            for folder, _, names in os.walk(place)
            for each in names
        }
        ours = [str(place / each) for each in sizes]
        theirs = [f"{prefix}/files/{each}" for each in sizes]
        manifest = json.dumps({"files": sizes}).encode()
        where = f"{self.address}/{name}"
        try:
            if sizes:
                _persist(where, lambda: files.put(ours, theirs))
            _persist(where, lambda: _commit(files, f"{prefix}/{COMMITTED}", manifest))
        except Exception:
            # What is left is not seen; the tuner removes it if this does not work either.
            with suppress(Exception):
                files.rm(prefix, recursive=True)
            raise

    # -- removing ------------------------------------------------------------------------------

    def prune(
        self,
        *,
        reported: float,
        newest: tuple[int, int] | None = None,
        best: float | None = None,
    ) -> None:
        """Keep the last checkpoint up to the resource reported, and the one written last."""
        objects = _list_objects(self.address)
        for each in find_superseded(_find_committed(objects), reported, newest, best):
            self._remove(str(each.path), objects)

    def sweep(self, *, up_to: float = math.inf) -> None:
        """Remove what is left of uploads, and removals, that were interrupted.

        Args:
            up_to: the last job that died; later ones may be uploading now.
        """
        objects = _list_objects(self.address)
        whole = {str(each.path) for each in _find_committed(objects)}
        for prefix in sorted({_prefix(name) for name in objects} - whole):
            found = parse_name(prefix.partition("/")[0], Path(prefix))
            if found is not None and found.job <= up_to:
                self._remove(prefix, objects)

    def evict(self, *, since: int = 0) -> None:
        """Remove the checkpoints of a job and of later ones."""
        objects = _list_objects(self.address)
        for each in _find_committed(objects):
            if each.job >= since:
                self._remove(str(each.path), objects)
        self.sweep()

    def _remove(self, prefix: str, objects: Objects) -> None:
        """Remove the objects of a checkpoint, ``COMMITTED`` first: half of one does not exist."""
        files, root = open_address(self.address)
        mark = f"{prefix}/{COMMITTED}"
        where = f"{self.address}/{prefix}"
        if mark in objects:
            _persist(where, lambda: _remove_if_there(files.rm_file, f"{root}/{mark}"))
        _persist(where, lambda: _remove_if_there(files.rm, f"{root}/{prefix}", recursive=True))


def _remove_if_there(remove: Callable[..., None], name: str, **how: bool) -> None:
    with suppress(FileNotFoundError):
        remove(name, **how)


def _list_objects(address: str, waits: Sequence[float] = WAITS) -> Objects:
    """All objects below an address, by their names from there."""
    files, root = open_address(address)

    def find() -> Mapping[str, Mapping[str, Any]]:
        files.invalidate_cache()  # other processes write
        try:
            found: Mapping[str, Mapping[str, Any]] = files.find(root, detail=True)
        except FileNotFoundError:
            return {}
        return found

    start = len(root) + 1
    return {
        name[start:]: int(info.get("size") or 0)
        for name, info in _persist(address, find, waits).items()
        if info.get("type") != "directory"
    }


def _find_committed(objects: Objects) -> list[Checkpoint]:
    marked = (name for name in objects if name.endswith(f"/{COMMITTED}") and name.count("/") == 2)
    found = (parse_name(name.partition("/")[0], Path(_prefix(name))) for name in marked)
    return sorted(each for each in found if each is not None)


def _prefix(name: str) -> str:
    """The part of an object's name that is its checkpoint's."""
    return "/".join(name.split("/")[:2])


def _find_flaw(sizes: Objects, checkpoint: Checkpoint, objects: Objects) -> str:
    """What is missing of a checkpoint, in words."""
    for name, size in sizes.items():
        found = objects.get(f"{checkpoint.path}/files/{name}")
        if found is None:
            return f"{name} is missing"
        if found != size:
            return f"{name} has {found} bytes instead of {size}"
    return ""


def _commit(files: Any, name: str, manifest: bytes) -> None:
    """Write an object as a whole: object stores do, a local disk needs a rename."""
    if "file" not in files.protocol:
        files.pipe_file(name, manifest)
        return
    files.pipe_file(f"{name}.part", manifest)
    Path(f"{name}.part").replace(name)


def _persist(where: str, action: Callable[[], _T], waits: Sequence[float] = WAITS) -> _T:
    """Do something with the storage, several times if need be."""
    for wait in (*waits, None):
        try:
            return action()
        except Exception as error:  # noqa: PERF203 - whatever the storage's library raises
            if wait is None or isinstance(error, LASTING):
                raise StoreUnavailableError(where, describe(error)) from error
            time.sleep(wait)
    raise AssertionError("the last wait is none")


def describe(error: BaseException) -> str:
    """An error of a library, in one line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]
