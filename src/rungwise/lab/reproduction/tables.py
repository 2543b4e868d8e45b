"""Sections as grids of text: headings and lines, for every output format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from rungwise.formatting import MISSING, format_percent, join_words
from rungwise.lab.reproduction import number_text
from rungwise.lab.reproduction.paper import LCBENCH
from rungwise.lab.reproduction.results import Row, Section

BETTER = "better in the end"
REGRET = "regret"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of text.

    Attributes:
        title: what it shows.
        head: the headings; the first column has names, the others figures.
        lines: the cells.
        notes: sentences under it.
        losses: where PASHA is not the best choice.
    """

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


def make_grid(section: Section) -> Grid:
    """The grid of a section: one line per method, the paper's figures (if any) to the right."""
    unit = number_text.choose_unit(section)
    with_paper = any(row.paper is not None for row in section.rows)
    head: tuple[str, ...] = (
        "approach",
        _final_heading(section),
        "runtime",
        "speed-up",
        "max resource",
        "resource spent",
        BETTER,
        REGRET,
    )
    if with_paper:
        head += tuple(
            f"paper: {name}" for name in ("accuracy (%)", "runtime", "speed-up", "max resource")
        )
    return Grid(
        title=f"{section.benchmark}, protocol {section.protocol}",
        head=head,
        lines=tuple(_line(section, row, unit, with_paper=with_paper) for row in section.rows),
        notes=section.notes,
        losses=section.losses,
    )


def _final_heading(section: Section) -> str:
    return f"{section.final_metric} (%)" if section.percent else section.final_metric


def _line(
    section: Section, row: Row, unit: tuple[float, str], *, with_paper: bool
) -> tuple[str, ...]:
    cells: tuple[str, ...] = (
        row.label,
        number_text.final(section, row.final),
        number_text.runtime(row.seconds, unit),
        number_text.speedup(row.speedup),
        number_text.spread(row.max_resource),
        number_text.spread(row.spent, 0),
        format_percent(row.better_share.mean),
        number_text.spread(row.regret, 2),
    )
    return cells + _paper_cells(row) if with_paper else cells


def _paper_cells(row: Row) -> tuple[str, ...]:
    found = row.paper
    if found is None:
        return (MISSING,) * 4
    hours = MISSING
    if found.hours is not None:
        hours = f"{found.hours.mean:.1f} h ± {found.hours.std:.1f} h"
    return (
        number_text.spread(found.accuracy, 2),
        hours,
        number_text.speedup(found.speedup),
        number_text.spread(found.max_resource),
    )


# -- LCBench: one line per data set, as in the paper --------------------------------------------


def lcbench_grid(sections: Sequence[Section]) -> Grid:
    """All data sets of LCBench under one protocol: one line each, as in the paper's table."""
    head = (
        "data set",
        "ASHA (%)",
        "PASHA (%)",
        "one epoch (%)",
        "PASHA speed-up",
        "PASHA: resource spent",
        "ASHA: resource spent",
        f"PASHA: {BETTER}",
        f"PASHA: {REGRET}",
        "paper: ASHA (%)",
        "paper: PASHA (%)",
        "paper: PASHA speed-up",
    )
    return Grid(
        title=f"LCBench, protocol {sections[0].protocol}",
        head=head,
        lines=tuple(_lcbench_line(section) for section in sections),
        notes=tuple(_lcbench_notes(sections)),
        losses=tuple(_lcbench_losses(sections)),
    )


def _lcbench_line(section: Section) -> tuple[str, ...]:
    asha, pasha, one = (_row(section, name) for name in ("asha", "pasha", "one-epoch"))
    papers = [row.paper for row in (asha, pasha)]
    accuracies = [
        MISSING if found is None else number_text.spread(found.accuracy, 2) for found in papers
    ]
    return (
        section.benchmark.removeprefix(LCBENCH),
        *(number_text.final(section, row.final) for row in (asha, pasha, one)),
        number_text.speedup(pasha.speedup),
        number_text.spread(pasha.spent, 0),
        number_text.spread(asha.spent, 0),
        format_percent(pasha.better_share.mean),
        number_text.spread(pasha.regret, 2),
        *accuracies,
        MISSING if papers[1] is None else number_text.speedup(papers[1].speedup),
    )


