"""Notices that the files of a running study were deleted, moved or replaced."""

from __future__ import annotations

import time

from rungwise.errors import LogUnavailableError
from rungwise.session.part import Part

CHECK_EVERY = 1.0
"""Seconds between two looks whether the files of a study are still there."""


class FileWatch(Part):
    """Raises if a file is gone; everything that was reported is written again first."""

    def __init__(self) -> None:
        self._next = 0.0

    def step(self, now: float) -> None:
        if now < self._next:
            return
        self._next = time.monotonic() + CHECK_EVERY
        file = self.session.opened.file
        loss = file.log.find_loss()
        if loss is None:
            return
        kept = f"everything that was reported is in {file.log.rescue()}"
        raise LogUnavailableError(str(file.path), f"{loss}; {kept}")
