"""A lock that the operating system takes back when its holder dies."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]


class FileLock:
    """One holder at a time, among all processes of a machine.

    Args:
        path: a file of its own; it stays behind, and says who held the lock last.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> bool:
        """Take the lock; False when somebody else has it."""
        file = self._path.open("a+", encoding="utf-8")
        if fcntl is not None:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                return False
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        self._file = file
        return True

    def holder(self) -> str:
        """Who wrote themselves into the file last."""
        try:
            return self._path.read_text(encoding="utf-8") or "another process"
        except OSError:
            return "another process"

    def release(self) -> None:
        """Give it back; closing the file does."""
        if self._file is not None:
            self._file.close()
            self._file = None
