"""A data card as a page, and a plot of a table's curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rungwise import plots
from rungwise.benchmarks import Benchmark, Card
from rungwise.plots import theme

CURVES = 60
POINTS = 40


def picture(benchmark: Benchmark, path: Path) -> None:
    """Sixty curves drawn at random and the three best, at points that are even in the logarithm."""
    values = benchmark.values(0)
    shown = np.unique(np.geomspace(1, benchmark.resources, POINTS).round().astype(int))
    last = np.where(np.isnan(values[:, -1]), -1.0, values[:, -1])
    some = np.random.default_rng(0).choice(benchmark.rows, CURVES, replace=False)
    best = np.argsort(-last, kind="stable")[:3]
    colour, width = "rgba(120, 130, 150, 0.45)", 1.0
    traces: list[Any] = []
    for row in [*some, *best]:
        if len(traces) >= CURVES:
            colour, width = theme.colour(len(traces) - CURVES), 2.5
        traces.append(
            theme.graph_objects().Scatter(
                x=shown.tolist(),
                y=[None if np.isnan(v) else round(float(v), 4) for v in values[row, shown - 1]],
                mode="lines",
                line={"color": colour, "width": width},
                showlegend=False,
            )
        )
    figure = theme.figure(
        traces,
        title=benchmark.card.title,
        x=_plural(benchmark.card.resource),
        y=benchmark.card.metric,
        note=f"{CURVES} of {benchmark.rows} curves, drawn at random, and the three best",
    )
    figure.update_xaxes(type="log")
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
