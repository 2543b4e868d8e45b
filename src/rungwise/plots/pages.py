"""Figures in web pages that need nothing but themselves: no network, no second file."""

from __future__ import annotations

import html
import importlib
from typing import TYPE_CHECKING, Any

from rungwise.plots import theme

if TYPE_CHECKING:
    import plotly.graph_objects as go

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""Tells the browser to load nothing: whatever a page holds, it cannot call home."""

STYLE = """
:root { color-scheme: light dark; --ink: #24292f; --page: #ffffff; --rule: #d5dae0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --page: #15181c; --rule: #3a4149; }
}
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 Helvetica, Arial, 'DejaVu Sans', sans-serif; }
.figure { width: 100%; min-height: 200px; }
.main-svg .infolayer text, .main-svg .cartesianlayer .xtick text,
.main-svg .cartesianlayer .ytick text { fill: var(--ink) !important; }
"""
"""Pages follow the reader's light or dark mode, and figures in them as well."""

LOOKS = """
"use strict";
const figures = [...document.querySelectorAll("script[data-figure]")];
function lines(text, most) {
  const found = [""];
  for (const word of text.split(" ")) {
    const last = found.length - 1;
    if (found[last] && found[last].length + word.length >= most) found.push(word);
    else found[last] += (found[last] ? " " : "") + word;
  }
  return found;
}
function fit(drawn, place) {
  const layout = drawn.layout, width = place.clientWidth, narrow = width < 700;
  const [head, ...rest] = layout.title.text.split("<br>");
  const room = narrow ? (width - 30) / 9 : (width - 200) / 10;
  const parts = lines(head.replace(/<[/]?b>/g, ""), Math.max(16, room));
  layout.title.text = [...parts.map(part => "<b>" + part + "</b>"), ...rest].join("<br>");
  const more = 20 * (parts.length - 1);
  layout.margin = {...layout.margin, t: 70 + more};
  let height = place.clientHeight + more;
  if (narrow) {
    const named = drawn.data.filter(trace => trace.showlegend !== false).length;
    layout.title = {...layout.title, font: {size: 14}, x: 0.02, xref: "container"};
    layout.legend = {...layout.legend, orientation: "h", x: 0, xref: "container",
      y: 0, yref: "container", yanchor: "bottom", maxheight: 1};
    const beside = layout.yaxis.title;
    if (beside && beside.text) beside.text = lines(beside.text, 28).join("<br>");
    height = Math.min(height, 420 + more) + (named > 1 ? 20 * named : 0);
    layout.margin.b = named > 1 ? 60 + 20 * named : 60;
  }
  layout.height = height;
  place.style.height = height + "px";
}
function show(source) {
  const place = document.getElementById(source.dataset.figure);
  if (place.dataset.shown) return;
  place.dataset.shown = "yes";
  const drawn = JSON.parse(source.textContent);
  fit(drawn, place);
  // Where there is no mouse the buttons would always stand in the way.
  const buttons = matchMedia("(hover: hover)").matches && "hover";
  const options = {responsive: true, displaylogo: false, displayModeBar: buttons};
  Plotly.newPlot(place, drawn.data, drawn.layout, options);
}
const seen = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting)
    show(figures.find(source => source.dataset.figure === entry.target.id));
}, {rootMargin: "400px"});
for (const source of figures) seen.observe(document.getElementById(source.dataset.figure));
window.addEventListener("beforeprint", () => figures.forEach(show));
"""
"""Draws a figure when it comes into sight, so that a page of many opens at once.

It fits the page: long titles are broken into lines, and where the page is narrow the legend stands
below the picture.
"""


def page(title: str, body: str, *, scripts: bool, style: str = "") -> str:
    """A whole page.

    Args:
        title: its title, as plain text.
        body: its content.
        scripts: whether there are figures in it.
        style: what is to be added to the style.
    """
    code = f"<script>{_library()}</script>\n<script>{LOOKS}</script>\n" if scripts else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{code}</body>\n</html>\n"
    )


def place(figure: go.Figure, name: str) -> str:
    """The place of a figure in a page.

    Args:
        figure: the figure.
        name: its id, another for every figure in the page.
    """
    height = figure.layout.height or theme.HEIGHT
    # "<" stands only in strings of JSON, and must not end the script.
    document = to_json(figure).replace("<", "\\u003c")
    return (
        f'<div class="figure" id="{html.escape(name)}" style="height:{height:g}px"></div>\n'
        f'<script type="application/json" data-figure="{html.escape(name)}">{document}</script>'
    )


def to_json(figure: go.Figure) -> str:
    """A figure as JSON, by Python's own encoder: plotly may choose another where one is there."""
    text: str = figure.to_json(engine="json")
    return text


def _library() -> str:
    offline: Any = importlib.import_module("plotly.offline")
    source: str = offline.get_plotlyjs()
    return source
