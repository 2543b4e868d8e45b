"""The conformance suite of displays, to subclass in a test module.

Example::

    class TestMyDisplay(DisplayConformance):
        def make_display(self, timer):
            return MyDisplay(timer=timer)

A display is made while the standard streams are those of the suite, so one that writes to
``sys.stdout`` or ``sys.stderr`` is tried on terminals, pipes and full disks without knowing it.
"""

from __future__ import annotations

import errno
import io
import math
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, TextIO, cast

import pytest

from rungwise.backends.base import WorkerView
from rungwise.benchmarks.generated import power_laws
from rungwise.benchmarks.table import Table
from rungwise.core.engine import Engine
from rungwise.core.events import JobEnded, JobFailed, JobRequested, Reported
from rungwise.core.limits import Limits
from rungwise.core.scheduler import Recipe
from rungwise.core.study import Study
from rungwise.display import Display, Snapshot
from rungwise.schedulers import ASHA, PASHA, FixedResource, Hyperband, RandomSearch
from rungwise.simulation import simulate
from rungwise.storage.memory import MemoryLog
from rungwise.views import Situation, StudyView

RECIPES: Mapping[str, Recipe] = {
    "PASHA": PASHA(max_resource=27),
    "ASHA": ASHA(max_resource=27),
    "several brackets": Hyperband(max_resource=27),
    "no rungs": RandomSearch(max_resource=27),
}

HOSTILE = "\x1b[2J\x1b]0;mine\x07trial 3 failed:\r\n{red} [bold]boom[/bold] ε █ " + "x" * 500


class Clock:
    """Time that passes when the suite says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A terminal in memory."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class FailingTerminal(Terminal):
    """A terminal that fails from a certain call on: its reader is gone, or its disk is full.

    Args:
        error: what it raises.
        after: how many texts it takes before.
    """

    def __init__(self, error: Exception, after: int) -> None:
        super().__init__()
        self._error = error
        self._left = after

    def write(self, text: str) -> int:
        if self._left <= 0:
            raise self._error
        self._left -= 1
        return super().write(text)

    def flush(self) -> None:
        if self._left <= 0:
            raise self._error


class AsciiTerminal(io.TextIOWrapper):
    """A terminal that has the letters of English only."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="ascii", errors="strict", write_through=True)

    def isatty(self) -> bool:
        return True


def closed_terminal() -> Terminal:
    """A terminal that was closed before the study began."""
    terminal = Terminal()
    terminal.close()
    return terminal


STREAMS: Mapping[str, Callable[[], TextIO]] = {
    "closed": closed_terminal,
    "broken pipe": lambda: FailingTerminal(BrokenPipeError(), 0),
    "pipe that breaks": lambda: FailingTerminal(BrokenPipeError(), 3),
    "full disk": lambda: FailingTerminal(OSError(errno.ENOSPC, "no space left"), 2),
    "ascii": AsciiTerminal,
}


def list_snapshots(recipe: Recipe, *, goal: str = "min", workers: int = 3) -> Iterator[Snapshot]:
    """A simulated study after each of its events; what they show moves on with it."""
    table = power_laws(30, 27, seed=4, noise=0.02)
    log = MemoryLog()
    played = table if goal == "min" else Table(-table.values, goal="max")
    simulate(played, recipe, trials=30, workers=workers, log=log)
    engine = Engine(log.study)
    yield show(engine, 0.0, workers)
    for event, _ in log.read_from():
        engine.handle(event)
        yield show(engine, event.at or 0.0, workers)


def show(engine: Engine, elapsed: float = 0.0, workers: int = 2, **fields: Any) -> Snapshot:
    """How a study stands."""
    jobs = [engine.jobs[job] for job in engine.open_jobs]
    views = [
        WorkerView(number, "pid 4000", job.trial, engine.trials[job.trial].resource, job.until, 1.5)
        for number, job in enumerate(jobs)
    ]
    views += [WorkerView(number) for number in range(len(jobs), workers)]
    return Snapshot(StudyView(engine, "error"), elapsed, views, study="digits.db", **fields)


