"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Study = Annotated[Path, typer.Argument(help="The study file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print events and result as lines of JSON.")]
ResultAsJson = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead.")]
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
