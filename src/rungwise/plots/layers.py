"""Parts of a Vega-Lite specification: layers, legends, tooltips, logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

DOT: dict[str, Any] = {"type": "point", "filled": True, "opacity": 1}
HOVER = "hover"
"""The name of layers that only carry tooltips: they are left out of pictures."""


def layer(
    rows: Sequence[dict[str, Any]],
    mark: dict[str, Any],
    *,
    flatten: bool = False,
    more: dict[str, Any] | None = None,
    **encoding: Any,
) -> dict[str, Any]:
    """One layer of a figure.

    Args:
        rows: what it draws.
        mark: with which mark.
        flatten: whether each row is a whole line, with lists of x and y: half as long as a row for
            each of its points.
        more: what else belongs to the layer.
        encoding: its channels, besides those of the figure.
    """
    transform = {"transform": [{"flatten": ["x", "y"]}]} if flatten else {}
    return {
        "data": {"values": rows},
        **transform,
        "mark": dict(mark),
        "encoding": encoding,
        **(more or {}),
    }


def hover(
    rows: Sequence[dict[str, Any]], tips: list[dict[str, Any]], *, flatten: bool = False
) -> dict[str, Any]:
    """A layer of dots that cannot be seen, so that a pointer finds the points of a line."""
    mark = {**DOT, "opacity": 0, "size": 80}
    return layer(rows, mark, flatten=flatten, more={"name": HOVER}, tooltip=tips)


def tip(field: str, title: str, form: str = "") -> dict[str, Any]:
    """A line of a tooltip.

    Args:
        field: the field it shows.
        title: what stands before it, a word of ours: Vega-Lite makes it part of an expression, in
            which a user's text could do anything. Users' texts are data.
        form: the format of a number, as d3 has it; without one it is a text.
    """
    kind = {"type": "quantitative", "format": form} if form else {"type": "nominal"}
    return {"field": field, "title": title, **kind}


def legend(channel: str, names: Sequence[str], looks: Sequence[Any]) -> dict[str, Any]:
    """A channel (``"color"``, ``"shape"``, …) that gives each name its look, with a legend.

    A layer finds the name in the field ``label`` of its rows.

    Args:
        channel: what the look is.
        names: what the legend lists, in order.
        looks: the look of each name.
    """
    scale = {"domain": list(names), "range": list(looks)}
    return {
        channel: {"field": "label", "type": "nominal", "scale": scale, "legend": {"title": None}}
    }


def log_axis(low: float, high: float, ticks: Sequence[float] | None = None) -> dict[str, Any]:
    """The scale and the axis of a channel on a logarithm.

    Args:
        low: where the axis begins, above 0.
        high: where it ends.
        ticks: what is written at it; by default round numbers.
    """
    return {
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {
            "values": list(find_log_ticks(low, high) if ticks is None else ticks),
            "format": ",",
        },
    }


def find_log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from low to high; where there are few, 2 and 5 between them as well."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    between = (1, 2, 5) if math.log10(high / low) <= 4 else (1,)
    ticks = [float(f"{n}e{decade}") for decade in decades for n in between]
    return [tick for tick in ticks if low <= tick <= high]
