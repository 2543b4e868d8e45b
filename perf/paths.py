"""How many modules and functions of rungwise run on its main paths, in the main thread.

python perf/paths.py

A path that crosses more modules is harder to follow. The figures do not depend on the machine, so
two versions are compared by running this in each.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import rungwise as rw
from rungwise.backends import messages
from rungwise.cli import main
from rungwise.dashboard.feed import Feed
from rungwise.driver import Driver

ROOT = str(Path(rw.__file__).parent)
SPACE = {"x": rw.Float(0, 1)}
STUDY: dict[str, Any] = {"metric": "loss", "max_resource": 9, "backend": "threads:1"}


class Counter:
    """Counts what runs."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str, int]] = set()
        self.depth = self.deepest = 0

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        """Called with every call and return."""
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return
        if event == "call":
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
            self.functions.add((code.co_filename, code.co_name, code.co_firstlineno))
        elif event == "return":
            self.depth -= 1

    def summarise(self) -> dict[str, int]:
        """The figures."""
        modules = {file for file, _, _ in self.functions}
        return {
            "modules": len(modules),
            "packages": len({str(Path(file).parent) for file in modules}),
            "functions": len(self.functions),
            "deepest": self.deepest,
        }


@contextlib.contextmanager
def counting() -> Iterator[Counter]:
    """Count what runs meanwhile."""
    counter = Counter()
    sys.setprofile(counter.see)
    try:
        yield counter
    finally:
        sys.setprofile(None)


def train(config: Any, run: Any) -> None:
    """Report a curve."""
    for epoch in run.resources():
        run.report(epoch, loss=config["x"] + 1 / epoch)


def count_one_report(path: Path) -> dict[str, int]:
    """One report: from the poll that returns it to its answer."""
    found: list[Counter] = []
    step = Driver.step

    def counted(self: Driver) -> None:
        polled: list[Any] = []
        poll = self._backend.poll

        def keep() -> list[Any]:
            polled[:] = poll()
            return polled

        self._backend.poll = keep  # type: ignore[method-assign]
        with counting() as counter:
            step(self)
        del self._backend.poll
        if [type(one) for one in polled] == [messages.Reported]:
            found.append(counter)

    Driver.step = counted  # type: ignore[method-assign]
    try:
        rw.tune(train, SPACE, **STUDY, trials=9, study=path, show="quiet")
    finally:
        Driver.step = step  # type: ignore[method-assign]
    found.sort(key=lambda counter: len(counter.functions))
    return found[len(found) // 2].summarise()


def count(act: Callable[[], Any]) -> dict[str, int]:
    """What runs in a call, the second time: what it imports does not count."""
    with counting() as counter:
        act()
    return counter.summarise()


def show(path: Path) -> None:
    """``rungwise show``."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = ["rungwise", "show", str(path)]
        main()


def look(path: Path) -> None:
    """One look of the page, and its first document."""
    feed = Feed(path)
    feed.look()
    feed.write(0)


def measure() -> dict[str, dict[str, int]]:
    """The figures of all paths."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rw.tune(train, SPACE, **STUDY, trials=9, study=place / "s.db", show="quiet")
        tune = count(
            lambda: rw.tune(train, SPACE, **STUDY, trials=9, study=place / "a.db", show="quiet")
        )
        report = count_one_report(place / "b.db")
        resume = count(lambda: rw.resume(place / "s.db", train, trials=10, show="quiet"))
        show(place / "s.db")
        shown = count(lambda: show(place / "s.db"))
        look(place / "s.db")
        looked = count(lambda: look(place / "s.db"))
        table = rw.power_laws(9, 9)
        rw.simulate(table, rw.PASHA(), trials=9)
        simulated = count(lambda: rw.simulate(table, rw.PASHA(), trials=9))
    return {
        "tune, from beginning to end": tune,
        "one report": report,
        "resume with one more trial": resume,
        "show": shown,
        "one look of the page": looked,
        "simulate": simulated,
    }


if __name__ == "__main__":
    for name, figures in measure().items():
        print(f"{name:30} {json.dumps(figures)}")
