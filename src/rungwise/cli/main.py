"""The ``rungwise`` command: what is around the commands themselves."""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings
from typing import Any, TextIO

from rungwise._version import __version__

INTERRUPTED = 130
"""The exit code of a program that was interrupted."""

NOTHING_FOUND, WRONG = 1, 2
"""The exit codes of a command whose study found nothing, and of one that could not be done."""


def main() -> None:
    """Run the command; errors of the user's making are one line, not a traceback."""
    if sys.argv[1:] == ["--version"]:
        print(f"rungwise {__version__}")  # noqa: T201 - at once: nothing else needs to be loaded
        return
    # What is imported stays: looking for garbage in it takes a tenth of the time. It is looked for
    # again once the command is loaded.
    gc.disable()
    from rungwise.cli.parameters import find_plain_call  # noqa: PLC0415 - as said above
    from rungwise.errors import NothingFoundError, RungwiseError  # noqa: PLC0415

    for stream in (sys.stdout, sys.stderr):
        # Output into a file may have an encoding without Greek letters: better a "?" than a crash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    warnings.showwarning = _print_warning
    try:
        (find_plain_call(sys.argv[1:]) or _run_with_typer)()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # who reads the output wants no more of it, such as ``head``
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (RungwiseError, OSError) as error:  # such as a full disk, or a name no file can have
        from rungwise.formatting import strip_controls  # noqa: PLC0415

        # The text may quote what a trial wrote.
        print(f"rungwise: {strip_controls(str(error))}", file=sys.stderr)  # noqa: T201
        sys.exit(NOTHING_FOUND if isinstance(error, NothingFoundError) else WRONG)
    finally:
        gc.enable()


def _run_with_typer() -> None:
    from rungwise.cli.commands import app  # noqa: PLC0415 - slow to import

    app()


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of rungwise as one line, without its place in the code; others as usual."""
    stream: Any = sys.stderr if file is None else file
    if category.__module__.startswith("rungwise."):
        text = f"rungwise: warning: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    stream.write(text)
