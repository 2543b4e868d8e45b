"""What the page of one study is sent: everything once, and from then on what has changed.

Law of this file: an update costs what has changed since the last one. Whatever costs more, because
it looks at the whole study, is paced (:mod:`rungwise.dashboard.pacing`).
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rungwise.dashboard import jobs, sections
from rungwise.dashboard.pacing import Paced
from rungwise.dashboard.rows import CurveChoice, list_rows
from rungwise.tuning.follower import Fold, Follower
from rungwise.views import StudyView

QUICK, SLOW = 0.4, 4.0
"""The fewest and the most seconds between two looks at the file."""

LATE = ("saving",)
"""What is published by itself, after everything else: a page need not wait for it."""

_NOTHING = object()

SHARE = 0.05
"""The part of the time that looks may take, while a study runs."""


class Feed:
    """Follows a study for all pages that show it.

    Args:
        path: the study file.

    Attributes:
        epoch: what a page must have been sent by for its version to mean anything here.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.epoch = secrets.token_hex(4)
        self._follower = Follower(path)
        self._changed = threading.Condition(threading.RLock())
        self._sections: dict[str, tuple[int, Any]] = {}
        self._version = 0
        self._restarts = 0
        self._last: tuple[int, int, str] | None = None
        self._begin()

    def _begin(self) -> None:
        """Nothing that was computed is of the study that is in the file now."""
        left = sections.TimeLeft()
        self._curves = CurveChoice()
        self._levels: list[int] = []
        follow = self._with_study
        self._paced: dict[str, Paced] = {
            "headline": follow(lambda v, f: sections.write_headline(v, f, self.path)),
            "saving": follow(lambda v, _: sections.write_saving(v)),
            "left": follow(left.write),
            "ladder": follow(lambda v, _: sections.write_ladder(v)),
            "history": follow(lambda v, _: sections.write_history(v)),
            "failures": follow(sections.write_failures),
            "use": follow(lambda v, f: jobs.measure_use(v, f.clock)),
            "choice": follow(lambda v, _: self._curves.choose(v, self._follower.version)),
        }

    def _with_study(self, compute: Callable[[StudyView, Fold], Any]) -> Paced:
        def run() -> Any:
            fold, view = self._follower.fold, self._follower.view
            return None if fold is None or view is None else compute(view, fold)

        return Paced(run)

    # -- looking -------------------------------------------------------------------------------

    def look(self) -> float:
        """Read what is new and write what has changed; in how many seconds to look again.

        Only one thread may call it. What it computes it computes without the lock: nothing else
        changes the fold.
        """
        begun = time.thread_time()
        more = True
        while more:
            with self._changed:
                more = self._follower.poll()
        self._check_place()
        self._publish([name for name in self._paced if name not in LATE])
        took = time.thread_time() - begun
        self._publish(LATE)  # paced by itself
        return min(SLOW, max(QUICK, took / SHARE))

    def fail(self, error: Exception) -> None:
        """Say on the page that a look has failed."""
        with self._changed:
            self._follower.say(f"it cannot be shown: {type(error).__name__}: {error}")
        self._publish(())

    def _check_place(self) -> None:
        """Start over for another study, or for another ladder."""
        follower, fold, view = self._follower, self._follower.fold, self._follower.view
        with self._changed:
            if follower.restarts != self._restarts:
                self._restarts, self.epoch = follower.restarts, secrets.token_hex(4)
                self._sections.clear()
                self._begin()
            if fold is not None and view is not None:
                levels = list(view.levels)
                if levels != self._levels:  # rows count rungs, so all of them change
                    self._levels = levels
                    follower.version += 1
                    fold.trials = [follower.version] * len(fold.trials)

    def _publish(self, names: Sequence[str]) -> None:
        follower = self._follower
        version = follower.version
        found = {name: self._paced[name].get(version, now=not follower.running) for name in names}
        found.pop("choice", None)
        found["status"] = {
            "state": sections.write_status(follower.view, running=follower.running),
            "problem": follower.problem,
            "restarts": follower.restarts,
        }
        with self._changed:
            new = {
                name for name in found if self._sections.get(name, (0, _NOTHING))[1] != found[name]
            }
            if new and version == self._version:
                # It is newer than what was sent, although nothing has been read meanwhile.
                version = follower.version = version + 1
            for name in new:
                self._sections[name] = (version, found[name])
            if version != self._version:
                self._version, self._last = version, None
                self._changed.notify_all()

    # -- reading -------------------------------------------------------------------------------

    def write(self, since: int) -> tuple[int, str]:
        """(the version, a document with all that has changed since another version)."""
        with self._changed:
            if self._last is None or self._last[:2] != (since, self._version):
                text = json.dumps(self._collect(since), separators=(",", ":"), allow_nan=False)
                self._last = (since, self._version, text)
            return self._version, self._last[2]

    def _collect(self, since: int) -> dict[str, Any]:
        document: dict[str, Any] = {"epoch": self.epoch, "version": self._version}
        document["full"] = since == 0
        for name, (version, value) in self._sections.items():
            if version > since or since == 0:
                document[name] = value
        fold, view = self._follower.fold, self._follower.view
        if fold is not None and view is not None:
            document["trials"] = list_rows(view, fold.trials, since)
            document["curves"] = self._curves.list_curves(view, fold.trials, since)
            document["jobs"] = jobs.list_rows(view, fold.jobs, since)
        return document

    def wait(self, epoch: str, since: int, timeout: float) -> tuple[str, int, str] | None:
        """(epoch, version, document) once there is something newer; None after a time."""
        with self._changed:
            known = since if epoch == self.epoch else 0
            if known == self._version and known:
                self._changed.wait(timeout)
                known = since if epoch == self.epoch else 0
            if known == self._version and known:
                return None
            version, text = self.write(known)
            return self.epoch, version, text

    def read(self, use: Callable[[StudyView, Fold], Any]) -> Any:
        """What a function finds in the study, which does not change meanwhile; None without one."""
        with self._changed:
            fold, view = self._follower.fold, self._follower.view
            return None if fold is None or view is None else use(view, fold)

    def summarise(self) -> dict[str, Any]:
        """The row of the study in a list of studies."""
        with self._changed:
            head = self._sections.get("headline", (0, None))[1] or {}
            names = ("metric", "goal", "trials", "reports", "spent", "ceiling", "tags", "note")
            row = {name: head.get(name) for name in names}
            best = head.get("best")
            row["best"] = best and {"value": best["value"], "trial": best["trial"]}
            status = self._sections.get("status", (0, {}))[1]
            return {**row, **status, "name": self.path.name}

    @property
    def problem(self) -> str:
        """Why the file cannot be read; empty if it can."""
        return self._follower.problem

    def wake(self) -> None:
        """Let everything that waits look whether it is still wanted."""
        with self._changed:
            self._changed.notify_all()
