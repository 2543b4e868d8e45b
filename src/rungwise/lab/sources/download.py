"""Where public benchmarks can be downloaded, and downloads that resume.

A download grows in ``FILE.part``. When it is interrupted, the next attempt asks the server for the
rest, provided that the file there is still the same (HTTP's ``Range`` and ``If-Range``). A complete
file is checked: against a checksum where one is published; else its own is noted on the first
download, and a later download of another file is refused (trust on first use).
"""

from __future__ import annotations

import hashlib
import http.client
import json
import shlex
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rungwise._version import __version__
from rungwise.benchmarks.catalog import VARIABLE, data_folder
from rungwise.errors import InvalidArgumentError, RungwiseError
from rungwise.lab.sources.conversion import Progress
from rungwise.locking import FileLock

CHUNK = 2**20
_NETWORK = (urllib.error.URLError, http.client.HTTPException, OSError)


@dataclass(frozen=True, kw_only=True)
class Known:
    """A public benchmark.

    Attributes:
        name: what to call it.
        title: what it is.
        size_note: how much is downloaded, and how much disk it needs in the end.
        how: how to get it, in a sentence.
        address: where the file is.
        page: where a person finds it.
        file: the name of the file.
        size: its bytes, where they are known.
        checksum: its sum as ``algorithm:digits``, where one is published.
    """

    name: str
    title: str
    size_note: str
    how: str
    address: str
    page: str
    file: str
    size: int | None = None
    checksum: str | None = None


KNOWN = (
    Known(
        name="nasbench201",
        title="NAS-Bench-201: 15,625 cells on CIFAR-10, CIFAR-100 and ImageNet16-120, 200 epochs",
        size_note="1.1 GB",
        how="fetched from Google Drive if it allows that, else by hand from the page of NATS-Bench",
        address=(
            "https://drive.usercontent.google.com/download"
            "?id=17_saCsj_krKjlCBLOJEpNtzPXArMCqxU&export=download&confirm=t"
        ),
        page="https://github.com/D-X-Y/NATS-Bench",
        file="NATS-tss-v1_0-3ffb9-simple.tar",
        size=1_145_989_120,
        # Noted by users of the file, not by its authors.
        checksum="sha256:580fd8f3425fed9f495640b0f12ccb7744f89dec7aff263bd75aed37ab0b8bb6",
    ),
    Known(
        name="pd1",
        title="PD1: optimisers of large networks (WMT, ImageNet and others), up to 1,414 points",
        size_note="a few hundred MB",
        how="fetched from Google's storage",
        address="https://storage.googleapis.com/gresearch/pint/pd1.tar.gz",
        page="https://github.com/google-research/hyperbo",
        file="pd1.tar.gz",
        checksum="md5:e04c789cff8d5ddc9f2301e2ac02d0e3",
    ),
    Known(
        name="lcbench",
        title="LCBench: 2,000 networks on each of 35 tabular data sets, 50 epochs",
        size_note="340 MB",
        how="fetched from figshare",
        address="https://ndownloader.figshare.com/files/21188598",
        page="https://figshare.com/projects/LCBench/74151",
        file="data_2k_lw.zip",
        checksum="md5:26c8493006358a15ce12041c0bfc12a2",
    ),
)
"""The public benchmarks that can be fetched."""


class FetchError(RungwiseError):
    """A file that could not be fetched; says how to get it by hand.

    Args:
        known: which one.
        reason: what went wrong.
        target: where the file belongs.
    """

    def __init__(self, known: Known, reason: str, target: Path) -> None:
        self.known = known
        self.reason = reason
        self.target = target
        place = shlex.quote(str(target))
        super().__init__(
            f"{known.file} could not be fetched: {reason.rstrip('.')}.\n"
            f"To continue manually, download it ({known.size_note}) from\n"
            f"  {known.address}\n"
            f"(described on {known.page}), put it at\n"
            f"  {place}\n"
            f"and run\n"
            f"  rungwise benchmark convert {place}"
        )


