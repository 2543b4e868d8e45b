"""``rungwise show``, ``list``, ``export``, ``retrain``, ``delete``: what is done with studies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from rungwise.cli import summary
from rungwise.cli.console import grid, out, progress
from rungwise.cli.tune import AsJson, Function, Study, trainable_of
from rungwise.errors import InvalidArgumentError, LogInUseError, RungwiseError
from rungwise.storage.locking import FileLock
from rungwise.storage.schema import APPLICATION
from rungwise.storage.study_file import StudyFile, files_of
from rungwise.tuning import exports, functions
from rungwise.tuning.api import load

Top = Annotated[int, typer.Option(help="How many of the best.", min=1)]
TrialNumber = Annotated[int | None, typer.Option(help="One trial's story instead.", min=0)]
Folder = Annotated[Path, typer.Argument(help="Where to look.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")]
What = Annotated[str, typer.Option(help="reports (one a row) or trials.")]
Resource = Annotated[int | None, typer.Option(help="How far; the study's maximum if not.", min=1)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def show(study: Study, top: Top = 10, trial: TrialNumber = None, as_json: AsJson = False) -> None:
    """What a study has found so far: leaderboard, rungs, and why it stands where it stands.

    A study can be looked at while it runs.
    """
    result = load(study)
    if as_json:
        typer.echo(summary.as_line(summary.document_of(result, top=top)))
        return
    console = out()
    if trial is not None:
        if trial >= result.trials:
            rule = f"the study has the trials 0 to {result.trials - 1}"
            raise InvalidArgumentError("--trial", trial, rule)
        summary.print_trial(console, result, trial)
        return
    if result.trials:
        summary.print_leaderboard(console, result, top)
        summary.print_rungs(console, result)
    summary.print_summary(console, result)
    summary.print_failures(console, result)
    with StudyFile(study, mode="read") as file:
        for found in file.retrains():
            console.print(
                f"Retrained trial {found['trial']} to {found['resource']:g}: "
                f"{escape(result.metric)} = {found['value']:.6g} {_metrics(found['metrics'])}"
            )


def list_studies(folder: Folder = Path(), as_json: AsJson = False) -> None:
    """The studies in a folder, and how each stands."""
    if not folder.is_dir():
        raise InvalidArgumentError("folder", str(folder), "there must be such a folder")
    lines = [_line(path) for path in sorted(folder.iterdir()) if is_study(path)]
    if as_json:
        typer.echo(summary.as_line({"studies": lines}))
        return
    console = out()
    if not lines:
        console.print(f"There is no study in {escape(str(folder.absolute()))}.", soft_wrap=True)
        return
    shown = grid(console, "Studies")
    for name in ("study", "state", "trials", "reports", "best", "spent"):
        shown.add_column(name, justify="left" if name in ("study", "state") else "right")
    for line in lines:
        best = "-" if line["best"] is None else f"{line['metric']} = {line['best']:.6g}"
        counts = (str(line[name]) for name in ("trials", "reports"))
        spent = "" if line["spent"] is None else f"{line['spent']:g}"
        shown.add_row(escape(line["study"]), escape(line["state"]), *counts, escape(best), spent)
    console.print(shown)


def export(
    study: Study,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV (the default).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON array.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="As a Parquet file.")] = False,
    what: What = "reports",
    output: Output = None,
) -> None:
    """Write a study out as a table: a row a report, or a row a trial.

    Without --output, CSV and JSON go to the standard output and Parquet beside the study.
    """
    if as_csv + as_json + as_parquet > 1:
        rule = "choose one of --csv, --json and --parquet"
        raise InvalidArgumentError("format", "several", rule)
    chosen: Any = what
    rows = exports.rows_of(study, chosen)
    if as_parquet:
        path = study.with_suffix(".parquet") if output is None else output
        exports.to_parquet(rows, path)
        typer.echo(f"{len(rows)} rows in {path}", err=True)
        return
    text = exports.to_json(rows) if as_json else exports.to_csv(rows)
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        typer.echo(f"{len(rows)} rows in {output}", err=True)


def retrain(
    study: Study,
    train: Function = None,
    resource: Resource = None,
    trial: TrialNumber = None,
    as_json: AsJson = False,
) -> None:
    """Train the winner from scratch to the maximum (phase 2 of the paper)."""
    result = load(study)
    if train is not None:
        trainable = trainable_of(train)
    else:
        with StudyFile(study, mode="read") as file:
            trainable = functions.find(file.about.train, str(study))
    until = result.goal_of_retraining(resource)
    with progress("retraining") as tell:
        found = result.retrain(
            trainable,
            resource=resource,
            trial=trial,
            on_report=lambda reached, _: tell(int(reached), int(until)),
        )
    if as_json:
        typer.echo(summary.as_line(found.to_json()))
        return
    console = out()
    console.print(
        f"Trial {found.trial}, trained from scratch to {found.resource:g} in {found.seconds:.1f} s:"
        f" {escape(result.metric)} = {found.value:.6g} {_metrics(found.metrics)}"
    )
    if found.checkpoint is not None:
        console.print(f"checkpoint: {escape(str(found.checkpoint))}", soft_wrap=True)


def delete(study: Study, yes: Yes = False) -> None:
    """Delete a study with its checkpoints and outputs; it asks first."""
    if not is_study(study):
        raise InvalidArgumentError("study", str(study), "it must be a study file of rungwise")
    lock = FileLock(_beside(study, ".lock"))
    if lock.held():
        raise LogInUseError(str(study), lock.holder())
    files = files_of(study)
    also = f" and all that is in {files}" if files.exists() else ""
    if not yes:
        typer.confirm(f"Delete {study}{also}?", abort=True)
    for suffix in ("", "-wal", "-shm", ".lock"):
        _beside(study, suffix).unlink(missing_ok=True)
    shutil.rmtree(files, ignore_errors=True)
    typer.echo(f"Deleted {study}.")


def is_study(path: Path) -> bool:
    """Whether a file is a study of rungwise, from its header alone."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    return header[:6] == b"SQLite" and header[68:72] == APPLICATION.to_bytes(4, "big")


def _beside(study: Path, suffix: str) -> Path:
    return study.with_name(study.name + suffix)


def _line(path: Path) -> dict[str, Any]:
    line: dict[str, Any] = {"study": path.name, "metric": "", "trials": "", "reports": ""}
    line |= {"best": None, "spent": None}
    try:
        result = load(path)
    except RungwiseError as error:
        return {**line, "state": f"cannot be read: {error}"}
    running = FileLock(_beside(path, ".lock")).held()
    return {
        **line,
        "state": "running" if running else "ended" if result.ended else "to be resumed",
        "metric": result.metric,
        "trials": result.trials,
        "reports": result.reports,
        "best": result.engine.best_value,
        "spent": result.resource_spent,
    }


def _metrics(metrics: dict[str, float] | Any) -> str:
    return escape(", ".join(f"{name} = {value:.6g}" for name, value in metrics.items()))
