"""A failure in one line: what happened, and where in the training function."""

from __future__ import annotations

import re
from pathlib import Path

from rungwise.core.failures import Failure

_FRAME = re.compile(r'^ *File "([^"\n]+)", line (\d+), in (.+)$', re.MULTILINE)
_CALLER = ("backends/worker.py", "serve")
"""The file and the function of rungwise that call the training function."""

_OWN = "/rungwise/scripts/"


def describe_failure(failure: Failure) -> str:
    """The reason, with the line of the training function where it is known."""
    place = find_place(failure.trace)
    return failure.reason if place is None else f"{failure.reason} ({place})"


def describe_traceback(failure: Failure) -> str:
    """The traceback, or what was printed last, with a heading; "" if there is neither."""
    trace = "" if _is_of_script(failure.trace) else failure.trace
    text = trace.strip("\n") or failure.output.strip("\n")
    if text and not trace.strip():
        return f"The last output of the first that failed:\n{text.rstrip()}"
    return f"The first traceback:\n{text.rstrip()}" if text.strip() else ""


def _is_of_script(trace: str) -> bool:
    """Whether it has only lines of rungwise, since the script ran in a process of its own."""
    frames = [file.replace("\\", "/") for file, _, _ in _FRAME.findall(trace)]
    return len(frames) > 1 and _OWN in frames[1] and frames[0].endswith(_CALLER[0])


def find_place(trace: str) -> str | None:
    """The deepest line of a traceback that is in the file of the training function.

    Deeper lines belong to the libraries that it calls, or to rungwise.
    """
    frames = [(file.replace("\\", "/"), line, name) for file, line, name in _FRAME.findall(trace)]
    calls = [n for n, (file, _, name) in enumerate(frames) if _is_caller(file, name)]
    below = frames[calls[-1] + 1 :] if calls else []
    if not below or _OWN in below[0][0]:  # a script in a process of its own has no lines here
        return None
    file, line, name = [frame for frame in below if frame[0] == below[0][0]][-1]
    return f"{Path(file).name}, line {line}, in {name}"


def _is_caller(file: str, name: str) -> bool:
    return file.endswith(_CALLER[0]) and name == _CALLER[1]