def _row(section: Section, method: str) -> Row:
    row = section.row(method)
    assert row is not None, "every method of this experiment fits every table"
    return row


_LCBENCH_MEANS = {
    "asha": "ASHA",
    "pasha": "PASHA",
    "one-epoch": "one epoch",
    "random": "one at random",
}


def _lcbench_notes(sections: Sequence[Section]) -> Iterable[str]:
    pairs = [(_row(section, "asha"), _row(section, "pasha")) for section in sections]
    faster = [pasha.speedup for _, pasha in pairs if pasha.speedup is not None]
    if faster:
        yield (
            f"PASHA's speed-up over {len(sections)} data sets: {min(faster):.1f}× to "
            f"{max(faster):.1f}×, {np.mean(faster):.2f}× on average."
        )
    for name, label in _LCBENCH_MEANS.items():
        rows = [_row(section, name) for section in sections]
        regrets = [row.regret.mean for row in rows if not np.isnan(row.regret.mean)]
        final = float(np.mean([row.final.mean for row in rows]))
        regret = f", regret {np.mean(regrets):.2f}" if regrets else ""
        yield (
            f"Means over the data sets, {label}: final value "
            f"{number_text.final_mean(sections[0], final)}, "
            f"{format_percent(float(np.mean([row.better_share.mean for row in rows])))} "
            f"{BETTER}{regret}, resource spent {np.mean([row.spent.mean for row in rows]):,.0f}."
        )
    beside = [
        (section.benchmark.removeprefix(LCBENCH), 100 * pasha.final.mean, pasha.paper)
        for section, (_, pasha) in zip(sections, pairs, strict=True)
        if pasha.paper is not None and section.percent and not section.part
    ]
    if beside:
        gaps = [accuracy - found.accuracy.mean for _, accuracy, found in beside]
        yield (
            f"PASHA's accuracy is {np.mean(gaps):+.2f} points from the paper's on average over the "
            f"{len(beside)} data sets that can be compared with it."
        )


def _lcbench_losses(sections: Sequence[Section]) -> Iterable[str]:
    """The losses of single data sets, counted: the same rules as in every other table."""
    certainty = number_text.describe_certainty(min(_row(one, "pasha").n for one in sections))
    names = {
        "PASHA takes longer than ASHA": [
            one for one in sections if (_row(one, "pasha").speedup or 1.0) < 1
        ],
        f"PASHA ends worse than ASHA {certainty}": [
            one for one in sections if any(rival.method == "asha" for rival in one.ahead)
        ],
        f"one epoch for all takes less time than PASHA and is not worse {certainty}": [
            one for one in sections if any(rival.method == "one-epoch" for rival in one.rivals)
        ],
    }
    for what, where in names.items():
        if where:
            listed = join_words([one.benchmark.removeprefix(LCBENCH) for one in where])
            yield f"On {len(where)} of {len(sections)} data sets {what}: {listed}."


def grids(sections: Sequence[Section]) -> list[tuple[Section, Grid]]:
    """A grid per section, but one for all of LCBench, each with the (first) section it shows."""
    drawn: list[tuple[Section, Grid]] = []
    for experiment, group in groupby(sections, key=lambda section: section.experiment):
        members = list(group)
        if experiment != "lcbench":
            drawn += [(section, make_grid(section)) for section in members]
            continue
        for protocol in dict.fromkeys(section.protocol for section in members):
            same = [section for section in members if section.protocol == protocol]
            drawn.append((same[0], lcbench_grid(same)))
    return drawn
