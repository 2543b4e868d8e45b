"""Keeps checkpoints within their quota, and tidies up when the study has ended."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import nsmallest
from pathlib import Path

from rungwise.checkpoints import TrialFolder, size_of
from rungwise.core.trials import State, Trial

ROOM = 0.9
"""Evictions go on down to this share of the quota, so that the next one is not due at once."""

BUSY = (State.RUNNING, State.PAUSING, State.STOPPING, State.LOST)
GONE = (State.FAILED, State.ENDED)


class Upkeep:
    """What lies in the folder of a study.

    Args:
        folder: the folder.
        trials: the trials of the study, a list that grows.
        quota: how many bytes checkpoints may take in all; None for no limit.
        notice: told what was evicted.
        keep: so many leaders lose theirs last of all.
    """

    def __init__(
        self,
        folder: Path,
        trials: Sequence[Trial],
        *,
        quota: int | None,
        notice: Callable[[str], None],
        keep: int = 0,
    ) -> None:
        self._keep = keep
        self._folder = folder
        self._trials = trials
        self._quota = quota
        self._notice = notice
        self._sizes: dict[int, int] = {}
        self._short = False
        self.total = 0
        for path in folder.glob("trial-*"):
            number = path.name.removeprefix("trial-")
            size = size_of(path / "checkpoints") if number.isdecimal() else 0
            if size:
                self.saved(int(number), 0, size)

    def of(self, trial: int) -> TrialFolder:
        """The folder of a trial."""
        return trial_folder(self._folder, trial)

    def saved(self, trial: int, resource: float, size: int) -> None:  # noqa: ARG002 - a hook
        """A trial has a new checkpoint, which replaces the one before."""
        self.total += size - self._sizes.get(trial, 0)
        self._sizes[trial] = size
        if self._quota is not None and self.total > self._quota:
            self._evict(self._quota)

    def _evict(self, quota: int) -> None:
        """Remove checkpoints, those that are least likely to be needed first.

        A trial that is promoted after all starts from 0 again: correct, only dearer.
        """
        held = [self._trials[number] for number in self._sizes if number < len(self._trials)]
        leaders = {trial.id for trial in nsmallest(self._keep, held, key=_best)}
        doomed = sorted(held, key=lambda trial: (trial.id in leaders, *_promise(trial)))
        gone = freed = 0
        for trial in doomed:
            if self.total <= ROOM * quota:
                break
            if trial.state in BUSY:
                continue
            self.of(trial.id).clear()
            size = self._sizes.pop(trial.id)
            self.total -= size
            freed += size
            gone += 1
        if gone:
            self._notice(
                f"checkpoint quota: removed those of {gone} of the least promising trials "
                f"({freed / 1e6:.1f} MB)"
            )
        if self.total > quota and not self._short:
            self._short = True
            self._notice(
                f"checkpoint quota: the trials being trained alone take {self.total / 1e6:.1f} MB "
                f"of the {quota / 1e6:.1f} MB allowed"
            )

    def tidy(self, leaders: Sequence[int]) -> None:
        """Keep the checkpoints of the leaders only; outputs and what trials wrote stay."""
        kept = set(leaders)
        for path in self._folder.glob("trial-*"):
            number = path.name.removeprefix("trial-")
            if number.isdecimal() and int(number) not in kept:
                shutil.rmtree(path / "checkpoints", ignore_errors=True)
                self.total -= self._sizes.pop(int(number), 0)
                with suppress(OSError):  # there is something else in it, or somebody was faster
                    path.rmdir()


def trial_folder(folder: Path, trial: int) -> TrialFolder:
    """The folder of a trial in the folder of a study."""
    return TrialFolder(folder / f"trial-{trial:05d}")


def _promise(trial: Trial) -> tuple[bool, int, float, int]:
    """Least promising first: what failed, then from the lowest rung up, the worst first."""
    loss = trial.losses[-1] if trial.losses else math.inf
    return trial.state not in GONE, trial.rung, -loss, trial.id


def _best(trial: Trial) -> tuple[float, int]:
    return min(trial.losses, default=math.inf), trial.id
