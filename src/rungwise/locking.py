"""A lock that the operating system releases when its holder dies."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
import time
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]

PAUSE = 0.05

NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A lock is a file of its own: through a link another file would be overwritten."""


HOLDER = 256
"""Bytes at the beginning of the file that say who holds the lock; numbers follow."""


MOST_NUMBERS = 4
"""How many numbers are read from there at most."""


class FileLock:
    """One holder at a time, among all processes of a machine.

    The file also stores a few numbers for its holder, which remain when the holder dies.

    Args:
        path: a file used only for this; it is not removed, and names the last holder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def take(self, *, timeout: float = 0.0) -> bool:
        """Take the lock; False when another process has it.

        Args:
            timeout: how many seconds to wait if the holder has died, but its watchdog (see
                ``backends/watchdog.py``) is still cleaning up.
        """
        deadline = time.monotonic() + timeout
        while not self._try():
            if time.monotonic() >= deadline or self._holder_lives():
                return False
            time.sleep(PAUSE)
        return True

    def held(self) -> bool:
        """Whether any process has the lock; this changes nothing."""
        try:
            with self._open(os.O_RDONLY) as file:
                if fcntl is not None:
                    fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def fileno(self) -> int | None:
        """The lock as a file descriptor: a process that inherits it holds the lock as well."""
        return None if self._file is None else self._file.fileno()

    def holder(self) -> str:
        """The last process that held the lock."""
        return self._read(0, HOLDER) or "another process"

    def describe_holder(self) -> str:
        """Who has the lock, for messages: also processes that were left by one that died."""
        if self._holder_lives():
            return self.holder()
        return f"processes that {self.holder()} has started and that outlived it"

    def note(self, *numbers: int) -> None:
        """Store a few numbers; only the holder may."""
        if self._file is not None:
            os.pwrite(self._file.fileno(), b"%-20d\n" * len(numbers) % numbers, HOLDER)

    def noted(self) -> tuple[int, ...]:
        """The numbers that were stored last."""
        words = self._read(HOLDER, 21 * MOST_NUMBERS).split()
        return tuple(int(word) for word in words if word.isdecimal())

    def _read(self, start: int, length: int) -> str:
        try:
            with self._open(os.O_RDONLY) as file:
                file.seek(start)
                return file.read(length).decode(errors="replace").strip()
        except OSError:
            return ""

    def release(self) -> None:
        """Release the lock, also for processes that have inherited it."""
        if self._file is not None:
            if fcntl is not None:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)
            self._file.close()
            self._file = None

    def _try(self) -> bool:
        file = self._open(os.O_RDWR | os.O_CREAT)
        if fcntl is not None:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                return False
        name = f"process {os.getpid()} on {socket.gethostname()}".encode()[: HOLDER - 1]
        file.write(name.ljust(HOLDER - 1) + b"\n")
        file.flush()
        self._file = file
        return True

    def _open(self, flags: int) -> BinaryIO:
        descriptor = os.open(self.path, flags | NO_LINKS, 0o666)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is not a regular file", str(self.path))
        return os.fdopen(descriptor, "r+b" if flags & os.O_RDWR else "rb", buffering=0)

    def _holder_lives(self) -> bool:
        found = re.fullmatch(r"process (\d+) on (.*)", self.holder())
        if found is None or found[2] != socket.gethostname():
            return True
        try:
            os.kill(int(found[1]), 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return not _is_zombie(int(found[1]))


def identify_file(path: Path) -> tuple[int, int] | None:
    """Which file is at a path: device and number; None if there is none.

    Raises:
        OSError: that cannot be said now, for example because a server does not answer.
    """
    try:
        found = path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _is_zombie(pid: int) -> bool:
    """Whether a process is dead, but its parent has not collected its exit status."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]
