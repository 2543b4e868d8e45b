"""Streams over files that are too large to be read at once, and are not trusted."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from rungwise.lab.sources.conversion import Progress

LARGEST_PIECE = 32 * 2**20
"""The most bytes that are held at a time, whatever a header says."""


class Counted(io.RawIOBase):
    """A file that reports how much of it was read, in mebibytes.

    Args:
        file: the file.
        total: how many bytes there are in all.
        before: how many were read from others before it.
        on_progress: is called with the mebibytes read, and of all.
    """

    def __init__(self, file: IO[bytes], total: int, before: int, on_progress: Progress) -> None:
        super().__init__()
        self._file = file
        self._total = total
        self._before = before
        self._on_progress = on_progress

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any, /) -> int:
        piece = self._file.read(len(buffer))
        buffer[: len(piece)] = piece
        self._on_progress((self._before + self._file.tell()) >> 20, self._total >> 20)
        return len(piece)


def count_reading(
    file: IO[bytes], total: int, before: int = 0, on_progress: Progress | None = None
) -> IO[bytes]:
    """The file, or one that reports how much of it was read."""
    if on_progress is None:
        return file
    return io.BufferedReader(Counted(file, total, before, on_progress), 2**18)


@contextmanager
def open_uncompressed(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """A stream, uncompressed if it is compressed with gzip."""
    begin = file.tell()
    magic = file.read(2)
    file.seek(begin)
    if magic != b"\x1f\x8b":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="rb") as stream:
        yield stream  # type: ignore[misc]


MOST_MEMBERS = 50_000
"""The most files in a tar file; that of NATS-Bench has 15,626."""


def iterate_members(file: IO[bytes]) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """The members of an uncompressed tar file, to its very end.

    ``tarfile`` takes a damaged header, or the end of the file, for the end of the archive, and
    loops forever where a size is negative.
    """
    cautious = Cautious(file)
    with tarfile.open(fileobj=cast("IO[bytes]", cautious), mode="r:") as tar:
        for number, member in enumerate(tar):
            if member.size < 0 or number >= MOST_MEMBERS:
                raise tarfile.ReadError(f"at most {MOST_MEMBERS:,} files, none of a negative size")
            yield tar, member
    if cautious.last != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("a header is damaged, or the end is missing")


class Cautious:
    """A file that gives no more than a piece at a time; ``tarfile`` trusts the sizes in headers.

    It remembers the last piece.

    Args:
        file: the file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.last = b""
        self.seek: Callable[..., int] = file.seek
        self.tell: Callable[[], int] = file.tell
        self.seekable: Callable[[], bool] = file.seekable

    def read(self, size: int = -1) -> bytes:
        """So many bytes, not all."""
        if not 0 <= size <= LARGEST_PIECE:
            raise ValueError(f"a header declares {size:,} bytes")
        self.last = self._file.read(size)
        return self.last
