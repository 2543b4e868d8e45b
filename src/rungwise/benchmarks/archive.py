"""Arrays in an ``.npz`` file: the same arrays give the same bytes, and nothing is trusted.

The files are read here and not by ``np.load``, although it could: a header that promises a terabyte
must be refused before memory is taken for it. Arrays are compressed with LZMA: LCBench's curves are
8 % smaller so than deflated, and 2,000 curves of 400 values are still read in 40 ms.
"""

from __future__ import annotations

import io
import math
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rungwise.errors import TableError, Words

LIMIT = 2**30
"""The most bytes that the arrays of a file may have; a data set of NAS-Bench-201 has 6 % of it."""

HEADERS = 2**20
"""What is left of it for the headers of the arrays."""

STEP = 2**12
"""How many bytes are read at a time; LZMA unfolds them to some tens of megabytes at most."""

_COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
"""What may be unfolded: four kilobytes of bzip2 could be gigabytes."""

_EARLY = (1980, 1, 1, 0, 0, 0)
"""The date of every array: the first that a zip file can tell."""


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of an ``.npz`` file."""
    size = sum(array.nbytes for array in arrays.values())
    if size > LIMIT - HEADERS:  # no one could read it
        raise TableError(
            "arrays", Words(f"{size:,} bytes in all"), f"at most {LIMIT - HEADERS:,} are written"
        )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", _EARLY)
            member.compress_type = zipfile.ZIP_LZMA
            member.create_system = 3  # wherever it is made
            member.external_attr = 0o644 << 16
            content = io.BytesIO()
            npy.write_array(
                content, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False
            )
            archive.writestr(member, content.getvalue())
    return file.getvalue()


def unpack(path: Path, content: bytes, *, foreign: bool = False) -> dict[str, NDArray[Any]]:
    """The arrays of a file.

    Args:
        path: which file it is, for errors.
        content: its bytes.
        foreign: whether texts and the order of Fortran, which are never ours, are admitted.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _arrays(archive, foreign=foreign)
    except Exception as error:  # zipfile and its decompressors raise a dozen kinds
        told = Words(f"a file that cannot be read ({str(error) or type(error).__name__})")
        raise TableError(
            str(path), told, "it must be an .npz file as rungwise writes it"
        ) from error


def content(path: Path, limit: int) -> bytes:
    """All of a file, if it is one and is not too large."""
    try:
        status = path.stat()
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):  # they may never end
            raise TableError(str(path), Words("a device or pipe"), "it must be a file")
        if status.st_size > limit:
            found = Words(f"a file of {status.st_size:,} bytes")
            raise TableError(str(path), found, f"at most {limit:,} are read")
        with path.open("rb") as file:
            return file.read(status.st_size + 1)
    except FileNotFoundError:
        raise TableError(str(path), Words("missing"), "there must be such a file") from None
    except OSError as error:
        raise TableError(str(path), Words("unreadable"), f"the system says: {error}") from error


def _arrays(archive: zipfile.ZipFile, *, foreign: bool) -> dict[str, NDArray[Any]]:
    members = archive.infolist()
    promised = sum(member.file_size for member in members)
    if promised > LIMIT:
        raise ValueError(f"it promises {promised:,} bytes, and at most {LIMIT:,} are read")
    names = [member.filename.removesuffix(".npy") for member in members]
    if len(set(names)) < len(names):
        raise ValueError("two arrays have one name")
    if any(member.compress_type not in _COMPRESSED for member in members):
        raise ValueError("it is compressed in another way than stored, deflated or LZMA")
    return {
        name: _array(member.filename, _content(archive, member), foreign=foreign)
        for name, member in zip(names, members, strict=True)
    }


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of an array, never many more than it promises.

    Read at once, LZMA would unfold all that is there, however much, before it is cut to size.
    """
    with archive.open(member) as file:
        return b"".join(iter(lambda: file.read(STEP), b""))


def _array(name: str, content: bytes, *, foreign: bool) -> NDArray[Any]:
    """An array from its bytes, header and content."""
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"{name} is an array in version {version}")
    shape, fortran, dtype = npy.read_array_header_1_0(file)
    if dtype.kind not in ("biufU" if foreign else "biuf") or (fortran and not foreign):
        raise ValueError(f"{name} is an array of {dtype}")
    begin = file.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - begin:
        raise ValueError(
            f"{name} is an array that says {shape} and has {len(content) - begin} bytes"
        )
    return np.frombuffer(content, dtype, offset=begin).reshape(shape, order="F" if fortran else "C")
