"""A data card as a page, and a figure of a table's curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rungwise import plots
from rungwise.benchmarks import Benchmark, Card
from rungwise.plots.layers import log_axis

CURVES, BEST = 60, 3
POINTS = 40


def picture(benchmark: Benchmark, path: Path) -> None:
    """Sixty curves drawn at random and the three best, on a logarithm, as rungs are."""
    values = benchmark.values(0)
    last = np.where(np.isnan(values[:, -1]), -1.0, values[:, -1])
    some = np.random.default_rng(0).choice(benchmark.rows, CURVES, replace=False)
    best = np.argsort(-last, kind="stable")[:BEST]
    rows = [int(row) for row in dict.fromkeys([*best, *some])]
    figure = plots.learning_curves(benchmark, rows=rows, top=BEST)
    figure = figure.with_titles(benchmark.card.title, x=_plural(benchmark.card.resource))
    note = f"{CURVES} of {benchmark.rows} curves, drawn at random, and the three best"
    figure.spec["title"]["subtitle"] = note
    figure.spec["encoding"]["x"].update(log_axis(1, benchmark.resources))
    # A page needs no more points than can be seen on a logarithm.
    shown = np.unique(np.geomspace(1, benchmark.resources, POINTS).round().astype(int))
    for line in (row for layer in figure.spec["layer"] for row in layer["data"]["values"]):
        if isinstance(line["x"], list):
            found = values[line["number"], shown - 1].tolist()
            line["x"] = shown.tolist()
            line["y"] = [None if np.isnan(value) else round(value, 4) for value in found]
    plots.export(figure, path)


def page(card: Card) -> str:
    """The data card in Markdown."""
    lines = [
        f"# {card.name}: {card.title}",
        "",
        card.description,
        "",
        f"![learning curves]({card.name}.svg)",
        "",
        "| | |",
        "|---|---|",
        f"| size | {_size(card)} |",
        f"| curves | {card.metric}, to be {'maximised' if card.goal == 'max' else 'minimised'} |",
        f"| final | {card.final_metric} |",
        f"| seconds | {card.unit_seconds} |",
        *[f"| {key} | {_text(value)} |" for key, value in sorted(card.details.items())],
        f"| recorded | {card.created}, {card.source} |",
        f"| licence | {card.licence} |",
        f"| SHA-256 of the file | `{card.sha256}` |",
        "",
        "## The space",
        "",
        *_space(card),
        "",
        "## What the data is like",
        "",
        "Diverged runs count as the worst; the figures are of the first seed.",
        "",
        *[f"- {key}: {_text(value)}" for key, value in card.checks.items()],
        "",
        f'Load it with `rungwise.benchmarks.load("{card.name}")`.',
        "",
        "Written by `recording/assemble.py`.",
        "",
    ]
    return "\n".join(lines)


def _size(card: Card) -> str:
    seeds = len(card.seeds)
    return (
        f"{card.rows:,} configurations × {card.resources:,} {_plural(card.resource)} × "
        f"{seeds} {'seeds' if seeds > 1 else 'seed'}"
    )


def _space(card: Card) -> list[str]:
    space = card.search_space()
    if space is None:
        return []
    return [f"- {parameter.name}: `{parameter.domain}`" for parameter in space.parameters]


def _plural(unit: str) -> str:
    return f"{unit}s" if " of " not in unit else unit.replace(" of ", "s of ", 1)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
