"""Which checkpoints are kept: the last of every trial, within a quota, in the end the leaders'.

Only the tuner removes checkpoints, so that a worker that was cut off cannot remove what its
successor starts from. Removing may take long, so a thread does it while the study runs on.
"""

from __future__ import annotations

import math
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rungwise.backends.messages import Crashed, Message, Saved
from rungwise.checkpoints import CheckpointStore, parse_bytes
from rungwise.core.decisions import Decision
from rungwise.core.events import Reported
from rungwise.core.trials import State, Trial
from rungwise.errors import StoreUnavailableError
from rungwise.formatting import format_bytes
from rungwise.session.part import Part
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


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """Which checkpoints are kept.

    Attributes:
        quota: how many bytes checkpoints may take in all; None for no limit.
        keep: how many leaders lose theirs only after all others have.
        keep_best: whether a trial keeps the checkpoint of its best report besides its last one.
    """

    quota: int | None = None
    keep: int = 0
    keep_best: bool = False


@dataclass(slots=True)
class _Kept:
    """What is known of the checkpoints of a trial.

    Attributes:
        size: how many bytes they take; None if that is not known.
        sizes: with keep_best, how many each of them takes, by its resource.
        newest: the job and the number of the newest one.
        unpruned: whether one was saved since the last report.
    """

    size: int | None = None
    sizes: dict[float, int] = field(default_factory=dict)
    newest: tuple[int, int] | None = None
    unpruned: bool = False


