"""The channel to a running tuner: requests as files that it picks up, and its answers.

Only the tuner writes the log. So a request to a study that runs is a file in the folder
``requests`` beside its checkpoints; the tuner applies it and writes an answer. Law of this file: a
file is written elsewhere and then renamed, so that no reader sees half of one; a request is removed
after its answer was written, so that a tuner that dies in between finds it again (the log knows
which requests have been applied).
"""

from __future__ import annotations

import json
import os
import stat
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rungwise.locking import NO_LINKS

FOLDER = "requests"
PAUSE = 0.05

MOST_BYTES = 16_000_000
"""The most that a request may hold."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request.

    Attributes:
        state: ``"applied"``, ``"refused"``, or ``"waiting"``: the tuner has not answered yet; it
            will, or the next one.
        text: what was done, or why not, in one sentence.
    """

    state: str
    text: str


class Spool:
    """Requests to one study, and the answers to them.

    Args:
        folder: the folder of the study's checkpoints and outputs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._answers = self._folder / "answers"

    def send(self, request: Mapping[str, Any]) -> str:
        """Leave a request; its name."""
        self._answers.mkdir(parents=True, exist_ok=True)
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
        _write(self._folder / f"{name}.json", request)
        return name

    def list_waiting(self) -> list[tuple[str, Any]]:
        """[(name, request), …] in the order in which they came; what is no JSON is None."""
        try:
            paths = sorted(self._folder.glob("*.json"))
        except OSError:  # there has been no request yet
            return []
        return [(path.stem, _read(path)) for path in paths]

    def answer(self, name: str, answer: Answer) -> None:
        """Write the answer to a request, and remove the request."""
        # On a full disk, say, the caller gets no answer, and the study goes on.
        with suppress(OSError):
            _write(self._answers / f"{name}.json", {"state": answer.state, "text": answer.text})
        with suppress(OSError):
            (self._folder / f"{name}.json").unlink()

    def take_answer(self, name: str) -> Answer | None:
        """The answer to a request, once; None if there is none yet."""
        path = self._answers / f"{name}.json"
        found = _read(path)
        if not isinstance(found, Mapping):
            return None
        path.unlink(missing_ok=True)
        return Answer(str(found.get("state")), str(found.get("text")))

    def wait(self, name: str, seconds: float, *, while_held: Any = lambda: True) -> Answer | None:
        """The answer, if it comes in this time and while there is a process to answer."""
        deadline = time.monotonic() + seconds
        while True:
            alive = while_held()
            answer = self.take_answer(name)
            if answer is not None or not alive or time.monotonic() > deadline:
                return answer
            time.sleep(PAUSE)

    def withdraw(self, name: str) -> bool:
        """Take a request back; whether it had not been answered."""
        try:
            (self._folder / f"{name}.json").unlink()
        except OSError:
            return False
        return True


def _write(path: Path, document: Mapping[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document), encoding="utf-8")
    partial.replace(path)


def _read(path: Path) -> Any:
    """What a file holds; None for what is no JSON, or no plain file of a moderate size."""
    try:
        # A named pipe would be waited for, and a link may lead anywhere.
        descriptor = os.open(path, os.O_RDONLY | NO_LINKS)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            text = file.read(MOST_BYTES + 1)
        return None if len(text) > MOST_BYTES else json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
