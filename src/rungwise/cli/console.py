"""Consoles and progress bars; plain text where there is no terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table

from rungwise.cli.main import INTERRUPTED

PROGRESS_DELAY = 2.0
"""Seconds after which progress is shown."""


def out(*, narrow: bool = False) -> Console:
    """The console for results.

    Args:
        narrow: whether all that is printed fits any width, so that COLUMNS is honoured.
    """
    # Without a terminal the width is that of wide tables, so that nothing is cut in a log; rich
    # itself takes COLUMNS for terminals only.
    console = Console(highlight=False)
    if console.is_terminal:
        return console
    asked = os.environ.get("COLUMNS", "") if narrow else ""
    width = int(asked) if asked.isascii() and asked.isdigit() and int(asked) > 0 else 120
    return Console(highlight=False, width=width)


def grid(console: Console, title: str) -> Table:
    """A table; in plain characters where there is no terminal."""
    return Table(title=title, box=box.HEAVY_HEAD if console.is_terminal else box.ASCII)


def write_line(text: str) -> None:
    """A line for programs: as it is, at any width."""
    print(text, flush=True)  # noqa: T201 - rich would look for markup


@contextmanager
def ending_when_interrupted(state: str) -> Iterator[None]:
    """Ctrl-C ends the command with a line that says what has been done so far.

    Args:
        state: what has been done, as a clause.
    """
    try:
        yield
    except KeyboardInterrupt:
        print(f"rungwise: interrupted; {state}", file=sys.stderr)  # noqa: T201
        sys.exit(INTERRUPTED)


@contextmanager
def progress(what: str, screen: Console | None = None) -> Iterator[Callable[[int, int], None]]:
    """Give a function to call with (done, in all); after two seconds a bar appears.

    Args:
        what: what is being done.
        screen: where the bar appears; the standard error output by default.
    """
    # Not every command that prints shows progress.
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
        console=Console(stderr=True) if screen is None else screen,
        transient=True,
    )
    begun = time.monotonic()
    task = bar.add_task(what, total=None)

    def advance(done: int, total: int) -> None:
        if not bar.live.is_started:
            if time.monotonic() - begun < PROGRESS_DELAY or not bar.console.is_terminal:
                return
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