def known(name: str) -> Known:
    """The public benchmark of this name, or to which a benchmark of this name belongs."""
    for entry in KNOWN:
        if name == entry.name or name.startswith(f"{entry.name}-"):
            return entry
    listed = ", ".join(entry.name for entry in KNOWN)
    raise InvalidArgumentError("benchmark", name, f"those that can be fetched are {listed}")


def fetch(
    name: str | Known,
    *,
    into: Path | None = None,
    on_progress: Progress | None = None,
    attempts: int = 5,
    pause: float = 2.0,
) -> Path:
    """Download the file of a public benchmark, or resume that; gives its path.

    Args:
        name: which one.
        into: the folder for downloads; ``downloads`` in the data folder by default.
        on_progress: is called with the mebibytes that have arrived, and of all.
        attempts: how often to try in a row without progress.
        pause: seconds to wait after the first of them; twice as long after each.

    Raises:
        FetchError: it could not be downloaded.
        InvalidArgumentError: the folder cannot be written to.
    """
    entry = name if isinstance(name, Known) else known(name)
    folder = data_folder() / "downloads" if into is None else into
    target = folder / entry.file
    lock = FileLock(target.with_name(f"{target.name}.lock"))
    try:
        if not _taken(lock, folder):
            raise FetchError(entry, f"{lock.holder()} is downloading it", target)
        if target.exists():
            _verify(entry, target, target)
        else:
            download = _Download(entry, target, on_progress)
            _persist(download, attempts, pause)
            _verify(entry, download.part, target)
            download.part.replace(target)
            download.mark.unlink(missing_ok=True)
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(entry, str(error) or type(error).__name__, target) from error
    finally:
        lock.release()
    return target


def _taken(lock: FileLock, folder: Path) -> bool:
    """Take the lock in a folder, which shows whether it can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return lock.take()
    except OSError as error:
        # A file put there by hand would fail for the same reason.
        rule = (
            f"it cannot be written to ({error.strerror or error}): "
            f"--downloads or {VARIABLE} names another"
        )
        raise InvalidArgumentError("folder for the download", str(folder), rule) from error


def _persist(download: _Download, attempts: int, pause: float) -> None:
    """Try until the file is complete, or there is no more progress."""
    failed = 0
    while True:
        before = download.size
        try:
            download.proceed()
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 416:  # our part is not one of the server's file
                    download.discard()
                elif error.code < 500:
                    raise download.failure(f"the server answers {error.code} {error.reason}") from (
                        error
                    )
            reason = f"the server answers {error.code} {error.reason}"
        except _NETWORK as error:
            cause = getattr(error, "reason", error)
            reason = str(cause) or type(error).__name__
            if isinstance(cause, socket.gaierror):  # no network, or no such server: do not retry
                raise download.failure(reason) from error
        else:
            return
        failed = 0 if download.size > before else failed + 1
        if failed >= attempts:
            raise download.failure(reason)
        time.sleep(pause * 2 ** max(failed - 1, 0) if failed else 0)


class _Download:
    """A file that is being downloaded.

    Args:
        entry: which one.
        target: where it belongs.
        on_progress: is called with the mebibytes that have arrived, and of all.
    """

    def __init__(self, entry: Known, target: Path, on_progress: Progress | None) -> None:
        self._entry = entry
        self._target = target
        self._on_progress = on_progress
        self.part = target.with_name(f"{target.name}.part")
        self.mark = target.with_name(f"{target.name}.part.json")

    @property
    def size(self) -> int:
        """How much of it is there."""
        return self.part.stat().st_size if self.part.exists() else 0

    def failure(self, reason: str) -> FetchError:
        """An error that says what went wrong."""
        kept = f" ({self.size:,} bytes are kept; a new attempt resumes there)"
        return FetchError(self._entry, reason + (kept if self.size else ""), self._target)

    def discard(self) -> None:
        """Start again from the first byte."""
        self.part.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)

    def proceed(self) -> None:
        """Get the rest.

        Raises:
            OSError: it did not come to the end.
        """
        tag, known = self._read_mark()
        if known and self.size == known:
            return  # all of it came before
        begin = self.size if tag else 0
        headers = {"User-Agent": f"rungwise/{__version__}", "Accept-Encoding": "identity"}
        if begin:
            headers |= {"Range": f"bytes={begin}-", "If-Range": tag}
        request = urllib.request.Request(self._entry.address, headers=headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - ours
            if response.headers.get_content_type() == "text/html":
                raise self.failure("the server answers with a web page instead of the file")
            if response.status != 206:
                begin = 0
            elif not response.headers.get("Content-Range", "").startswith(f"bytes {begin}-"):
                self.discard()
                raise ConnectionError("the server answers with another part than requested")
            total = _total(response.headers, begin)
            self._check_space(total - begin if total else 0)
            self._note(response.headers, total)
            with self.part.open("ab" if begin else "wb") as file:
                self._copy(response, file, begin, total)
        if total and self.size != total:
            if self.size > total:
                self.discard()
            raise ConnectionError(f"{self.size:,} of {total:,} bytes arrived")

    def _copy(self, response: Any, file: IO[bytes], done: int, total: int) -> None:
        while chunk := response.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            if self._on_progress is not None:
                self._on_progress(done >> 20, max(total, done) >> 20)

    def _read_mark(self) -> tuple[str, int]:
        """The server's mark of the file that our part is of, and its size."""
        try:
            noted = json.loads(self.mark.read_text("utf-8"))
            same = noted["address"] == self._entry.address
            return (str(noted["tag"]), int(noted["total"])) if same else ("", 0)
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return "", 0

    def _note(self, headers: Mapping[str, str], total: int) -> None:
        tag = headers.get("ETag", "")
        if not tag or tag.startswith("W/"):  # a weak one promises no identical bytes
            tag = headers.get("Last-Modified", "")
        noted = {"address": self._entry.address, "tag": tag, "total": total}
        self.mark.write_text(json.dumps(noted), encoding="utf-8")

    def _check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self.part.parent).free
        if needed > free:
            reason = f"it needs {needed:,} bytes more, and {free:,} are free in {self.part.parent}"
            raise self.failure(reason)


