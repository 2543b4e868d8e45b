"""What trials print, in a file per trial: the last megabyte of it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

from rungwise.backends.messages import Crashed, Ended, Message, Printed
from rungwise.session.part import Part

LARGEST = 1024 * 1024
"""How many bytes of output a trial's file holds before it is cut to its last half."""


class OutputFiles(Part):
    """Writes output; a full disk loses output, never the study."""

    def __init__(self) -> None:
        self._open: dict[int, BinaryIO] = {}

    def message(self, message: Message, trial: int) -> None:
        if isinstance(message, Printed):
            self._write(trial, message.data)
        elif isinstance(message, (Ended, Crashed)):
            self._close(trial)

    def _write(self, trial: int, data: bytes) -> None:
        try:
            self._append(trial, data[-LARGEST:])
        except OSError:
            self._close(trial)

    def _append(self, trial: int, data: bytes) -> None:
        file = self._open.get(trial)
        if file is None:
            opened = self.session.opened
            path = opened.file.folder / opened.assignments.place(trial) / "output.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what could not be written is not tried again when the file is closed.
            file = self._open[trial] = path.open("ab+", buffering=0)
        file.write(data)
        if file.tell() > LARGEST:
            file.seek(-(LARGEST // 2), os.SEEK_END)
            last = file.read()
            file.truncate(0)
            file.write(b"[...]\n" + last)

    def _close(self, trial: int) -> None:
        """The job of a trial has left: its next one may start much later, or never."""
        file = self._open.pop(trial, None)
        if file is not None:
            with suppress(OSError):
                file.close()

    def close(self) -> None:
        for trial in list(self._open):
            self._close(trial)
