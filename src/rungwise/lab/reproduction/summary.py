"""The summary: one table, and all findings against PASHA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rungwise.formatting import MISSING, format_count
from rungwise.lab.reproduction import number_text
from rungwise.lab.reproduction.experiments import EXPERIMENTS
from rungwise.lab.reproduction.results import Reproduction, Section
from rungwise.lab.reproduction.tables import grids

RULE = (
    "By the same rule everywhere: a method takes less time if it takes at least 1 % less; standard "
    "errors are of the differences with the same seeds."
)
"""How it is decided whether something speaks against PASHA."""

AGAINST = f"Where PASHA is not the best choice. {RULE[:-1]}:"
"""The heading of the sentences of :func:`against`."""

_SHOWN = {"asha": "ASHA", "pasha": "PASHA", "one-epoch": "one epoch"}


def table(reproduction: Reproduction) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(headings, lines): PASHA, ASHA and one epoch for all on every benchmark."""
    main = [section for section in reproduction.sections if section.experiment == "table1"]
    unit = " (%)" if all(section.percent for section in main) else ""
    finals = (f"{name}{unit}" for name in _SHOWN.values())
    return ("benchmark", "protocol", *finals, "PASHA's speed-up"), [_line(one) for one in main]


def against(reproduction: Reproduction) -> list[str]:
    """All findings against PASHA, one sentence each.

    Those of the main experiments are in full; those of the others are counted.
    """
    return [
        *_list_losses(reproduction, "table1"),
        *list_losses_on_lcbench(reproduction),
        *count_losses(reproduction),
    ]


def list_losses_on_lcbench(reproduction: Reproduction) -> list[str]:
    """Those on the data sets of LCBench, which are counted there already."""
    return _list_losses(reproduction, "lcbench")


def count_losses(reproduction: Reproduction) -> list[str]:
    """Those of the other experiments, counted."""
    others = [name for name in EXPERIMENTS if name not in ("table1", "lcbench")]
    counts = (_count_rivals(name, reproduction.sections) for name in others)
    return [*filter(None, counts)]


def _list_losses(reproduction: Reproduction, experiment: str) -> list[str]:
    return [
        f"{grid.title}: {loss}"
        for section, grid in grids(reproduction.sections)
        if section.experiment == experiment
        for loss in grid.losses
    ]


def _line(section: Section) -> tuple[str, ...]:
    rows = [section.row(name) for name in _SHOWN]
    finals = [MISSING if row is None else number_text.final(section, row.final) for row in rows]
    faster = MISSING if rows[1] is None else number_text.speedup(rows[1].speedup)
    return section.benchmark, section.protocol, *finals, faster


def _count_rivals(name: str, sections: Sequence[Section]) -> str:
    """How often each method of an experiment was as good as PASHA in less time."""
    members = [section for section in sections if section.experiment == name]
    names = Counter(rival.method for section in members for rival in section.rivals)
    if not names:
        return ""
    runs = min(row.n for section in members for row in section.rows)
    labels = {row.method: row.label for section in members for row in section.rows}
    listed = ", ".join(f"{labels[method]} ({count})" for method, count in names.most_common())
    return (
        f"{EXPERIMENTS[name].title}: in less time than PASHA and not worse "
        f"{number_text.describe_certainty(runs)}, counted over "
        f"{format_count(len(members), 'table')} (benchmarks × protocols): {listed}."
    )
