"""``rungwise verify``: check everything in a study file."""

from __future__ import annotations

from typing import Annotated

import typer

from rungwise.cli.arguments import Study
from rungwise.formatting import format_count
from rungwise.storage.sqlite import SqliteLog
from rungwise.tuning.opening import must_be_file
from rungwise.tuning.verification import verify_study

Accept = Annotated[
    bool,
    typer.Option(
        "--accept-loss",
        help="Go on without entries that were committed and are missing, for example after a power "
        "failure; everything that is there is checked.",
    ),
]


def verify(study: Study, accept_loss: Accept = False) -> None:
    """Check a study file: every entry, every note, and every decision by taking it again.

    Nothing is changed, unless you accept a loss.
    """
    must_be_file("study", study)
    if accept_loss:
        with SqliteLog(study.resolve(), accept_loss=True) as log:
            for _ in log.read_from():
                pass
            with log.transaction():
                pass
    found = verify_study(study)
    typer.echo(
        f"{study} is sound: {found.entries} entries, {found.reports} reports of {found.trials} "
        f"trials, {found.notes} notes, {format_count(found.retrainings, 'retraining')}; every "
        f"decision is the one that this version takes."
    )
