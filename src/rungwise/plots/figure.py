"""A figure as one Vega-Lite specification, and the files that are made from it.

vl-convert turns the specification into SVG and PNG without a browser and without a network, and
holds the JavaScript that draws it in a web page; so a page, a picture and a notebook show the same.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rungwise.errors import InvalidArgumentError, MissingExtraError
from rungwise.plots import html, theme
from rungwise.plots.domains import set_domain
from rungwise.plots.layers import HOVER

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The name of the language, which nothing loads."""
VERSION = "6.1"
"""Of Vega-Lite: every version of vl-convert that the extra allows has it."""
SCALE = 2
"""How many pixels of a PNG a pixel of a figure has, for sharp pictures on any screen."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure.

    Notebooks show it; :func:`export` writes it to a file. The specification is plain JSON and may
    be changed; ``altair.Chart.from_dict(figure.spec)`` makes an Altair chart of it.

    Attributes:
        spec: the Vega-Lite specification.
    """

    spec: dict[str, Any]

    def __repr__(self) -> str:
        return f"<figure: {self.title}>"

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.spec.get("title", {}).get("text", "rungwise"))

    def with_titles(
        self, title: str | None = None, *, x: str | None = None, y: str | None = None
    ) -> Figure:
        """The same figure with other titles.

        Args:
            title: of the figure.
            x: of the horizontal axis.
            y: of the vertical axis.
        """
        spec = dict(self.spec)
        if title is not None:
            spec["title"] = {**spec["title"], "text": theme.clean_text(title)}
        for axis, text in (("x", x), ("y", y)):
            if text is not None:
                channel = {**spec["encoding"][axis], "title": theme.clean_text(text)}
                spec["encoding"] = {**spec["encoding"], axis: channel}
        return Figure(spec)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What notebooks show: the first kind they know, so that exported ones have a picture."""
        # Most notebooks know version 5 of Vega-Lite, which draws the same.
        older = {**self.spec, "$schema": SCHEMA.replace("v6", "v5")}
        shown: dict[str, Any] = {"application/vnd.vegalite.v5+json": older}
        try:
            # A browser may have none of its fonts: what is wider then is not cut off at the edge.
            shown["image/svg+xml"] = make_svg(self).replace(
                "<svg ", '<svg style="overflow:visible" ', 1
            )
        except MissingExtraError as error:
            shown["text/plain"] = f"{self!r} ({error})"
        return shown


def make_figure(
    layers: Sequence[dict[str, Any]],
    *,
    title: str,
    note: str = "",
    x: dict[str, Any],
    y: dict[str, Any],
    height: int = theme.HEIGHT,
) -> Figure:
    """A figure in the house's style.

    Args:
        layers: what is drawn, each over those before it; it finds its places in the fields x and y.
        title: the title.
        note: a line below the title.
        x: the horizontal axis: its title, and whatever else Vega-Lite knows of a channel.
        y: the vertical axis.
        height: in pixels.
    """
    heading: dict[str, Any] = {"text": theme.clean_text(title)}
    if note:
        heading["subtitle"] = theme.clean_text(note)
    axes = {}
    for name, axis in (("x", x), ("y", y)):
        channel = {"field": name, "type": "quantitative", **axis}
        axes[name] = {**channel, "title": theme.clean_text(axis["title"])}
        set_domain(layers, name, axes[name])
    return Figure(
        {
            "$schema": SCHEMA,
            "config": deepcopy(theme.CONFIG),
            "title": heading,
            "width": theme.WIDTH,
            "height": height,
            "padding": 14,
            "autosize": {"type": "fit", "contains": "padding"},
            "encoding": axes,
            "layer": list(layers),
        }
    )


def export(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file; no browser and no network is needed for it or to look at it.

    Args:
        figure: the figure.
        path: the file; its ending says what it becomes: ``.html`` (with all that is needed to draw
            it), ``.svg``, ``.png`` or ``.json`` (the Vega-Lite specification).

    Returns:
        The path.
    """
    if not isinstance(figure, Figure):
        raise InvalidArgumentError("figure", figure, "it must be a figure of rungwise.plots")
    target = Path(path)
    if not target.parent.is_dir():
        rule = f"the folder {target.parent} must exist: create it first"
        raise InvalidArgumentError("path", str(path), rule)
    kind = target.suffix.lower()
    if kind == ".html":
        content = make_page(figure).encode()
    elif kind == ".json":
        content = f"{html.to_json(figure.spec)}\n".encode()
    elif kind == ".svg":
        content = make_svg(figure).encode()
    elif kind == ".png":
        content = load_converter().vegalite_to_png(**_static(figure), scale=SCALE)
    else:
        raise InvalidArgumentError("path", str(path), "it must end in .html, .svg, .png or .json")
    target.write_bytes(content)
    return target


def make_svg(figure: Figure) -> str:
    """A figure as the text of an SVG file: the same figure, the same bytes."""
    text: str = load_converter().vegalite_to_svg(**_static(figure))
    return f"{text}\n"


def make_page(figure: Figure) -> str:
    """A figure as the text of a web page that needs nothing else."""
    place = html.make_place(figure.spec, "figure")
    return html.make_page(figure.title, place, scripts=load_scripts())


def load_scripts() -> str:
    """The JavaScript that draws figures in a page."""
    text: str = load_converter().javascript_bundle(vl_version=VERSION)
    return text


def load_converter() -> Any:
    """``vl_convert``.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module("vl_convert")
    except ImportError:
        raise MissingExtraError("drawing figures", "plots") from None


def _static(figure: Figure) -> dict[str, Any]:
    """What a picture is made of: all but what needs a pointer, and nothing from elsewhere."""
    layers = [layer for layer in figure.spec["layer"] if layer.get("name") != HOVER]
    spec = json.dumps({**figure.spec, "layer": layers}, allow_nan=False)
    return {"vl_spec": spec, "vl_version": VERSION, "allowed_base_urls": []}
