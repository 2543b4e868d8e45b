"""The studies that a page can show: one file, or all of a folder."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from rungwise.core.codec import jsonable
from rungwise.dashboard.feed import Feed
from rungwise.errors import InvalidArgumentError, RungwiseError
from rungwise.locking import FileLock
from rungwise.storage.opening import is_study
from rungwise.tuning.labels import read_labels_of
from rungwise.tuning.opening import read_view

MOST_FEEDS = 12
"""How many studies are followed at most; the one that was looked at longest ago is closed."""

AFTER_FAILURE = 5.0
"""Seconds to wait after something that should not have happened."""

WANTED = 25.0
"""Seconds that a study is followed after a page has last said that it shows it."""

LAST = 1.0
"""Seconds that pages have to get the last state, before a server ends by itself."""

RESCAN = 2.0
"""Seconds between two looks at a folder."""


class Ticker(threading.Thread):
    """Looks at a study while a page shows it.

    Args:
        feed: the study.
    """

    def __init__(self, feed: Feed) -> None:
        super().__init__(name=f"follows {feed.path.name}", daemon=True)
        self.feed = feed
        self.ready = threading.Event()
        self._wanted = threading.Event()
        self._until = 0.0
        self._ended = False

    def want(self) -> None:
        """A page shows it now, and says so again before long."""
        self._until = time.monotonic() + WANTED
        self._wanted.set()

    def run(self) -> None:
        """Look again and again."""
        while not self._ended:
            self._wanted.wait()
            if time.monotonic() > self._until:
                self._wanted.clear()
                continue
            try:
                pause = self.feed.look()
            except Exception as error:  # noqa: BLE001 - a page that says so is better than none
                self.feed.fail(error)
                pause = AFTER_FAILURE
            self.ready.set()
            time.sleep(pause)

    def end(self) -> None:
        """Look no more."""
        self._ended = True
        self._wanted.set()


class Library:
    """The studies behind one page.

    Args:
        place: a study file, or a folder with studies.
    """

    def __init__(self, place: Path) -> None:
        if not place.exists() and not place.parent.is_dir():
            raise InvalidArgumentError("study", str(place), "there is no such file or folder")
        self.place = place.resolve()
        self.single = not self.place.is_dir()
        if self.single and not is_study(self.place):
            rule = "there is no such file" if not self.place.exists() else "it is not a study file"
            raise InvalidArgumentError("study", str(place), rule)
        self._tickers: OrderedDict[str, Ticker] = OrderedDict()
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[Any, dict[str, Any]]] = {}
        self._listed = 0.0
        self._found: list[dict[str, Any]] = []
        self._listing = threading.Lock()

    def names(self) -> list[str]:
        """The names of the studies; only these can be asked for."""
        if self.single:
            return [self.place.name]
        try:
            return sorted(path.name for path in self.place.iterdir() if is_study(path))
        except OSError:
            return []

    def path(self, name: str) -> Path:
        """The file of a study."""
        return self.place if self.single else self.place / name

    def feed(self, name: str) -> Feed | None:
        """What follows a study, which has been read once; None if there is no such study."""
        with self._lock:
            ticker = self._tickers.get(name)
            if ticker is None:
                if name not in self.names():
                    return None
                ticker = self._tickers[name] = Ticker(Feed(self.path(name)))
                ticker.start()
            self._tickers.move_to_end(name)
            while len(self._tickers) > MOST_FEEDS:
                self._tickers.popitem(last=False)[1].end()
        ticker.want()
        ticker.ready.wait()
        return ticker.feed

    def keep(self, name: str) -> None:
        """A page still shows it."""
        with self._lock:
            ticker = self._tickers.get(name)
        if ticker is not None:
            ticker.want()

    def look_once_more(self) -> None:
        """Have every page get what is the last for it."""
        with self._lock:
            tickers = list(self._tickers.values())
        for ticker in tickers:
            ticker.want()
        if tickers:
            time.sleep(LAST)

    def close(self) -> None:
        """Look at nothing any more."""
        with self._lock:
            for ticker in self._tickers.values():
                ticker.end()
                ticker.feed.wake()

    # -- a folder ------------------------------------------------------------------------------

    def list_studies(self) -> list[dict[str, Any]]:
        """A row for every study; what has not changed is not read again."""
        with self._listing:
            if time.monotonic() - self._listed > RESCAN or not self._found:
                self._found = [self._describe(name) for name in self.names()]
                self._listed = time.monotonic()
            return self._found

    def _describe(self, name: str) -> dict[str, Any]:
        path = self.path(name)
        running = FileLock(path.with_name(f"{name}.lock")).held()
        mark = (running, *(_stamp(path.with_name(name + end)) for end in ("", "-wal")))
        held = self._rows.get(name)
        if held is not None and held[0] == mark:
            return held[1]
        row = self._read_running(name) if running else _read_ended(path)
        self._rows[name] = (mark, row)
        return row

    def _read_running(self, name: str) -> dict[str, Any]:
        """A running study is followed, so that only what is new is read."""
        feed = self.feed(name)
        if feed is None:
            return {"name": name, "state": "unreadable", "problem": "it is gone"}
        return feed.summarise()


def _read_ended(path: Path) -> dict[str, Any]:
    try:
        view = read_view(path)
        tags, note = read_labels_of(path)
    except RungwiseError as error:
        return {"name": path.name, "state": "unreadable", "problem": str(error)}
    best = view.best
    document: dict[str, Any] = jsonable(
        {
            "name": path.name,
            "state": view.state,
            "metric": view.metric,
            "goal": view.goal,
            "trials": view.trials,
            "reports": view.reports,
            "spent": view.resource_spent,
            "ceiling": view.ceiling,
            "best": None if best is None else {"value": best.value, "trial": best.trial},
            "tags": list(tags),
            "note": note,
        }
    )
    return document


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
