"""Sizes and free space of disks."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from rungwise.errors import InvalidArgumentError
from rungwise.validation import MOST, whole

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NEARLY_FULL = 64 * 1024


def measure_folder(folder: Path) -> int:
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
    # Libraries written in C++ raise other errors; then check the disk itself.
    if not isinstance(error, Exception):
        return False
    try:
        return shutil.disk_usage(folder).free < _NEARLY_FULL
    except OSError:
        return False


def find_write_problem(folder: Path) -> str | None:
    """Why nothing can be written to a folder now; None if something can be.

    A folder that does not exist is no problem where it could be created.
    """
    place = folder.absolute()
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".rungwise-", buffering=0) as file:
            file.write(b"x")
    except OSError as error:
        return f"nothing can be written to {folder} ({error.strerror or error})"
    return None


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parse_bytes(name: str, value: object) -> int:
    """A number of bytes from a number or from text such as ``"20GB"`` or ``"512 MiB"``."""
    rule = "it must be a number of bytes, or text such as '20GB' or '512MiB'"
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        if found is None or found[2].upper() not in _UNITS:
            raise InvalidArgumentError(name, value, rule)
        size = float(found[1]) * _UNITS[found[2].upper()]
        value = int(size) if size < MOST else value  # a text that is refused below
    try:
        return whole(name, value, at_least=0)
    except InvalidArgumentError:
        raise InvalidArgumentError(name, value, rule) from None
