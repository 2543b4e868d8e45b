"""Which checkpoints are kept: the last of every trial, within a quota, in the end the leaders'.

Only the tuner removes checkpoints, so that a worker that was cut off cannot remove what its
successor starts from. Removing may take long, so a thread does it while the study runs on.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from rungwise.checkpoints import CheckpointStore
from rungwise.core.trials import State, Trial
from rungwise.errors import StoreUnavailableError
from rungwise.formatting import format_bytes
from rungwise.views import Row

TARGET_SHARE = 0.9
"""Evictions go on down to this share of the quota, so that the next one is not due at once."""

RETRY_GROWTH = 1.1
"""If nothing could be removed, it is tried again once checkpoints take so many times as much."""

BUSY = (State.RUNNING, State.PAUSING, State.STOPPING, State.LOST)
GONE = (State.FAILED, State.ENDED)


def trial_place(trial: int) -> str:
    """Where in a checkpoint store a trial keeps its files."""
    return f"trial-{trial:05d}"


class Pruner:
    """Removes, in a thread of its own, checkpoints that newer ones have replaced.

    Args:
        store: where they are.
    """

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._wanted: dict[str, dict[str, Any]] = {}
        self._asked: queue.SimpleQueue[tuple[str, int | None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def prune(
        self,
        place: str,
        *,
        reported: float,
        newest: tuple[int, int] | None = None,
        best: float | None = None,
    ) -> None:
        """A report as far as this was taken in: earlier checkpoints are not needed any more.

        Args:
            place: of the trial.
            reported: how far it has reported.
            newest: the job and the number of its newest checkpoint that is known; by the time
                that the thread gets to it there may be newer ones, which it must not touch.
            best: where its best value was reported, if the checkpoint there is kept as well.
        """
        wanted: dict[str, Any] = {"reported": reported, "newest": newest}
        self._wanted[place] = wanted if best is None else {**wanted, "best": best}
        self._ask(place, None)

    def sweep(self, place: str, *, up_to: int) -> None:
        """A job died, perhaps in the middle of writing."""
        self._ask(place, up_to)

    def close(self) -> None:
        """Wait until all is done."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()
            self._thread = None

    def _ask(self, place: str, up_to: int | None) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="rungwise-prune", daemon=True)
            self._thread.start()
        self._asked.put((place, up_to))

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            place, up_to = asked
            checkpoints = self._store.trial(place)
            # What cannot be removed now is removed later, or when the study ends. Whatever a store
            # raises, the next trial's turn comes.
            with suppress(Exception):
                if up_to is not None:
                    checkpoints.sweep(up_to=up_to)
                elif (wanted := self._wanted.pop(place, None)) is not None:
                    checkpoints.prune(**wanted)


