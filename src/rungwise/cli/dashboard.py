"""``rungwise dashboard`` and ``rungwise report``: the live page of studies, and a copy of it."""

from __future__ import annotations

import json
import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli.arguments import Study
from rungwise.dashboard.guard import is_loopback
from rungwise.dashboard.report import write_report
from rungwise.dashboard.server import HOST, DashboardServer, prepare_process
from rungwise.errors import InvalidArgumentError

Place = Annotated[Path, typer.Argument(help="A study file, or a folder with studies.")]
Host = Annotated[
    str, typer.Option(help="The address to listen at; other machines cannot reach this one.")
]
Port = Annotated[
    int | None,
    typer.Option(help="The port. Default: 8765, or the next that is free.", min=0, max=65535),
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Open no browser.")]
Control = Annotated[
    bool,
    typer.Option(
        "--control",
        help="Print a second address, from which the study can be stopped, extended and so on.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The file to write. Default: STUDY-report.html."
    ),
]
Until = Annotated[
    bool,
    typer.Option(
        "--until-closed",
        help="For programs: print the address as JSON, and end when the standard input is closed.",
    ),
]


def dashboard(
    study: Place = Path(),
    host: Host = HOST,
    port: Port = None,
    no_open: NoOpen = False,
    control: Control = False,
    until_closed: Until = False,
) -> None:
    """Open a live page of a study, or of all studies in a folder.

    It reads the study file and never changes it; the study runs as well without it. Ctrl-C ends
    the page, not the study.

    rungwise dashboard train.db

    rungwise dashboard runs/ --port 8765 --no-open
    """
    try:
        server = DashboardServer(study, host=host, port=port, control=control)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(_name(error.argument), error.value, error.rule) from error
    prepare_process()
    if until_closed:  # started by tune(dashboard=True), which reads this line
        typer.echo(json.dumps({"address": server.address}))
        sys.stdout.flush()
        threading.Thread(target=_close_after_parent, args=(server,), daemon=True).start()
    else:
        _say(server, control=control)
    if not no_open and _has_desktop():
        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.close()


def _has_desktop() -> bool:
    """Whether there is a browser to open: one in the terminal would be in the way."""
    return sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )


def _name(argument: str) -> str:
    return argument if argument == "study" else f"--{argument}"


def _say(server: DashboardServer, *, control: bool) -> None:
    typer.echo(f"The page of {server.library.place} is at\n\n  {server.address}\n")
    if control:
        typer.echo(
            f"Anyone who opens this one can also change the study:\n\n  {server.control_address}\n"
        )
    if not is_loopback(server.guard.host):
        typer.echo(
            "Other machines can reach it. The traffic is not encrypted: anyone who can read it "
            "learns the token. Over a network that is not yours, use ssh -L instead.\n",
            err=True,
        )
    typer.echo("Ctrl-C ends the page; the study goes on.")
    sys.stdout.flush()


def _close_after_parent(server: DashboardServer) -> None:
    """End when the process that has started this one closes its end, or dies."""
    sys.stdin.buffer.read()
    server.library.look_once_more()
    server.shutdown()


def report(study: Study, output: Output = None) -> None:
    """Write the page of a study as one HTML file, which opens without a network.

    rungwise report train.db -o report.html
    """
    target = Path(f"{study.stem}-report.html") if output is None else output
    if target.resolve() == study.resolve():
        raise InvalidArgumentError("--output", str(target), "it is the study itself")
    size: Any = write_report(study, target)
    typer.echo(f"wrote {target} ({size / 1e6:.1f} MB)")
