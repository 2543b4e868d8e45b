"""All commands: their names, their lines in the help, and the modules that they are loaded from.

Law of this file: it imports no command. A command is loaded when it is used, so that none waits
for what only others need.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A command that is not loaded yet.

    Attributes:
        place: ``module:name``, within ``rungwise.cli``.
        help: the first paragraph of its help, for the list of all commands; a test compares.
        reads: whether it only reads: it trains nothing, here or in a process of its own.
        plain: whether its parameters are declared without typer, see ``cli/parameters.py``.
    """

    place: str
    help: str
    reads: bool = False
    plain: bool = False


COMMANDS = {
    "demo": Entry("demo:demo", "Tune a small neural network on scikit-learn's handwritten digits."),
    "tune": Entry("tune:tune", "Find a good configuration with as little training as possible."),
    "resume": Entry("tune:resume", "Resume a study after an interrupt, a crash or a reboot."),
    "show": Entry(
        "show:show",
        "Show what a study has found so far: leaderboard, rungs, best configuration and state.",
        reads=True,
        plain=True,
    ),
    "list": Entry(
        "listing:list_studies",
        "List the studies in a folder, with the state of each.",
        reads=True,
        plain=True,
    ),
    "plot": Entry("plot:plot", "Draw a figure of a study, also while it runs.", reads=True),
    "dashboard": Entry(
        "dashboard:dashboard",
        "Open a live page of a study, or of all studies in a folder.",
    ),
    "report": Entry(
        "dashboard:report",
        "Write the page of a study as one HTML file, which opens without a network.",
        reads=True,
    ),
    "export": Entry(
        "studies:export",
        "Export a study as a table, with one row per report or per trial.",
        reads=True,
    ),
    "verify": Entry(
        "verify:verify",
        "Check a study file: every entry, every note, and every decision by taking it again.",
    ),
    "add": Entry(
        "requests:add",
        "Have configurations of your own tried next, in a study that runs or will be resumed.",
    ),
    "stop": Entry(
        "requests:stop",
        "Stop a study, so that it can be resumed, or one trial of it permanently.",
    ),
    "fail": Entry(
        "requests:fail", "Stop one trial of a study permanently, and count it as failed."
    ),
    "tag": Entry("requests:tag", "Give a study tags, which list and show print."),
    "note": Entry("requests:note", "Give a study a note, which list and show print."),
    "retrain": Entry(
        "retrain:retrain",
        "Train the best configuration from scratch to the maximum (phase 2 of the paper).",
    ),
    "delete": Entry(
        "studies:delete", "Delete a study with its checkpoints and outputs, after a confirmation."
    ),
    "simulate": Entry(
        "simulate:simulate", "Run a study on a table of learning curves, in virtual time."
    ),
    "reproduce": Entry(
        "reproduce:reproduce",
        "Run the paper's experiments on installed benchmarks, and compare its figures with ours.",
    ),
    "benchmark": Entry(
        "benchmark:app", "Manage tables of learning curves: those of the package, and public ones."
    ),
    "manual": Entry(
        "manual:show_manual", "Show a page of the manual, or list the pages.", reads=True
    ),
}
"""In the order of the help."""


SELDOM = 50_000
"""After so many new objects garbage is looked for while a study is read; by default after 700."""


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Around the loading of a command that will be run.

    Args:
        name: the command.
    """
    if COMMANDS[name].reads:
        # NumPy's import would start a thread per processor, which takes as long as the rest.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    yield
    gc.freeze()
    if COMMANDS[name].reads:
        gc.set_threshold(SELDOM)  # a replay makes many objects, and few cycles
    gc.enable()  # the command line has disabled it, to load faster


def import_command(name: str) -> Any:
    """The function of a command, or the application that a group of commands is."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    return getattr(importlib.import_module(f"rungwise.cli.{module}"), attribute)
