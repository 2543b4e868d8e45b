"""``rungwise retrain``: train the best configuration in full."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from rungwise.cli import summary
from rungwise.cli.arguments import Function, ResultAsJson, Study, Trust
from rungwise.cli.console import out, progress
from rungwise.cli.options import build_callbacks, name_flag, with_options
from rungwise.cli.retrained import print_retrained
from rungwise.cli.summary import line
from rungwise.cli.tune import interruptible, load_trainable
from rungwise.options import list_options
from rungwise.options.backend_options import SHORT_FORMS, choose_backend
from rungwise.options.build import name_arguments
from rungwise.options.study_options import OutputOptions, RunOptions
from rungwise.storage.study_file import StudyFile, shown
from rungwise.tuning import function_reference
from rungwise.tuning.loading import load
from rungwise.tuning.trust import check_trust

Retrained = Annotated[
    int | None, typer.Option(help="Number of the trial to retrain; the best one by default.", min=0)
]
Resource = Annotated[
    int | None, typer.Option(help="How far to train; the study's maximum by default.", min=1)
]
EarlyStop = Annotated[
    int | None,
    typer.Option(help="End it once so much training has brought no better value.", min=1),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Start from scratch, even if an earlier retraining was interrupted, or the study "
        "itself has trained the trial as far.",
    ),
]

_WHERE = (
    *(each for each in list_options(RunOptions) if each.name == "backend"),
    *(each for each in SHORT_FORMS if each.name != "workers"),  # there is one job
    *(each for each in list_options(OutputOptions) if each.name == "track"),
)


@with_options(_WHERE)
def retrain(
    study: Study,
    given: dict[str, Any],
    train: Function = None,
    resource: Resource = None,
    trial: Retrained = None,
    early_stop: EarlyStop = None,
    fresh: Fresh = False,
    trust: Trust = False,
    as_json: ResultAsJson = False,
) -> None:
    """Train the best configuration from scratch to the maximum (phase 2 of the paper).

    A retraining that was interrupted is resumed; what the study itself has trained as far is not
    trained again. The last checkpoint is kept, and that of the best value. It runs on one worker of
    the study's backend, unless the options choose another.

    This runs the function or command that the file names: for a file that you did not make on this
    machine it needs --trust, or --train.
    """
    result = load(study)
    with StudyFile(study, mode="read") as file:
        about = file.about
    own = {"train": train is None, "backend": "backend" not in given}
    check_trust(about, result.path, **own, trust=trust)
    callbacks, backend = build_callbacks(given), None
    if given.keys() - {"track"}:
        with name_arguments(name_flag):
            backend = choose_backend(given.get("backend"), given, result.backend)
    if train is not None:
        trainable = load_trainable(train)
    else:
        trainable = function_reference.find(about, study.resolve())
    until = result.find_retraining_goal(resource)
    with interruptible(), progress("retraining") as advance:
        found = result.retrain(
            trainable,
            resource=resource,
            trial=trial,
            early_stop=early_stop,
            fresh=fresh,
            backend=backend,
            on_report=lambda reached, _: advance(int(reached), int(until)),
            callbacks=callbacks,
        )
    if as_json:
        typer.echo(summary.as_line(found.to_json()))
        return
    console = out()
    print_retrained(console, result, found)
    if found.from_trial:
        name = line(shlex.quote(shown(result.path)))
        more = f" --trial {found.trial} --resource {until}"
        early = "" if early_stop is None else f" --early-stop {early_stop}"
        console.print(
            f"Nothing was trained now. From scratch: rungwise retrain {name}{more}{early} --fresh",
            soft_wrap=True,
            emoji=False,
        )
