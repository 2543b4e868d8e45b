"""Arrays in an ``.npz`` file, of which nothing is trusted.

The arrays are written with ``numpy.savez_compressed``. Before one is read, the size that its header
declares is compared with that of its part of the file: one that promises a terabyte is refused
before memory is taken for it.
"""

from __future__ import annotations

import io
import math
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rungwise.errors import TableError, Words

LIMIT = 2**30
"""The most bytes that the arrays of a file may have; a data set of NAS-Bench-201 has 3 % of it."""

HEADERS = 2**20
"""What is left of it for the headers of the arrays."""

_COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What is decompressed: of other methods, four kilobytes could be gigabytes at once."""


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of an ``.npz`` file."""
    size = sum(array.nbytes for array in arrays.values())
    if size > LIMIT - HEADERS:  # it could not be read again
        raise TableError(
            "arrays", Words(f"{size:,} bytes in all"), f"at most {LIMIT - HEADERS:,} are written"
        )
    file = io.BytesIO()
    np.savez_compressed(file, **cast("dict[str, Any]", arrays))
    return file.getvalue()


def unpack_arrays(path: Path, content: bytes, *, foreign: bool = False) -> dict[str, NDArray[Any]]:
    """The arrays of a file.

    Args:
        path: which file it is, for errors.
        content: its bytes.
        foreign: whether texts and Fortran order, which our own files never have, are allowed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(archive.infolist())
            return {
                member.filename.removesuffix(".npy"): _read_array(archive, member, foreign=foreign)
                for member in archive.infolist()
            }
    except Exception as error:  # zipfile and its decompressors raise a dozen kinds
        found = Words(f"a file that cannot be read ({str(error) or type(error).__name__})")
        raise TableError(
            str(path), found, "it must be an .npz file as rungwise writes it"
        ) from error


def read_names(path: Path) -> set[str]:
    """The names of the arrays in a file; empty if it is no ``.npz`` file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, ValueError, zipfile.BadZipFile):
        return set()


def read_file(path: Path, limit: int) -> bytes:
    """All of a file, if it is one and is not too large."""
    try:
        status = path.stat()
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):  # they may never end
            raise TableError(str(path), Words("a device or pipe"), "it must be a regular file")
        if status.st_size > limit:
            found = Words(f"a file of {status.st_size:,} bytes")
            raise TableError(str(path), found, f"at most {limit:,} are read")
        with path.open("rb") as file:
            return file.read(status.st_size + 1)
    except FileNotFoundError:
        raise TableError(str(path), Words("missing"), "the file must exist") from None
    except OSError as error:
        raise TableError(str(path), Words("unreadable"), f"the system says: {error}") from error


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    promised = sum(member.file_size for member in members)
    if promised > LIMIT:
        raise ValueError(f"it declares {promised:,} bytes, and at most {LIMIT:,} are read")
    if len({member.filename.removesuffix(".npy") for member in members}) < len(members):
        raise ValueError("two arrays have one name")
    if any(member.compress_type not in _COMPRESSED for member in members):
        raise ValueError("its members must be stored or deflated, not compressed otherwise")


def _read_array(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, *, foreign: bool
) -> NDArray[Any]:
    """An array, whose header is checked before memory is taken for it."""
    name = member.filename
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{name} is an array in version {version}")
        shape, fortran, dtype = npy.read_array_header_1_0(file)
        size = member.file_size - file.tell()
    if dtype.kind not in ("biufU" if foreign else "biuf") or (fortran and not foreign):
        raise ValueError(f"{name} is an array of {dtype}")
    # An array of nothing may declare any shape, and a loop over it would never end.
    endless = dtype.itemsize == 0 or max(shape, default=0) > LIMIT
    if endless or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{name} declares the shape {shape} of {dtype}, but has {size} bytes")
    with archive.open(member) as file:
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return array
