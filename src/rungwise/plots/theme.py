"""How figures look: colours, dashes, symbols and the settings that all figures share.

Colours are Okabe and Ito's, which people with any kind of colour vision can distinguish; where
there are more lines than colours, dashes and symbols differ as well.
"""

from __future__ import annotations

from typing import Any

from rungwise.formatting import strip_controls

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 4), (2, 3), (7, 3, 2, 3))
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
INK, SOFT_INK = "#24292f", "#57606a"
GRID, FAINT = "#e6e9ed", "#a3abb5"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first one comes with vl-convert, so texts are as wide on every machine; the second, which
browsers have, is as wide."""
WIDTH, HEIGHT = 900, 520
"""Of a figure in pixels, unless it needs more height."""

CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "title": {
        "anchor": "start", "frame": "group", "limit": 860, "offset": 16,
        "fontSize": 16, "color": INK,
        "subtitleFontSize": 12.5, "subtitleColor": SOFT_INK, "subtitlePadding": 6,
    },
    "axis": {
        "aria": False, "tickCount": 8,
        "domainColor": FAINT, "gridColor": GRID, "tickColor": FAINT,
        "labelColor": SOFT_INK, "labelFontSize": 12, "labelLimit": 260, "labelPadding": 4,
        "titleColor": INK, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 10,
    },
    # Longer ones would be drawn over what stands beside the axis.
    "axisX": {"titleLimit": 640},
    "axisY": {"titleLimit": 380},
    "legend": {
        "aria": False, "title": None, "offset": 20,
        "labelColor": INK, "labelFontSize": 12, "labelLimit": 320, "rowPadding": 4,
        "symbolOpacity": 1, "symbolSize": 90, "symbolStrokeWidth": 2,
    },
    "mark": {"aria": False},
    "scale": {"zero": False},
    "view": {"stroke": None},
}  # fmt: skip
"""The configuration of Vega-Lite. Without ``aria`` an SVG has no text for each of its points."""


def clean_text(text: str) -> str:
    """A user's text on one line, without control characters."""
    return strip_controls(text).replace("\n", " ")


def colour(number: int) -> str:
    """The colour of the line of that number; colours repeat."""
    return PALETTE[number % len(PALETTE)]


def dash(number: int) -> list[int]:
    """The dash of the line of that number: another one whenever the colours repeat."""
    return list(DASHES[number // len(PALETTE) % len(DASHES)])


def symbol(number: int) -> str:
    """The symbol of the point of that number; together with the colour it repeats after 30."""
    return SYMBOLS[(number + number // len(PALETTE)) % len(SYMBOLS)]