class CheckpointRetention:
    """The checkpoints of a study.

    Args:
        store: where they are.
        trials: the trials of the study, a list that grows.
        quota: how many bytes checkpoints may take in all; None for no limit.
        notice: called with what was evicted.
        keep: how many leaders lose theirs only after all others have.
        rank: how many → the leaders, the best first.
        keep_best: whether a trial keeps the checkpoint of its best report besides its last one.
        place: where a trial keeps its checkpoints.
        jobs: how many jobs the study has had; what later ones have written is removed. A study that
            is resumed from an older copy of its file gives their numbers to other jobs.

    Attributes:
        total: how many bytes they take, as far as is known.
    """

    def __init__(
        self,
        store: CheckpointStore,
        trials: Sequence[Trial],
        *,
        quota: int | None,
        notice: Callable[[str], None],
        keep: int = 0,
        rank: Callable[[int], Sequence[Row]] = lambda _: (),
        keep_best: bool = False,
        place: Callable[[int], str] = trial_place,
        jobs: int | None = None,
    ) -> None:
        self._store = store
        self._trials = trials
        self._quota = quota
        self._notice = notice
        self._keep = keep
        self._rank = rank
        self._keep_best = keep_best
        self._held: dict[int, dict[float, int]] = {}  # with keep_best: trial → resource → bytes
        self._place = place
        self._jobs = jobs
        self._pruner = Pruner(store)
        self._sizes: dict[int, int] = {}
        self._unpruned: set[int] = set()
        self._newest: dict[int, tuple[int, int]] = {}
        self._short = self._failed = False
        self._next_eviction = float(quota or 0)  # as soon as they take more than this
        self.total = 0
        places = set(store.places())
        for trial in trials:
            if place(trial.id) in places:
                self._adopt(trial)
        if jobs is not None and place is trial_place:
            known = {place(trial.id) for trial in trials}
            for unknown in sorted(places - known):
                if unknown.startswith("trial-"):
                    with suppress(OSError, StoreUnavailableError):
                        store.trial(unknown).evict()

    def _adopt(self, trial: Trial) -> None:
        """Clean up and count what an earlier tuner left."""
        checkpoints = self._store.trial(self._place(trial.id))
        # Not in the thread: it must be done before any job of this tuner starts to write.
        with suppress(OSError, StoreUnavailableError):
            if self._jobs is not None:
                checkpoints.evict(since=self._jobs)
            checkpoints.sweep()
            checkpoints.prune(reported=trial.resource, **self._best_of(trial.id))
        size = checkpoints.size()
        if size:
            self._count(trial.id, size)

    def saved(self, trial: int, job: int, size: int, resource: float = 0) -> None:
        """A job has written a new checkpoint of its trial, which replaces the one before."""
        self._unpruned.add(trial)
        writer, number = self._newest.get(trial, (job, -1))
        self._newest[trial] = (job, number + 1 if writer == job else 0)
        # Now, and again after its report: a trial may save often between two reports, or report
        # first and then pause.
        self._prune(trial, self._trials[trial].resource)
        self._count(trial, self._add(trial, resource, size) if self._keep_best else size)

    def _prune(self, trial: int, reported: float) -> None:
        newest, best = self._newest[trial], self._best_of(trial)
        self._pruner.prune(self._place(trial), reported=reported, newest=newest, **best)

    def _best_of(self, trial: int) -> dict[str, Any]:
        """Where the best value of a trial was reported, if the checkpoint there is kept."""
        held = self._trials[trial]
        least = min(held.losses, default=math.inf)
        if not self._keep_best or least == math.inf:
            return {}
        return {"best": held.resources[held.losses.index(least)]}

    def _add(self, trial: int, resource: float, size: int) -> int:
        """Note a new checkpoint; what it takes together with the one of the best report."""
        held = {**self._held.get(trial, {}), resource: size}
        best = float(self._best_of(trial).get("best", 0))
        before = max((each for each in held if each <= best), default=resource)
        self._held[trial] = kept = {each: held[each] for each in (before, resource)}
        return sum(kept.values())

    def reported(self, trial: int, resource: float) -> None:
        """A report was taken in."""
        if trial in self._unpruned:
            self._unpruned.discard(trial)
            self._prune(trial, resource)

    def crashed(self, trial: int, job: int) -> None:
        """A job died, perhaps in the middle of writing a checkpoint."""
        self._pruner.sweep(self._place(trial), up_to=job)

    def close(self) -> None:
        """Wait until everything that was to be removed is removed."""
        self._pruner.close()

    def _count(self, trial: int, size: int) -> None:
        self.total += size - self._sizes.get(trial, 0)
        self._sizes[trial] = size
        if self._quota is not None and self.total > self._next_eviction:
            self._evict(self._quota)

    def _evict(self, quota: int) -> None:
        """Remove checkpoints, those that are least likely to be needed first.

        A trial that is promoted after all starts from 0 again: correct, but more costly.
        """
        held = [self._trials[number] for number in self._sizes if number < len(self._trials)]
        leaders = {row.trial for row in self._rank(self._keep)}
        candidates = sorted(held, key=lambda trial: (trial.id in leaders, *_promise(trial)))
        gone = freed = 0
        self._next_eviction = quota
        for trial in candidates:
            if self.total <= TARGET_SHARE * quota:
                break
            if trial.state in BUSY:
                continue
            size = self._sizes[trial.id]
            if not self._remove(trial.id, "checkpoint quota: "):
                self._next_eviction = self.total * RETRY_GROWTH
                break
            freed += size
            gone += 1
        if gone:
            self._notice(
                f"checkpoint quota: removed the checkpoints of {gone} of the least promising "
                f"trials ({format_bytes(freed)})"
            )
        if self.total > quota and not self._short and not self._failed:
            self._short = True
            self._notice(
                f"checkpoint quota: the trials in training alone take {format_bytes(self.total)}, "
                f"but {format_bytes(quota)} are allowed; they keep theirs: raise checkpoint_quota"
            )

    def tidy(self, leaders: Sequence[int]) -> None:
        """Keep the checkpoints of the leaders only; outputs and what trials wrote stay."""
        self.close()
        kept = {self._place(trial) for trial in leaders}
        own = {self._place(trial.id): trial.id for trial in self._trials}
        try:
            places = list(self._store.places())
        except StoreUnavailableError as error:
            self._say_left(error)
            return
        for place in places:
            if place in own and place not in kept and not self._remove(own[place]):
                break  # the others could not be removed either, and each attempt takes long

    def _remove(self, trial: int, why: str = "") -> bool:
        """Remove the checkpoints of a trial; if that is not possible, say so and go on."""
        try:
            self._store.trial(self._place(trial)).evict()
        except (OSError, StoreUnavailableError) as error:
            self._say_left(error, why)
            return False
        self.total -= self._sizes.pop(trial, 0)
        self._held.pop(trial, None)
        return True

    def _say_left(self, error: Exception, why: str = "") -> None:
        if not self._failed:
            self._notice(f"{why}checkpoints could not be removed: {error}")
        self._failed = True


def _promise(trial: Trial) -> tuple[bool, float, float, int]:
    """Least promising first: what failed, then what was trained least, and of that the worst."""
    loss = trial.losses[-1] if trial.losses else math.inf
    return trial.state not in GONE, trial.resource, -loss, trial.id