def _total(headers: Mapping[str, str], begin: int) -> int:
    """How many bytes the whole file has; 0 if the server does not say."""
    part_of = headers.get("Content-Range", "").rpartition("/")[2] if begin else ""
    if part_of.isdecimal():
        return int(part_of)
    length = headers.get("Content-Length", "")
    return begin + int(length) if length.isdecimal() else 0


def _verify(entry: Known, file: Path, target: Path) -> None:
    """See that a complete file is the right one, and note its sum."""
    note = target.with_name(f"{target.name}.sha256")
    words = note.read_text("utf-8", errors="replace").split() if note.exists() else []
    noted = f"sha256:{words[0]}" if words else None  # a full disk leaves an empty note
    sums = digests(file, {"sha256", *(entry.checksum or "").split(":")[:1]} - {""})
    size = file.stat().st_size
    problem = ""
    if entry.size is not None and size != entry.size:
        problem = f"it has {size:,} bytes, and {entry.size:,} are expected"
    for expected, whose in ((entry.checksum, "is published"), (noted, "was noted before")):
        if expected is not None and not problem:
            algorithm, _, digits = expected.partition(":")
            if sums[algorithm] != digits:
                problem = f"its {algorithm} is {sums[algorithm]}, and {digits} {whose}"
    if problem:
        aside = target.with_name(f"{target.name}.mismatch")
        file.replace(aside)
        raise FetchError(entry, f"{problem}. The file is kept as {aside}", target)
    note.write_text(f"{sums['sha256']}  {target.name}\n", encoding="utf-8")


def digests(path: Path, algorithms: set[str]) -> dict[str, str]:
    """The checksums of a file."""
    made = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            for digest in made.values():
                digest.update(chunk)
    return {name: digest.hexdigest() for name, digest in made.items()}
