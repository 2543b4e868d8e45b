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
from rungwise.storage.opening import is_study
from rungwise.tuning.labels import read_labels_of
from rungwise.tuning.opening import read_view

Folder = Annotated[Path, Argument("The folder with the studies.")]


def list_studies(folder: Folder = Path(), as_json: Annotated[bool, RESULT_AS_JSON] = False) -> None:
    """List the studies in a folder, with the state of each."""
    if not folder.is_dir():
        raise InvalidArgumentError("folder", str(folder), "there is no such folder")
    found = [_describe(path) for path in sorted(folder.iterdir()) if is_study(path)]
    if as_json:
        write_line(summary.as_line({"studies": found}))
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
        limit = "" if row["limit"] is None else f" of {row['limit']}"
        counts = (f"{row['trials']}{limit}", str(row["reports"]))
        spent = "" if row["spent"] is None else f"{row['spent']:g}"
        words = "; ".join(each for each in (", ".join(row["tags"]), row["note"]) if each)
        last = (line(words),) if labelled else ()
        shown.add_row(line(row["study"]), line(row["state"]), *counts, line(best), spent, *last)
    console.print(shown)


def _describe(path: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"study": path.name, "metric": "", "trials": "", "reports": ""}
    row |= {"limit": None, "best": None, "spent": None, "tags": [], "note": ""}
    try:
        view = read_view(path)
        tags, note = read_labels_of(path)
    except RungwiseError as error:
        return {**row, "state": f"cannot be read: {error}"}
    return {
        **row,
        "state": view.state,
        "metric": view.metric,
        "trials": view.trials,
        "limit": view.limits.trials,
        "reports": view.reports,
        "best": None if view.best is None else view.best.value,
        "spent": view.resource_spent,
        "tags": list(tags),
        "note": note,
    }
