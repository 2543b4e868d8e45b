"""The ``rungwise`` command."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from rungwise._version import __version__
from rungwise.cli import benchmark
from rungwise.cli.demo import demo
from rungwise.cli.reproduce import reproduce
from rungwise.cli.simulate import simulate
from rungwise.cli.studies import delete, export, list_studies, retrain, show
from rungwise.cli.tune import resume, tune
from rungwise.errors import RungwiseError
from rungwise.formatting import strip_controls

app = typer.Typer(
    name="rungwise",
    help=(
        "Tune models without knowing how many epochs are enough.\n\n"
        "Start with `rungwise demo`, then `rungwise tune --help`."
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(demo)
app.command()(tune)
app.command()(resume)
app.command()(show)
app.command("list")(list_studies)
app.command()(export)
app.command()(retrain)
app.command()(delete)
app.command()(simulate)
app.add_typer(benchmark.app, name="benchmark")
app.command()(reproduce)


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


def main() -> None:
    """Run the command; errors of the user's making are one line, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # Output into a file may have an encoding without Greek letters: better a "?" than a crash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except RungwiseError as error:
        text = strip_controls(str(error))  # it may quote what a trial said
        typer.echo(f"rungwise: {text}", err=True)
        sys.exit(2)
