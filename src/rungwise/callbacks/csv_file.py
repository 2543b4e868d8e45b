"""Reports as rows of a CSV file, as they come."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TextIO

from rungwise.callbacks.base import Callback
from rungwise.callbacks.events import ReportEvent, StudyBegan, StudyEnded
from rungwise.errors import InvalidArgumentError

COLUMNS = (
    *("study", "phase", "trial", "resource", "metric", "value"),
    *("decision", "best", "seconds", "metrics", "config"),
)
"""The same for every study, so that one file can hold several."""

Key = tuple[str, str, str]


class CSV(Callback):
    """Appends a row for every report to a CSV file.

    The columns are study (its key), phase, trial, resource, metric (its name), value, decision,
    best, seconds, and as JSON the other metrics and the configuration. A report has one row,
    however often the study is resumed. Several studies may share a file, one after the other.

    Args:
        file: the file; made if it is not there.

    Example:
        >>> CSV("reports.csv")
        CSV('reports.csv')
    """

    paths: ClassVar[tuple[str, ...]] = ("file",)
    slow: ClassVar[bool] = True  # a disk may be far away

    def __init__(self, file: str | os.PathLike[str] = "reports.csv") -> None:
        self._path = Path(str(file))
        self._held: set[Key] = set()
        self._study: StudyBegan | None = None
        self._stream: TextIO | None = None
        self._rows: Any = None

    def __repr__(self) -> str:
        return f"CSV({str(self._path)!r})"

    def check(self) -> None:
        """Refuse a file of another kind, or a place that cannot be written to."""
        if not self._path.absolute().parent.is_dir():
            rule = f"the folder {self._path.absolute().parent} does not exist: create it first"
            raise InvalidArgumentError("file of CSV", str(self._path), rule)
        if self._path.is_dir():
            raise InvalidArgumentError("file of CSV", str(self._path), "it is a folder")
        if self._path.exists() and self._path.stat().st_size:
            with self._path.open(encoding="utf-8", errors="replace", newline="") as stream:
                header = stream.readline()
            # A header may have been cut off; such a file has no rows yet.
            if header.rstrip("\r\n").split(",") != list(COLUMNS) and header.endswith("\n"):
                rule = "it is a file of another kind, and would be damaged: choose another name"
                raise InvalidArgumentError("file of CSV", str(self._path), rule)

    def begin(self, study: StudyBegan) -> None:
        self.check()
        self._study = study
        self._close()
        self._held = self._read_keys(study)
        self._stream = self._path.open("a", encoding="utf-8", newline="")
        self._rows = csv.writer(self._stream, lineterminator="\n")
        if not self._stream.tell():
            self._rows.writerow(COLUMNS)

    def reported(self, report: ReportEvent) -> None:
        self._write(report)

    def fill(self, reports: Iterable[ReportEvent]) -> None:
        for report in reports:
            self._write(report)

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def ended(self, result: StudyEnded) -> None:  # noqa: ARG002 - all that is needed is in it
        self._close()

    def _write(self, report: ReportEvent) -> None:
        assert self._study is not None
        study = self._study
        key = (study.key, str(report.trial), f"{report.resource!r}")
        if key in self._held:
            return
        self._held.add(key)
        row: Mapping[str, Any] = {
            "study": study.key,
            "phase": study.phase,
            "trial": report.trial,
            "resource": key[-1],
            "metric": study.metric,
            "value": repr(report.value),
            "decision": report.decision,
            "best": "" if report.best is None else repr(report.best),
            "seconds": f"{report.at:.3f}",
            "metrics": json.dumps(dict(report.metrics)),
            "config": json.dumps(dict(report.config), default=str, ensure_ascii=False),
        }
        self._rows.writerow([row[name] for name in COLUMNS])

    def _read_keys(self, study: StudyBegan) -> set[Key]:
        """The reports of the study that are in the file; a line that was cut off is removed."""
        if not self._path.exists():
            return set()
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self._path.open("r+b") as stream:
                stream.truncate(len(whole))
        rows = csv.DictReader(io.StringIO(whole.decode("utf-8", "replace"), newline=""))
        return {
            (row["study"], row["trial"], row["resource"])
            for row in rows
            if row.get("study") == study.key
        }

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