class DisplayConformance:
    """Subclass it and give :meth:`make_display`."""

    def make_display(self, timer: Clock) -> Display:
        """A display that writes to the standard streams and reads the time from ``timer``."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _fresh_terminal(self) -> None:
        self._set_up()

    def _set_up(self) -> None:
        self.clock = Clock()
        self.stream: TextIO = Terminal()
        self.size = (80, 24)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Let both standard streams be the one of this test."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TERM", "xterm")
            patch.setenv("COLUMNS", str(self.size[0]))
            patch.setenv("LINES", str(self.size[1]))
            patch.setattr(sys, "stdout", self.stream)
            patch.setattr(sys, "stderr", self.stream)
            yield

    def watch(self, snapshots: Iterable[Snapshot]) -> None:
        """Show a study from the first to the last snapshot, and look as often as it is due."""
        with self.connected():
            self.watch_here(iter(snapshots))

    def watch_here(self, snapshots: Iterator[Snapshot]) -> None:
        """The same, on the standard streams as they are."""
        shown = self.make_display(self.clock)
        last = next(snapshots)
        shown.begin(last)
        for last in snapshots:
            self.clock.now += 2.0
            assert shown.due() in (True, False), "due() answers True or False"
            shown.update(last)
        shown.notice(HOSTILE)
        self.clock.now += 20.0
        shown.update(last)
        shown.end(last, HOSTILE)

    @pytest.mark.parametrize(
        ("name", "goal"), [*((name, "min") for name in RECIPES), ("PASHA", "max")]
    )
    def test_shows_every_moment_of_a_study(self, name: str, goal: str) -> None:
        """Of any scheduler, for either goal, before the first report and after the last."""
        self.watch(list_snapshots(RECIPES[name], goal=goal))

    @pytest.mark.parametrize("events", [0, 60, 400])
    def test_a_study_may_go_on_from_anywhere(self, events: int) -> None:
        """A study that is resumed begins in its middle, and may end at once."""
        for one in islice(list_snapshots(RECIPES["PASHA"]), events + 1):
            last = one
        self.watch([last])

    def test_a_study_without_a_maximum(self) -> None:
        """The one in its scheduler is a safety net then."""
        snapshots = list_snapshots(RECIPES["PASHA"])
        self.watch(
            replace(one, study="", view=one.view.placed(Situation(open_ended=True)))
            for one in snapshots
        )

    def test_a_study_in_which_nothing_succeeded(self) -> None:
        """Every job failed: there is no best trial, and no ceiling was reached."""
        engine = Engine(Study(PASHA(max_resource=9), Limits(trials=2), initial=[{"lr": 0.1}] * 2))

        def play() -> Iterator[Snapshot]:
            yield show(engine)
            for failures in (1, 2):
                job = engine.handle(JobRequested()).job  # type: ignore[union-attr]
                engine.handle(JobFailed(job.id, HOSTILE))
                yield show(engine, failures=failures)

        self.watch(play())

    @pytest.mark.parametrize("value", [math.nan, math.inf, -1e300, 5e-324])
    def test_values_and_configurations_may_be_odd(self, value: float) -> None:
        """What a trainable reports, and what a space holds, is not the display's choice."""
        odd = {"text": HOSTILE, "far": math.inf, "list": [1, (2, {3})]}
        study = Study(FixedResource(1), Limits(trials=1), initial=[{"x": 1}])
        engine = Engine(study, proposer=lambda _: odd)
        job = engine.handle(JobRequested()).job  # type: ignore[union-attr]

        def play() -> Iterator[Snapshot]:
            yield show(engine, checkpoints_bytes=10**13, failures=10**6)
            engine.handle(Reported(job.id, 1, value))
            yield show(engine, 1e9, workers=300)
            engine.handle(JobEnded(job.id))
            yield show(engine, 1e9, workers=0)

        self.watch(play())

    @pytest.mark.parametrize("name", STREAMS)
    def test_a_stream_that_is_lost_harms_nothing(self, name: str) -> None:
        """Closed, without a reader, on a full disk, or without the characters needed."""
        self.stream = STREAMS[name]()
        self.watch(islice(list_snapshots(RECIPES["PASHA"]), 0, None, 10))

    @pytest.mark.parametrize("size", [(1, 1), (7, 2), (24, 3), (400, 200)])
    def test_a_terminal_may_have_any_size(self, size: tuple[int, int]) -> None:
        """However narrow, and however low."""
        self.size = size
        self.watch(islice(list_snapshots(RECIPES["PASHA"]), 0, None, 10))

    def test_what_trials_print_cannot_steer_the_terminal(self) -> None:
        """Escape sequences in messages could hide what is shown, or worse."""
        self.watch(islice(list_snapshots(RECIPES["PASHA"]), 2))
        written = cast("Terminal", self.stream).getvalue()
        assert "\x1b[2J" not in written, "it passed on a sequence that clears the terminal"
        assert "\x1b]0;" not in written, "it passed on a sequence that names the terminal"

    def test_the_study_stays_as_it_is(self) -> None:
        """A study that is shown and one that is not come to the same."""
        found = []
        for is_shown in (True, False):
            last: deque[Snapshot] = deque(maxlen=1)

            def play(last: deque[Snapshot] = last) -> Iterator[Snapshot]:
                for one in list_snapshots(RECIPES["PASHA"]):
                    last.append(one)
                    yield one  # the study continues after each

            if is_shown:
                self.watch(play())
            else:
                deque(play(), maxlen=0)
            view = last[0].view
            found.append((view.leaderboard(), view.curves(), view.ceilings, view.rungs()))
        assert found[0] == found[1]

    def test_leaves_the_process_as_it_was(self) -> None:
        """When the study has ended, the streams are back and no thread is left."""
        threads = threading.active_count()
        with self.connected():
            self.watch_here(islice(list_snapshots(RECIPES["PASHA"]), 0, None, 20))
            assert sys.stdout is self.stream, "sys.stdout is not what it was"
            assert sys.stderr is self.stream, "sys.stderr is not what it was"
        assert threading.active_count() == threads, "a thread is still alive"
