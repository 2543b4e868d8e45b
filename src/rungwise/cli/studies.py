"""``rungwise export`` and ``delete``: what is done with studies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli.arguments import Study
from rungwise.errors import (
    InvalidArgumentError,
    LogInUseError,
    LogUnavailableError,
    Words,
)
from rungwise.locking import FileLock
from rungwise.storage.opening import is_study
from rungwise.storage.study_file import study_folder
from rungwise.tuning import exports
from rungwise.tuning.archive import write_archive
from rungwise.tuning.opening import must_be_file

Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")]
What = Annotated[str, typer.Option(help="What the rows are: reports or trials.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")]

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
