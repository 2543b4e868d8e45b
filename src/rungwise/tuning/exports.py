"""A study as flat rows: one per trial, or one per report."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rungwise.core.codec import jsonable
from rungwise.core.decisions import Decision, Job
from rungwise.core.events import Reported
from rungwise.errors import MissingExtraError
from rungwise.storage.base import Entry
from rungwise.storage.new_reports import NewReports
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.folding import fold
from rungwise.tuning.opening import open_to_read
from rungwise.validation import one_of
from rungwise.views import StudyView

What = Literal["reports", "trials"]
Row = dict[str, Any]

REPORT_COLUMNS = ("trial", "job", "resource", "seconds", "decision")
"""What every report has besides metrics and parameters; a metric of such a name is prefixed."""


def list_rows(study: str | os.PathLike[str], what: What = "reports") -> list[Row]:
    """The rows of a study file.

    Args:
        study: the file.
        what: ``"reports"``: one row per report, in order, with the other metrics that it gave (a
            metric with the name of another column is in ``metric.NAME``); ``"trials"``: one row
            per trial, best first.
    """
    one_of("what", what, ("reports", "trials"))
    with open_to_read(study) as file:
        if what == "reports":
            return _reports(file)
        engine, _ = fold(file)
        return list_trials(StudyView.of(engine, file.about, file.path, running=False))


def list_trials(view: StudyView) -> list[Row]:
    """One row per trial, best first."""
    return [
        {
            "rank": row.rank,
            "trial": row.trial,
            "value": row.value,
            "resource": row.resource,
            "reached": row.reached,
            "state": row.state,
            "note": row.note,
            "problem": row.problem,
            **_config(row.config),
        }
        for row in view.leaderboard()
    ]


def _reports(file: StudyFile) -> list[Row]:
    """One row per report, from one pass over the log: another process may be appending to it."""
    reports, found = NewReports(), list[tuple[Reported, Decision, Job]]()

    def take(entry: Entry) -> None:
        report = reports.take(entry)
        if report is not None:
            found.append(report)

    fold(file, take)
    # Version 0.1.0 kept the other metrics of a report beside it. Read last, since they came in one
    # transaction: every report that was seen has its metrics by now.
    extras = file.extras()
    metric = file.about.metric
    return [
        {
            "trial": job.trial,
            "job": event.job,
            "resource": event.resource,
            _metric(metric): event.value,
            "seconds": event.at,
            "decision": type(decision).__name__,
            **{
                _metric(name): value
                for name, value in (
                    event.metrics or extras.get((event.job, event.resource), {}).items()
                )
            },
            **_config(job.config),
        }
        for event, decision, job in found
    ]


def _metric(name: str) -> str:
    """The column of a metric: its name, unless that is or may be the name of another column."""
    taken = name in REPORT_COLUMNS or name.startswith(("config.", "metric."))
    return f"metric.{name}" if taken else name


def _config(config: Mapping[str, Any]) -> Row:
    return {f"config.{name}": value for name, value in config.items()}


def list_columns(rows: Iterable[Row]) -> list[str]:
    """Every column that any row has, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What text begins with that spreadsheets run as a formula."""


def to_csv(rows: list[Row], *, raw: bool = False) -> str:
    """Rows as CSV, with a header.

    Args:
        rows: the rows.
        raw: leave text as it is. Otherwise what a spreadsheet would run as a formula is given an
            apostrophe in front, and control characters are written as escapes.
    """
    columns = list_columns(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    show = _leave if raw else _disarm
    writer.writerow([show(name) for name in columns])
    writer.writerows([show(row.get(name, "")) for name in columns] for row in rows)
    return text.getvalue()


def _leave(value: Any) -> Any:
    return value


def _disarm(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    clean = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in value)
    return f"'{clean}" if value.startswith(FORMULAS) else clean


def to_json(rows: list[Row]) -> str:
    """Rows as a JSON array, one row per line; what is not finite is null."""
    lines = ",\n".join(json.dumps(jsonable(row), allow_nan=False) for row in rows)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def to_parquet(rows: list[Row], path: str | os.PathLike[str]) -> None:
    """Rows into a Parquet file."""
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError("export to Parquet", "parquet") from None
    names = list_columns(rows)
    table = arrow.table({name: _column([row.get(name) for row in rows]) for name in names})
    parquet.write_table(table, path)


def _column(values: list[Any]) -> list[Any]:
    """A column of one type: choices of several types become text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) <= 1:
        return [float(v) if float in kinds and v is not None else v for v in values]
    return [None if value is None else str(value) for value in values]
