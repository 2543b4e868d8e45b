"""The live page of a study, opened by the tuner: a process of its own, which reads the file.

Law of this file: nothing that happens to the page reaches the study. It may fail to start, die or
hang; the tuner only says so. It ends when the tuner closes its end, or dies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rungwise.storage.study_file import shown

STARTS = 10.0
"""Seconds to wait until the page is there; it may still come later."""

ENDS = 5.0
"""Seconds that the page has to show the last state, once the study is over."""

_COMMAND = "from rungwise.cli import main; main()"


@contextmanager
def open_page(wanted: bool, study: Path, notice: Callable[[str], None]) -> Iterator[None]:  # noqa: FBT001 - an option
    """A page of the study while the block runs, if it is wanted.

    Args:
        wanted: whether it is.
        study: the study file.
        notice: called with where it is, or why there is none.
    """
    if not wanted:
        yield
        return
    try:
        # In a session of its own, so that Ctrl-C does not end it before the study.
        page = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", _COMMAND, "dashboard", str(study), "--until-closed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
    except OSError as error:
        notice(f"there is no live page: it could not be started ({error})")
        yield
        return
    notice(_find_address(page) or f"no live page yet; rungwise dashboard {shown(study)} opens one")
    try:
        yield
    finally:
        _end(page)


def _find_address(page: subprocess.Popen[bytes]) -> str | None:
    """Where the page is, as a sentence; None if it is not there in time."""
    said: list[str] = []

    def listen() -> None:
        assert page.stdout is not None
        with suppress(ValueError, TypeError, KeyError, OSError):
            said.append(str(json.loads(page.stdout.readline())["address"]))

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    listener.join(STARTS)
    return f"the live page of the study is at {said[0]}" if said else None


def _end(page: subprocess.Popen[bytes]) -> None:
    assert page.stdin is not None
    with suppress(OSError):
        page.stdin.close()
    try:
        page.wait(ENDS)
    except subprocess.TimeoutExpired:
        page.kill()
        page.wait()
    if page.stdout is not None:
        page.stdout.close()
