"""Which trial of Ray is which of the study, kept beside the study file."""

from __future__ import annotations

import json
import os
from pathlib import Path


class TrialIds:
    """Ray's ids of trials and the numbers of the study; what is added is on the disk at once.

    A trial may have several ids: Ray may be killed before it has saved one, and is then given the
    trial again. The last one counts.

    Args:
        folder: where they are kept.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder, "ray-trials.jsonl")
        self._numbers: dict[str, int] = {}
        self._ids: dict[int, str] = {}
        if self._path.exists():
            data = self._path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            if len(whole) < len(data):  # a line that was cut off; what follows begins a new one
                os.truncate(self._path, len(whole))
            for line in whole.splitlines():
                ray_id, number = json.loads(line)
                self._note(ray_id, number)

    def _note(self, ray_id: str, number: int) -> None:
        self._numbers[ray_id], self._ids[number] = number, ray_id

    def add(self, ray_id: str, number: int) -> None:
        """Ray's trial is this one of the study."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([ray_id, number]) + "\n")
        self._note(ray_id, number)

    def find_number(self, ray_id: str) -> int | None:
        """The trial of the study; None if it is none of it."""
        return self._numbers.get(ray_id)

    def find_ray_id(self, number: int) -> str | None:
        """Ray's id of a trial; None if Ray has never had it."""
        return self._ids.get(number)
