"""All commands: their names, their lines in the help, and the modules that they are loaded from.

Law of this file: it imports no command. A command is loaded when it is used, so that none waits
for what only others need.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rungwise._version import __version__


class Entry(NamedTuple):
    """A command that is not loaded yet.

    Attributes:
        place: ``module:name``, within ``rungwise.cli``.
        help: the first paragraph of its help, for the list of all commands; a test compares.
        reads: whether it only reads: it trains nothing, here or in a process of its own.
    """

    place: str
    help: str
    reads: bool = False


COMMANDS = {
    "demo": Entry("demo:demo", "Tune a small neural network on scikit-learn's handwritten digits."),
    "tune": Entry("tune:tune", "Find a good configuration with as little training as possible."),
    "resume": Entry("tune:resume", "Resume a study after an interrupt, a crash or a reboot."),
    "show": Entry(
        "show:show",
        "Show what a study has found so far: leaderboard, rungs, best configuration and state.",
        reads=True,
    ),
    "list": Entry(
        "studies:list_studies", "List the studies in a folder, with the state of each.", reads=True
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


_METAVARS = {"int": "INTEGER", "float": "NUMBER", "str": "TEXT", "text": "TEXT", "path": "FILE"}
"""What the help calls values, by the beginning of what typer calls their type."""


class _PlainValues:
    """A command or group whose help shows values as capital words, and flags without one."""

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if parameter.param_type_name == "argument":
                parameter.metavar = parameter.metavar or parameter.name.upper()
                parameter.display_type_rich = _show_no_type  # recent typer would show <path>
            elif getattr(parameter, "is_flag", False):
                parameter.metavar = parameter.metavar or ""  # recent typer would show <bool>
            elif parameter.metavar is None:
                parameter.metavar = _name_value(parameter, ctx)
        return parameters


def _show_no_type(ctx: Any) -> None:
    """The word for an argument says what it is."""


def _name_value(parameter: Any, ctx: Any) -> str | None:
    """What stands for the value of an option; None to leave that to typer."""
    recent = hasattr(parameter, "display_type")
    kind = parameter.display_type(ctx) if recent else parameter.type.name
    kind = str(kind).lower().removeprefix("<").removeprefix("list[")
    return next((word for start, word in _METAVARS.items() if kind.startswith(start)), None)


class Command(_PlainValues, TyperCommand):
    """A command."""


class Group(_PlainValues, TyperGroup):
    """A group of commands, listed in the order in which they are written."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)  # typer 0.12 sorts them


class LazyGroup(Group):
    """The commands of :data:`COMMANDS`: listed by their lines, loaded when one of them is run."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, help=entry.help), name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] == ["help"]:
            is_page = bool(args[1:]) and args[1] not in COMMANDS
            args = ["manual", *args[1:]] if is_page else [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        if name is None:
            return name, found, rest
        if COMMANDS[name].reads:
            # NumPy's import would start a thread per processor, which takes as long as the rest.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command = load_command(name)
        gc.freeze()
        gc.enable()  # the command line has disabled it, to load faster
        return name, command, rest


def load_command(name: str) -> Any:
    """The command itself, with all its options."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    found = getattr(importlib.import_module(f"rungwise.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        function, found = found, make_app()
        found.command(name, cls=Command)(function)
    command = get_command(found)
    command.name = name
    for each in (command, *getattr(command, "commands", {}).values()):
        # Typer keeps the ends of lines of a docstring, and breaks the lines of a terminal as well.
        each.help = re.sub(r"(?<=[^\n])\n(?=[^\n])", " ", each.help or "")
    return command


def make_app(**options: Any) -> typer.Typer:
    """A Typer application with the settings that all of ours share."""
    return typer.Typer(
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        **options,
    )


app = make_app(
    name="rungwise",
    cls=LazyGroup,
    help=(
        "Tune models without knowing how many epochs are enough.\n\n"
        "Start with `rungwise demo`, then `rungwise tune --help`."
    ),
    no_args_is_help=True,
)


def _print_version(value: bool) -> None:  # noqa: FBT001 - typer's form of a callback
    if value:
        typer.echo(f"rungwise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass
