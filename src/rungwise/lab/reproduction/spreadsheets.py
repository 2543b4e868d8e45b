"""CSV in long form: one line per run, and one line per summary. Figures are not rounded."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from rungwise.lab.reproduction.methods import METHODS
from rungwise.lab.reproduction.results import Figure, Outcome, Reproduction, Row, Section

_FIGURES = ("final", "seconds", "max_resource", "spent", "better_share", "regret")

SUMMARY_HEAD = (
    *("experiment", "benchmark", "protocol", "method", "label", "n", "final_metric", "final_goal"),
    *(f"{name}_{part}" for name in _FIGURES for part in ("mean", "std")),
    *("speedup", "untrained", "paper_table", "paper_accuracy", "paper_accuracy_std"),
    *("paper_hours", "paper_hours_std", "paper_speedup"),
    *("paper_max_resource", "paper_max_resource_std"),
)
"""The columns of the summary; the paper's accuracies are in percent, as it prints them."""


def runs_csv(reproduction: Reproduction) -> str:
    """One line per simulated study."""
    head = [field.name for field in fields(Outcome) if field.name != "leads"]  # not a single cell
    lines = (
        {name: getattr(one, name) for name in head} | {"label": METHODS[one.method].label}
        for one in reproduction.outcomes
    )
    return _csv([*head, "label"], lines)


def summary_csv(reproduction: Reproduction) -> str:
    """One line per method of a section."""
    lines = (_summary(section, row) for section in reproduction.sections for row in section.rows)
    return _csv(SUMMARY_HEAD, lines)


def _summary(section: Section, row: Row) -> dict[str, Any]:
    line: dict[str, Any] = {
        "experiment": section.experiment,
        "benchmark": section.benchmark,
        "protocol": section.protocol,
        "method": row.method,
        "label": row.label,
        "n": row.n,
        "final_metric": section.final_metric,
        "final_goal": section.final_goal,
        "speedup": row.speedup,
        "untrained": row.untrained,
    }
    for name in _FIGURES:
        line |= _parts(name, getattr(row, name))
    if row.paper is not None:
        line |= {"paper_table": row.paper.number, "paper_speedup": row.paper.speedup}
        for name in ("accuracy", "hours", "max_resource"):
            found = getattr(row.paper, name)
            if found is not None:
                line |= {f"paper_{name}": found.mean, f"paper_{name}_std": found.std}
    return line


def _parts(name: str, figure: Figure) -> dict[str, float]:
    return {f"{name}_mean": figure.mean, f"{name}_std": figure.std}


def _csv(head: Sequence[str], lines: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, head, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({name: _cell(value) for name, value in line.items()})
    return text.getvalue()


def _cell(value: Any) -> Any:
    """An empty cell for a missing value or NaN."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
