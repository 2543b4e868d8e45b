"""A lock that the operating system takes back when its holder dies."""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]

PAUSE = 0.05


HOLDER = 256
"""Bytes at the beginning of the file that say who holds the lock; a number follows."""


class FileLock:
    """One holder at a time, among all processes of a machine.

    The file also keeps a number for its holder, whatever happens to the holder.

    Args:
        path: a file of its own; it stays behind, and says who held the lock last.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def take(self, *, patience: float = 0.0) -> bool:
        """Take the lock; False when somebody else has it.

        Args:
            patience: how many seconds to wait where the holder has died, but something it left
                behind (see ``backends/watchdog.py``) is still cleaning up.
        """
        deadline = time.monotonic() + patience
        while not self._try():
            if time.monotonic() >= deadline or self._holder_lives():
                return False
            time.sleep(PAUSE)
        return True

    def held(self) -> bool:
        """Whether somebody has the lock; nothing is changed by asking."""
        try:
            with self._path.open("rb") as file:
                if fcntl is not None:
                    fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def fileno(self) -> int | None:
        """The lock as a file descriptor: who inherits it holds the lock as well."""
        return None if self._file is None else self._file.fileno()

    def holder(self) -> str:
        """Who wrote themselves into the file last."""
        return self._read(0, HOLDER) or "another process"

    def note(self, number: int) -> None:
        """Keep a number; only the holder may."""
        if self._file is not None:
            os.pwrite(self._file.fileno(), f"{number:<20d}\n".encode(), HOLDER)

    def noted(self) -> int:
        """The number that was kept last, 0 if there is none."""
        number = self._read(HOLDER, 20)
        return int(number) if number.isdecimal() else 0

    def _read(self, start: int, length: int) -> str:
        try:
            with self._path.open("rb") as file:
                file.seek(start)
                return file.read(length).decode(errors="replace").strip()
        except OSError:
            return ""

    def release(self) -> None:
        """Give it back, also on behalf of processes that have inherited it."""
        if self._file is not None:
            if fcntl is not None:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)
            self._file.close()
            self._file = None

    def _try(self) -> bool:
        self._path.touch()
        file = self._path.open("r+b")
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


def _is_zombie(pid: int) -> bool:
    """Whether a process is dead, and only its parent has not taken notice."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]
