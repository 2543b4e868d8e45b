"""``rungwise list``, ``export``, ``delete``: what is done with studies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli import summary
from rungwise.cli.arguments import ResultAsJson, Study
from rungwise.cli.console import grid, out
from rungwise.cli.summary import line
from rungwise.errors import (
    InvalidArgumentError,
    LogInUseError,
    LogUnavailableError,
    RungwiseError,
    Words,
)
from rungwise.formatting import format_value
from rungwise.locking import FileLock
from rungwise.storage.opening import is_study
from rungwise.storage.study_file import study_folder
from rungwise.tuning import exports
from rungwise.tuning.archive import write_archive
from rungwise.tuning.labels import read_labels_of
from rungwise.tuning.opening import must_be_file
from rungwise.tuning.summaries import read_summary_view

Folder = Annotated[Path, typer.Argument(help="The folder with the studies.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")]
What = Annotated[str, typer.Option(help="What the rows are: reports or trials.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")]

RESUMABLE = "to be resumed"
"""The state, for programs, of a study that has not ended and that no process works on."""

Archive = Annotated[
    bool, typer.Option("--archive", help="Write the study itself, complete, as one tar file.")
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Leave text in CSV as it is, also what a spreadsheet would take for a formula.",
    ),
]

SUFFIXES = ("", "-wal", "-shm", ".lock")
"""What the files of a study have at the end of their names; the first is the study itself."""


def list_studies(folder: Folder = Path(), as_json: ResultAsJson = False) -> None:
    """List the studies in a folder, with the state of each."""
    if not folder.is_dir():
        raise InvalidArgumentError("folder", str(folder), "there is no such folder")
    found = [_describe(path) for path in sorted(folder.iterdir()) if is_study(path)]
    if as_json:
        rows = [{name: row[name] for name in row if name != "rest"} for row in found]
        typer.echo(summary.as_line({"studies": rows}))
        return
    console = out()
    if not found:
        console.print(f"There is no study in {line(str(folder.absolute()))}.", soft_wrap=True)
        return
    shown = grid(console, "Studies")
    labelled = any(row["tags"] or row["note"] for row in found)
    for name in ("study", "state", "trials", "reports", "best", "spent"):
        shown.add_column(name, justify="left" if name in ("study", "state") else "right")
    if labelled:
        shown.add_column("tags and note")
    for row in found:
        best = "-" if row["best"] is None else f"{row['metric']} = {format_value(row['best'], 6)}"
        counts = (str(row[name]) for name in ("trials", "reports"))
        spent = "" if row["spent"] is None else f"{row['spent']:g}"
        state = f"interrupted{row['rest']}" if row["state"] == RESUMABLE else row["state"]
        words = "; ".join(each for each in (", ".join(row["tags"]), row["note"]) if each)
        last = (line(words),) if labelled else ()
        shown.add_row(line(row["study"]), line(state), *counts, line(best), spent, *last)
    console.print(shown)


def export(
    study: Study,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV (the default).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write a JSON array.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="Write a Parquet file.")] = False,
    as_archive: Archive = False,
    what: What = "reports",
    raw: Raw = False,
    output: Output = None,
) -> None:
    """Export a study as a table, with one row per report or per trial.

    Without --output, CSV and JSON are printed, and Parquet is written next to the study file.

    With --archive, the study itself with its checkpoints and outputs becomes one tar file, which
    can be moved; tar -xf unpacks it. Also while it runs.
    """
    formats = {"csv": as_csv, "json": as_json, "parquet": as_parquet, "archive": as_archive}
    asked = [f"--{name}" for name, given in formats.items() if given]
    if len(asked) > 1:
        rule = "choose one of --csv, --json, --parquet and --archive"
        raise InvalidArgumentError("format", Words(" and ".join(asked)), rule)
    if output is None and (as_parquet or as_archive):
        output = study.with_suffix(".parquet" if as_parquet else ".tar")
    if output is not None:
        _check_output(study, output)
    if as_archive:
        assert output is not None
        must_be_file("study", study)
        typer.echo(f"{write_archive(study, output)} files in {output}", err=True)
        return
    chosen: Any = what
    rows = exports.list_rows(study, chosen)
    if as_parquet:
        assert output is not None
        exports.to_parquet(rows, output)
        typer.echo(f"{len(rows)} rows in {output}", err=True)
        return
    text = exports.to_json(rows) if as_json else exports.to_csv(rows, raw=raw)
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8", errors="backslashreplace")
        typer.echo(f"{len(rows)} rows in {output}", err=True)


def delete(study: Study, yes: Yes = False) -> None:
    """Delete a study with its checkpoints and outputs, after a confirmation."""
    must_be_file("study", study)
    if not is_study(study):
        raise InvalidArgumentError("study", str(study), "it must be a study file of rungwise")
    if study.is_symlink():
        rule = f"it is a link: delete the study itself, {study.resolve()}"
        raise InvalidArgumentError("study", str(study), rule)
    study = study.resolve()
    lock = FileLock(_beside(study, ".lock"))
    if lock.held():
        raise LogInUseError(str(study), lock.holder())
    files = study_folder(study)
    also = f" and everything in {files}" if files.exists() else ""
    if not yes:
        typer.confirm(f"Delete {study}{also}?", abort=True)
    _delete(study, lock)
    typer.echo(f"Deleted {study}.")


def _delete(study: Path, lock: FileLock) -> None:
    """Delete a study under its lock, so that no tuner starts to write to it meanwhile."""
    try:
        taken = lock.take()
    except OSError as error:
        raise LogUnavailableError(str(study), str(error)) from error
    if not taken:
        raise LogInUseError(str(study), lock.holder())
    try:
        for suffix in SUFFIXES[:-1]:
            _beside(study, suffix).unlink(missing_ok=True)
        shutil.rmtree(study_folder(study), ignore_errors=True)
        # Last, and while it is held: removed after its release, it might be another's by then.
        _beside(study, ".lock").unlink(missing_ok=True)
    finally:
        lock.release()


def _check_output(study: Path, output: Path) -> None:
    """A table must not overwrite the study, nor what belongs to it."""
    names = (study, study.resolve())  # of a link too, since it may have files of its own
    own = {_beside(name, suffix).resolve() for name in names for suffix in SUFFIXES}
    own |= {study_folder(name).resolve() for name in names}
    target = output.resolve()
    if not own.isdisjoint((target, *target.parents)):
        raise InvalidArgumentError("--output", str(output), "it belongs to the study itself")
    if not target.parent.is_dir():
        rule = f"the folder {output.parent} does not exist: create it first"
        raise InvalidArgumentError("--output", str(output), rule)


def _beside(study: Path, suffix: str) -> Path:
    return study.with_name(study.name + suffix)


def _describe(path: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"study": path.name, "metric": "", "trials": "", "reports": ""}
    row |= {"best": None, "spent": None, "tags": [], "note": ""}
    try:
        view = read_summary_view(path)
        tags, note = read_labels_of(path)
    except RungwiseError as error:
        return {**row, "state": f"cannot be read: {error}"}
    running = FileLock(_beside(path, ".lock")).held()
    return {
        **row,
        "state": "running" if running else "ended" if view.ended else RESUMABLE,
        "rest": view.rest,
        "metric": view.metric,
        "trials": view.trials,
        "reports": view.reports,
        "best": None if view.best is None else view.best.value,
        "spent": view.resource_spent,
        "tags": list(tags),
        "note": note,
    }
