"""``rungwise list``: the studies in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from rungwise.cli import summary
from rungwise.cli.console import grid, out, write_line
from rungwise.cli.parameters import RESULT_AS_JSON, Argument
from rungwise.cli.summary import line
from rungwise.errors import InvalidArgumentError, RungwiseError
from rungwise.formatting import format_value
from rungwise.locking import FileLock
from rungwise.storage.opening import is_study
from rungwise.tuning.labels import read_labels_of
from rungwise.tuning.opening import read_view

Folder = Annotated[Path, Argument("The folder with the studies.")]

RESUMABLE = "to be resumed"
"""The state, for programs, of a study that has not ended and that no process works on."""


def list_studies(folder: Folder = Path(), as_json: Annotated[bool, RESULT_AS_JSON] = False) -> None:
    """List the studies in a folder, with the state of each."""
    if not folder.is_dir():
        raise InvalidArgumentError("folder", str(folder), "there is no such folder")
    found = [_describe(path) for path in sorted(folder.iterdir()) if is_study(path)]
    if as_json:
        rows = [{name: row[name] for name in row if name != "rest"} for row in found]
        write_line(summary.as_line({"studies": rows}))
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


def _describe(path: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"study": path.name, "metric": "", "trials": "", "reports": ""}
    row |= {"best": None, "spent": None, "tags": [], "note": ""}
    try:
        view = read_view(path)
        tags, note = read_labels_of(path)
    except RungwiseError as error:
        return {**row, "state": f"cannot be read: {error}"}
    running = FileLock(path.with_name(path.name + ".lock")).held()
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
