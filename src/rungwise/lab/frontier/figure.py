"""The figure: regret against resource, ASHA's own curve as the line to beat."""

from __future__ import annotations

import math
from typing import Any

from rungwise.lab.frontier.methods import METHODS
from rungwise.lab.frontier.results import Frontier
from rungwise.plots import theme
from rungwise.plots.figure import Figure, make_figure
from rungwise.plots.layers import DOT, layer, legend, log_axis, tip


def draw(frontier: Frontier) -> Figure:
    """All methods over all groups; a point below ASHA's line beats ASHA with fewer trials."""
    scores = [one for one in frontier.scores if one.method != "asha"]
    names = [f"{n}  {METHODS[one.method].label}" for n, one in enumerate(scores, start=1)]
    rows: list[dict[str, Any]] = []
    for number, (one, name) in enumerate(zip(scores, names, strict=True), start=1):
        error = 0.0 if math.isnan(one.error) else one.error
        rows.append(
            {
                "label": name,
                "number": str(number),
                "x": 1 / one.saving,
                "y": one.regret,
                "bottom": one.regret - error,
                "top": one.regret + error,
                "found": f"{one.gap:+.3f} ± {error:.3f}",
            }
        )
    line = [{"x": share, "y": regret} for share, regret in frontier.line]
    sizes = [
        {"x": share, "y": regret, "text": str(size)}
        for size, (share, regret) in zip(frontier.sizes, frontier.line, strict=True)
    ]
    costs = [row["x"] for row in (*rows, *line)]
    low, high = min(costs) / 1.2, max(costs) * 1.2
    colour = legend("color", names, [theme.colour(n) for n in range(len(names))])
    shape = legend("shape", names, [theme.symbol(n) for n in range(len(names))])
    tips = [tip("label", "method"), tip("found", "gap")]
    beside = {"type": "text", "align": "left", "dx": 8, "dy": -6, "fontSize": 11}
    size = {"type": "text", "dy": 14, "fontSize": 10, "color": theme.SOFT_INK}
    layers: list[dict[str, Any]] = [
        layer(line, {"type": "line", "color": theme.FAINT, "strokeWidth": 3}),
        layer(sizes, {**DOT, "color": theme.FAINT, "size": 30}),
        layer(sizes, size, text={"field": "text"}),
        layer(rows, {"type": "rule"}, y={"field": "bottom"}, y2={"field": "top"}, **colour),
        layer(rows, DOT, **colour, **shape, size={"value": 80}, tooltip=tips),
        layer(rows, beside, text={"field": "number"}),
    ]
    return make_figure(
        layers,
        title="Regret against resource",
        note="grey: ASHA with the number of trials beside each dot, the line to beat; "
        "bars: ± 1 standard error of the difference to it",
        x={
            "title": f"resource, as a share of that of ASHA with {frontier.sizes[-1]} trials",
            **log_axis(low, high),
        },
        y={"title": "mean regret over groups", "scale": {"padding": 20}},
        height=max(theme.HEIGHT, 140 + 19 * len(names)),
    )
