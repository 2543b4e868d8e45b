"""What trials print, in a file per trial: the last megabyte of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LARGEST = 1024 * 1024
"""How many bytes of output a trial's file holds before it is cut to its last half."""


class OutputFiles:
    """Writes output; a full disk loses output, never the study.

    Args:
        folder: the folder of the study.
        place: the name of a trial's folder in it.
    """

    def __init__(self, folder: Path, place: Callable[[int], str]) -> None:
        self._folder = folder
        self._place = place
        self._open: dict[int, BinaryIO] = {}

    def write(self, trial: int, data: bytes) -> None:
        """Append what a trial has printed."""
        try:
            self._append(trial, data[-LARGEST:])
        except OSError:
            self.close(trial)

    def _append(self, trial: int, data: bytes) -> None:
        file = self._open.get(trial)
        if file is None:
            path = self._folder / self._place(trial) / "output.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what could not be written is not tried again when the file is closed.
            file = self._open[trial] = path.open("ab+", buffering=0)
        file.write(data)
        if file.tell() > LARGEST:
            file.seek(-(LARGEST // 2), os.SEEK_END)
            last = file.read()
            file.truncate(0)
            file.write(b"[...]\n" + last)

    def close(self, trial: int) -> None:
        """The job of a trial has left: its next one may start much later, or never."""
        file = self._open.pop(trial, None)
        if file is not None:
            with suppress(OSError):
                file.close()

    def close_all(self) -> None:
        """The study has ended."""
        for trial in list(self._open):
            self.close(trial)