class CheckpointRetention:
    """The checkpoints of a study.

    Args:
        store: where they are.
        trials: the trials of the study, a list that grows.
        rules: which are kept.
        notice: called with what was evicted.
        rank: how many → the leaders, the best first.
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
        rules: RetentionRules,
        *,
        notice: Callable[[str], None],
        rank: Callable[[int], Sequence[Row]] = lambda _: (),
        place: Callable[[int], str] = trial_place,
        jobs: int | None = None,
    ) -> None:
        self._store, self._trials, self._rules = store, trials, rules
        self._notice, self._rank, self._place = notice, rank, place
        self._pruner = Pruner(store)
        self._kept: defaultdict[int, _Kept] = defaultdict(_Kept)  # by trial
        self._short = self._failed = False
        self._next_eviction = float(rules.quota or 0)  # as soon as they take more than this
        self.total = 0
        places = set(store.places())
        for trial in trials:
            if place(trial.id) in places:
                self._adopt(trial, jobs)
        if jobs is not None and place is trial_place:
            known = {place(trial.id) for trial in trials}
            for unknown in sorted(places - known):
                if unknown.startswith("trial-"):
                    with suppress(OSError, StoreUnavailableError):
                        store.trial(unknown).evict()

    def _adopt(self, trial: Trial, jobs: int | None) -> None:
        """Clean up and count what an earlier tuner left."""
        checkpoints = self._store.trial(self._place(trial.id))
        # Not in the thread: it must be done before any job of this tuner starts to write.
        with suppress(OSError, StoreUnavailableError):
            if jobs is not None:
                checkpoints.evict(since=jobs)
            checkpoints.sweep()
            checkpoints.prune(reported=trial.resource, **self._best_of(trial.id))
        size = checkpoints.size()
        if size:
            self._count(trial.id, size)

    def saved(self, trial: int, job: int, size: int, resource: float = 0) -> None:
        """Note that a job has written a new checkpoint, which replaces the one before."""
        kept = self._kept[trial]
        kept.unpruned = True
        writer, number = kept.newest or (job, -1)
        kept.newest = (job, number + 1 if writer == job else 0)
        # Now, and again after its report: a trial may save often between two reports, or report
        # first and then pause.
        self._prune(trial, self._trials[trial].resource)
        keep_best = self._rules.keep_best
        self._count(trial, self._add(trial, resource, size) if keep_best else size)

    def _prune(self, trial: int, reported: float) -> None:
        newest, best = self._kept[trial].newest, self._best_of(trial)
        self._pruner.prune(self._place(trial), reported=reported, newest=newest, **best)

    def _best_of(self, trial: int) -> dict[str, Any]:
        """Where the best value of a trial was reported, if the checkpoint there is kept."""
        held = self._trials[trial]
        least = min(held.losses, default=math.inf)
        if not self._rules.keep_best or least == math.inf:
            return {}
        return {"best": held.resources[held.losses.index(least)]}

    def _add(self, trial: int, resource: float, size: int) -> int:
        """Note a new checkpoint; what it takes together with the one of the best report."""
        held = {**self._kept[trial].sizes, resource: size}
        best = float(self._best_of(trial).get("best", 0))
        before = max((each for each in held if each <= best), default=resource)
        self._kept[trial].sizes = kept = {each: held[each] for each in (before, resource)}
        return sum(kept.values())

    def reported(self, trial: int, resource: float) -> None:
        """Prune what a report makes superfluous."""
        kept = self._kept.get(trial)
        if kept is not None and kept.unpruned:
            kept.unpruned = False
            self._prune(trial, resource)

    def crashed(self, trial: int, job: int) -> None:
        """Sweep up behind a job that died, perhaps in the middle of writing a checkpoint."""
        self._pruner.sweep(self._place(trial), up_to=job)

    def close(self) -> None:
        """Wait until everything that was to be removed is removed."""
        self._pruner.close()

    def _count(self, trial: int, size: int) -> None:
        kept, quota = self._kept[trial], self._rules.quota
        self.total += size - (kept.size or 0)
        kept.size = size
        if quota is not None and self.total > self._next_eviction:
            self._evict(quota)

    def _evict(self, quota: int) -> None:
        """Remove checkpoints, those that are least likely to be needed first.

        A trial that is promoted after all starts from 0 again: correct, but more costly.
        """
        counted = [number for number, kept in self._kept.items() if kept.size is not None]
        held = [self._trials[number] for number in counted if number < len(self._trials)]
        leaders = {row.trial for row in self._rank(self._rules.keep)}
        candidates = sorted(held, key=lambda trial: (trial.id in leaders, *_promise(trial)))
        gone = freed = 0
        self._next_eviction = quota
        for trial in candidates:
            if self.total <= TARGET_SHARE * quota:
                break
            if trial.state in BUSY:
                continue
            size = self._kept[trial.id].size or 0
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
        kept = self._kept[trial]
        self.total -= kept.size or 0
        kept.size, kept.sizes = None, {}
        return True

    def _say_left(self, error: Exception, why: str = "") -> None:
        if not self._failed:
            self._notice(f"{why}checkpoints could not be removed: {error}")
        self._failed = True


class Retention(Part):
    """Keeps the checkpoints of a study that its options ask for."""

    def open(self) -> None:
        opened, engine = self.session.opened, self.session.engine
        options, quota = opened.options, opened.options.checkpoint_quota
        self._retention = CheckpointRetention(
            opened.store,
            engine.trials,
            RetentionRules(
                None if quota is None else parse_bytes("checkpoint_quota", quota),
                options.keep if options.keep != "all" else 0,
                options.keep_best,
            ),
            notice=self.session.notice,
            rank=self._rank,
            place=opened.assignments.place,
            jobs=len(engine.jobs),
        )

    def _rank(self, limit: int) -> list[Row]:
        """The leaders of the study, by the rule by which one of them wins."""
        return list(self.session.view().leaderboard(limit))

    def message(self, message: Message, trial: int) -> None:
        if isinstance(message, Saved):
            self._retention.saved(trial, message.job, message.size, message.resource)
        elif isinstance(message, Crashed):
            self._retention.crashed(trial, message.job)

    def reported(self, report: Reported, decision: Decision, trial: int) -> None:  # noqa: ARG002
        self._retention.reported(trial, report.resource)

    def measure(self) -> int:
        return self._retention.total

    def close(self) -> None:
        session, keep = self.session, self.session.opened.options.keep
        if session.is_over and session.in_step and session.error is None and keep != "all":
            rows = self._rank(keep)
            self._retention.tidy([row.trial for row in rows if row.value is not None])
        self._retention.close()


def _promise(trial: Trial) -> tuple[bool, float, float, int]:
    """Least promising first: what failed, then what was trained least, and of that the worst."""
    loss = trial.losses[-1] if trial.losses else math.inf
    return trial.state not in GONE, trial.resource, -loss, trial.id
