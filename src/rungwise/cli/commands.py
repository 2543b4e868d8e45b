"""The commands as typer has them: the group of all, and each with its options.

Law of this file: it imports no command, see ``cli/entries.py``.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rungwise._version import __version__
from rungwise.cli.arguments import with_typer
from rungwise.cli.entries import COMMANDS, import_command, loading

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
        with loading(name):
            command = load_command(name)
        return name, command, rest


def load_command(name: str) -> Any:
    """The command itself, with all its options."""
    found = import_command(name)
    if COMMANDS[name].plain:
        found = with_typer(found)
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
