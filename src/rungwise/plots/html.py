"""Web pages with figures that need nothing but themselves: no network, no second file."""

from __future__ import annotations

import html
import json
from typing import Any

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""The browser loads nothing, and turns no text into code, whatever a page holds."""

STYLE = """
:root { color-scheme: light dark; --ink: #24292f; --page: #ffffff; --rule: #d5dae0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --page: #15181c; --rule: #3a4149; }
  .figure svg.marks { filter: invert(0.93) hue-rotate(180deg); }
}
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 Helvetica, Arial, 'DejaVu Sans', sans-serif; }
.figure { width: 100%; position: relative; }
.figure > .vega-embed.has-actions { padding-right: 0; }
#vg-tooltip-element table tr td.value { max-width: 420px; overflow-wrap: anywhere; }
"""
"""Pages follow the reader's light or dark mode, and figures in them as well."""

LOOKS = """
"use strict";
const places = [...document.querySelectorAll(".figure")];
function wrap(text, most) {
  const found = [""];
  for (const word of text.split(" ")) {
    const last = found.length - 1;
    if (found[last] && found[last].length + word.length >= most) found.push(word);
    else found[last] += (found[last] ? " " : "") + word;
  }
  return found;
}
function fit(spec, width) {
  spec.width = width;
  spec.background = "transparent";
  if (width >= 700) {
    // A figure that is all of its page fills it, unless it is as high as its bars.
    const room = Math.min(innerHeight - 24, 0.7 * width);
    if (places.length === 1 && spec.height >= 500) spec.height = Math.max(spec.height, room);
    return;
  }
  const room = width - 80;  // what is right of the vertical axis
  spec.title.text = wrap(spec.title.text, room / 10);
  if (spec.title.subtitle) spec.title.subtitle = wrap(spec.title.subtitle, room / 6.5);
  const below = {orient: "bottom", direction: "vertical", columns: 1, labelLimit: width - 60};
  spec.config.legend = {...spec.config.legend, ...below};
  const names = new Set(spec.layer.flatMap(layer => layer.encoding?.color?.scale?.domain ?? []));
  spec.height = Math.min(spec.height, 420) + 22 * names.size;
}
async function show(place) {
  if (place.dataset.shown) return;
  place.dataset.shown = "started";
  const source = place.querySelector("script").textContent, spec = JSON.parse(source);
  fit(spec, place.clientWidth);
  // Parsed expressions are interpreted: the page's policy forbids to make code of them.
  const menu = matchMedia("(hover: hover)").matches;
  const actions = menu && {export: true, source: false, compiled: false, editor: false};
  await vegaEmbed(place.querySelector("div"), spec, {ast: true, renderer: "svg", actions});
  place.style.minHeight = "";
  place.dataset.shown = "yes";
}
const seen = new IntersectionObserver(
  entries => entries.forEach(entry => entry.isIntersecting && show(entry.target)),
  {rootMargin: "400px"},
);
places.forEach(place => seen.observe(place));
window.addEventListener("beforeprint", () => places.forEach(show));
"""
"""Draws a figure when it comes into sight, so that a page of many opens at once.

It fits the page: where that is narrow, titles are broken into lines and the legend stands below.
"""


def make_page(title: str, body: str, *, scripts: str = "", style: str = "") -> str:
    """A whole page.

    Args:
        title: its title, as plain text.
        body: its content.
        scripts: the JavaScript that draws figures, if there are any.
        style: what is to be added to the style.
    """
    code = f"<script>{scripts}</script>\n<script>{LOOKS}</script>\n" if scripts else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{code}</body>\n</html>\n"
    )


def make_place(spec: dict[str, Any], name: str) -> str:
    """The place of a figure in a page.

    Args:
        spec: the figure's specification.
        name: its id, another for every figure in the page.
    """
    # "<" stands only in strings of JSON, and must not end the script.
    document = to_json(spec).replace("<", "\\u003c")
    return (
        f'<div class="figure" id="{html.escape(name)}" style="min-height:{spec["height"]:g}px">'
        f'<div></div><script type="application/json">{document}</script></div>'
    )


def to_json(spec: dict[str, Any]) -> str:
    """A specification as JSON on one line."""
    return json.dumps(spec, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
