"""Figures into files."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rungwise.errors import InvalidArgumentError, MissingExtraError, Words
from rungwise.plots import pages, theme
from rungwise.plots.svg import svg

if TYPE_CHECKING:
    import plotly.graph_objects as go

ZOOM = 2
"""How many pixels of a PNG a pixel of a figure has, for sharp pictures on any screen."""


def export(figure: go.Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file; no browser and no network is needed for it or to look at it.

    Args:
        figure: the figure.
        path: the file; its ending says what it becomes: ``.html`` (with all that plotly needs),
            ``.svg``, ``.png`` or ``.json`` (for ``plotly.io.from_json``).

    Returns:
        The path.
    """
    if not isinstance(figure, theme.graph_objects().Figure):
        raise InvalidArgumentError("figure", figure, "it must be a plotly figure")
    target = Path(path)
    kind = target.suffix.lower()
    if kind == ".html":
        content = _page(figure).encode()
    elif kind == ".json":
        content = f"{pages.to_json(figure)}\n".encode()
    elif kind == ".svg":
        content = svg(figure).encode()
    elif kind == ".png":
        content = _png(svg(figure))
    else:
        raise InvalidArgumentError("path", str(path), "it must end in .html, .svg, .png or .json")
    target.write_bytes(content)
    return target


def _page(figure: go.Figure) -> str:
    title = figure.layout.title.text or "rungwise"
    words = theme.words(title)
    return pages.page(words, pages.place(figure, "figure"), scripts=True)


def _png(text: str) -> bytes:
    try:
        resvg: Any = importlib.import_module("resvg_py")
    except ImportError:
        raise MissingExtraError("export to PNG", "plots") from None
    drawn = bytes(resvg.svg_to_bytes(svg_string=text, zoom=ZOOM))
    _check_fonts(resvg)
    return drawn


def _check_fonts(resvg: Any) -> None:
    """Without a font all texts would be missing, and nobody would say so."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
    word = f'<text y="15" font-family="{theme.FONTS}">A</text>'
    with_word, without = (
        bytes(resvg.svg_to_bytes(svg_string=f"{head}{part}</svg>")) for part in (word, "")
    )
    if with_word == without:
        rule = (
            "a font is needed for the texts of a PNG and none of these is installed: "
            f"{theme.FONTS} (Debian: apt install fonts-dejavu-core); .svg and .html need none"
        )
        raise InvalidArgumentError("path", Words("to become a PNG"), rule)
