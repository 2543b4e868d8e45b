"""Errors for files of others, which name the file."""

from __future__ import annotations

import json
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path

from rungwise.errors import TableError, Words

DAMAGE = (
    EOFError,
    OSError,
    ValueError,  # UnicodeDecodeError and json.JSONDecodeError are such
    OverflowError,
    MemoryError,
    RuntimeError,  # a zip file with a password, or compression that zipfile does not know
    lzma.LZMAError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
)
"""What readers of compressed files and archives raise when a file is cut short or altered."""


def damaged(name: str | Path, cause: object) -> TableError:
    """An error for a file that cannot be read to its end; a TableError stays as it is."""
    if isinstance(cause, TableError):
        return cause
    if isinstance(cause, FileNotFoundError):
        return TableError(str(name), Words("missing"), "the file or folder must exist")
    reason = str(cause).rstrip(".") or type(cause).__name__
    return TableError(
        str(name), Words("damaged or cut short"), f"it must be whole ({reason}): get it again"
    )


def malformed(place: str, cause: Exception, before: int = 0) -> TableError:
    """An error for a JSON text that cannot be read.

    Args:
        place: where the text is.
        cause: what its reader raised.
        before: how many characters, or bytes, come before the part that its reader was given.
    """
    if isinstance(cause, json.JSONDecodeError):
        return damaged(place, f"{cause.msg.rstrip(': ')}: character {before + cause.pos + 1:,}")
    if isinstance(cause, UnicodeDecodeError):
        return damaged(place, f"byte {before + cause.start + 1:,} is not UTF-8")
    deep = isinstance(cause, RecursionError)  # else an integer is too long for Python
    rule = "be nested that deeply" if deep else "be an integer of that many digits"
    return TableError(place, Words("in an unknown format"), f"no value in it may {rule}")
