"""Local folders for checkpoints on their way to a storage, or back.

They are removed when they have served. A process that is killed leaves its own behind; the next
process of the same user on that machine removes them.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "rungwise-checkpoints"
_NAME = re.compile(r".*-(\d+)-[^-]*", re.ASCII)

_folders: dict[int, Path] = {}
"""By process: a child that was forked has a folder of its own."""


def make_scratch() -> Path:
    """A new folder, which only this user can read."""
    process = os.getpid()
    if process not in _folders or not _folders[process].is_dir():
        _remove_stale()
        _folders.clear()
        _folders[process] = Path(tempfile.mkdtemp(prefix=f"{_here()}{process}-"))
        atexit.register(remove_scratch)
    return Path(tempfile.mkdtemp(dir=_folders[process]))


def remove_scratch() -> None:
    """Remove all folders of this process."""
    found = _folders.pop(os.getpid(), None)
    if found is not None:
        shutil.rmtree(found, ignore_errors=True)


def find_folder(address: str) -> Path:
    """The folder of this machine that belongs to an address; it need not exist."""
    digest = hashlib.sha256(address.encode()).hexdigest()[:16]
    caches = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(caches, "rungwise", "trials", digest)


def _here() -> str:
    """The beginning of the names on this machine; containers may share a temporary folder."""
    return f"{_PREFIX}-{socket.gethostname()}-"


def _remove_stale() -> None:
    for found in Path(tempfile.gettempdir()).glob(f"{_here()}*"):
        named = _NAME.fullmatch(found.name)
        with suppress(OSError):
            if named is not None and found.stat().st_uid == os.getuid() and _is_gone(int(named[1])):
                shutil.rmtree(found, ignore_errors=True)


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
