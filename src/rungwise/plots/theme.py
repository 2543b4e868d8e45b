"""How figures look: colours, fonts, and the one place where plotly is imported.

Figures have no background of their own, and their ink is a grey that can be read on white and on
black, so they fit light and dark pages alike. Colours are Okabe and Ito's, which people with any
kind of colour vision can tell apart; where there are more lines than colours, dashes and symbols
differ as well.
"""

from __future__ import annotations

import html
import importlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rungwise.errors import MissingExtraError
from rungwise.formatting import strip_controls

if TYPE_CHECKING:
    import plotly.graph_objects as go

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
INK = "#6f7780"
"""Of texts: its contrast is 4.5 on white and 4.1 on the near-black of dark pages."""
GRID = "rgba(128, 136, 145, 0.22)"
FAINT = "rgba(128, 136, 145, 0.35)"
"""Of what stands in the background."""
FONTS = "Helvetica, Arial, 'DejaVu Sans', 'Liberation Sans', 'Noto Sans', sans-serif"
"""Named one by one: what turns SVG into PNG does not know what sans-serif stands for."""
FONT_SIZE = 13
WIDTH, HEIGHT = 900, 520
"""Of pictures that are written to files, unless the figure has a size of its own."""


def graph_objects() -> Any:
    """``plotly.graph_objects``.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    try:
        return importlib.import_module("plotly.graph_objects")
    except ImportError:
        raise MissingExtraError("rungwise.plots", "plots") from None


def figure(
    traces: Sequence[Any], *, title: str, x: str, y: str, note: str = "", height: int | None = None
) -> go.Figure:
    """A figure in the house's style.

    Args:
        traces: what is drawn.
        title: the title, as plain text.
        x: the title of the horizontal axis.
        y: the title of the vertical axis.
        note: a line below the title.
        height: in pixels, where the contents ask for it.
    """
    go = graph_objects()
    made = go.Figure(traces)
    head = f"<b>{escape(title)}</b>"
    made.update_layout(
        template=template(),
        title_text=f"{head}<br><sub>{escape(note)}</sub>" if note else head,
        xaxis_title_text=escape(x),
        yaxis_title_text=escape(y),
    )
    if height is not None:
        made.update_layout(height=height)
    return made


def escape(text: str) -> str:
    """Text as plotly's labels want it: they read tags and entities as a browser does."""
    return html.escape(strip_controls(text).replace("\n", " "), quote=False)


_TAG = re.compile(r"</?(b|i|sub|sup)>")


def lines(markup: str | None) -> list[tuple[str, str]]:
    """[(text, tag), …] of the lines of one of plotly's texts; a tag holds for its whole line."""
    found = []
    for line in (markup or "").split("<br>"):
        tag = _TAG.match(line)
        if line:
            found.append((html.unescape(_TAG.sub("", line)), tag[1] if tag else ""))
    return found


def words(markup: str | None) -> str:
    """One of plotly's texts as plain text on one line: what :func:`escape` was given."""
    return " ".join(text for text, _ in lines(markup))


def colour(number: int) -> str:
    """The colour of the line of that number; they come round again."""
    return PALETTE[number % len(PALETTE)]


def dash(number: int) -> str:
    """The dash of the line of that number: another one whenever the colours come round."""
    return DASHES[number // len(PALETTE) % len(DASHES)]


def symbol(number: int) -> str:
    """The symbol of the point of that number; with the colour it comes round after 30."""
    return SYMBOLS[(number + number // len(PALETTE)) % len(SYMBOLS)]


def template() -> Any:
    """The house's style as a template of plotly."""
    axis = {
        "gridcolor": GRID,
        "linecolor": INK,
        "ticks": "outside",
        "tickcolor": INK,
        "zeroline": False,
        "automargin": True,
        "title": {"standoff": 10},
    }
    return graph_objects().layout.Template(
        layout={
            "font": {"family": FONTS, "size": FONT_SIZE, "color": INK},
            "title": {"x": 0, "xref": "paper", "xanchor": "left", "font": {"size": 16}},
            "colorway": list(PALETTE),
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "xaxis": axis,
            "yaxis": axis,
            "hovermode": "closest",
            "hoverlabel": {"font": {"family": FONTS}, "namelength": -1},
            "legend": {"bgcolor": "rgba(0,0,0,0)"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": INK, "activecolor": PALETTE[0]},
            "margin": {"t": 70, "r": 20},
        }
    )
