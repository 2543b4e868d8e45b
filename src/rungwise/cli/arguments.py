"""Arguments that several commands share, and what typer makes of those declared without it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from rungwise.cli.parameters import (
    RESULT_AS_JSON,
    STUDY,
    Argument,
    name_flag,
)

Study = Annotated[Path, typer.Argument(help=STUDY.help)]
AsJson = Annotated[bool, typer.Option("--json", help="Print events and result as lines of JSON.")]
ResultAsJson = Annotated[bool, typer.Option(RESULT_AS_JSON.name, help=RESULT_AS_JSON.help)]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run what the study file names (function or command, backend) although you did not "
        "make it on this machine. Trust a study file as you trust a program.",
    ),
]
Function = Annotated[
    str | None,
    typer.Option(
        "--train",
        metavar="TARGET",
        help="The training function or script, if the study file does not name it.",
    ),
]


def with_typer(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters are declared without typer, as typer takes it."""
    signature = inspect.signature(function, eval_str=True)
    parameters = [one.replace(annotation=_annotate(one)) for one in signature.parameters.values()]

    @functools.wraps(function)
    def command(**given: Any) -> None:
        function(**given)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _annotate(parameter: inspect.Parameter) -> Any:
    kind, declared = get_args(parameter.annotation)[:2]
    if isinstance(declared, Argument):
        found: Any = typer.Argument(help=declared.help)
    else:
        least = None if kind is bool else declared.least
        found = typer.Option(name_flag(parameter), help=declared.help, min=least)
    return Annotated[kind, found]
