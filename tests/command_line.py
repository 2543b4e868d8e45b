"""``rungwise …`` in a process of its own, or in this one at a tenth of the price.

What a command says, what it writes and how it ends is the same in both. A process of its own is for
what only that can show: signals, terminals, encodings, standard input, start-up.
"""

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import typer  # noqa: F401 - loaded here, not within a command, whose modules are removed again

from rungwise.cli import main


@dataclass
class Done:
    """As ``subprocess.run`` has it."""

    returncode: int
    stdout: str
    stderr: str


def run_process(arguments, *, folder=None, given=None, **environ):
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rungwise", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        input=given,
        timeout=300,
        env={**os.environ, "COLUMNS": "120", **environ},
    )


def unmeasured():
    """The environment of a process of which `make coverage` measures nothing, and loads nothing."""
    return {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE_")}


@contextlib.contextmanager
def started(command, **options):
    """A process, as ``subprocess.Popen`` starts it; it does not outlive the block."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()  # does nothing to one that was waited for


def run_here(arguments, *, folder=None):
    """A command in this process; what it changed there is put back."""
    out, err = io.StringIO(), io.StringIO()
    with _restored(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ["rungwise", *map(str, arguments)]
        os.environ["COLUMNS"] = "120"
        if folder is not None:
            os.chdir(folder)
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    return Done(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _restored():
    folder, argv, path, modules = Path.cwd(), sys.argv, list(sys.path), set(sys.modules)
    environ = dict(os.environ)
    try:
        yield
    finally:
        os.chdir(folder)
        sys.argv, sys.path[:] = argv, path
        os.environ.clear()
        os.environ.update(environ)
        for name in set(sys.modules) - modules:
            if not name.startswith("rungwise") and _is_of_a_test(sys.modules[name]):
                del sys.modules[name]


def _is_of_a_test(module):
    """Whether a command has imported it from a study's own folder."""
    place = getattr(module, "__file__", None) or ""
    installed = any(place.startswith(root) for root in (sys.prefix, sys.base_prefix))
    return not installed and "site-packages" not in place
