"""What :mod:`rungwise.plots.svg` can draw, setting by setting.

A figure may be changed before it is written. What is not listed here is refused by name: a picture
that looks otherwise than the figure on the screen would be worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy import floating, integer

from rungwise.errors import InvalidArgumentError, Words
from rungwise.plots import theme

if TYPE_CHECKING:
    import plotly.graph_objects as go

DASHES = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}
SYMBOLS = {
    "circle": "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0 -1 0Z",
    "square": "M-.9 -.9H.9V.9H-.9Z",
    "diamond": "M0 -1.3L1.3 0L0 1.3L-1.3 0Z",
    "triangle-up": "M0 -1.2L1.1 .8H-1.1Z",
    "cross": "M-.4 -1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
    "x": "M-1.1 -.6L-.6 -1.1L0 -.5L.6 -1.1L1.1 -.6L.5 0L1.1 .6L.6 1.1L0 .5L-.6 1.1L-1.1 .6L-.5 0Z",
}
_SILENT = {
    "customdata",
    "hoverinfo",
    "hovertemplate",
    "legendgroup",
    "meta",
    "name",
    "showlegend",
    "type",
    "x",
    "y",
}
_BARS = {f"error_{axis}.{key}" for axis in "xy" for key in ("array", "color", "thickness", "type")}
_DRAWN = {
    "scatter": _SILENT
    | _BARS
    | {"error_x.width", "error_y.width", "mode", "text"}  # texts are for hovering: no mode is text
    | {f"line.{key}" for key in ("color", "dash", "shape", "width")}
    | {f"marker.{key}" for key in ("color", "opacity", "size", "symbol")},
    "bar": _SILENT | {"marker.color", "orientation", "text", "textposition"},
}
_AXIS = ("range", "rangemode", "ticktext", "tickvals", "title.text", "type")
_LAYOUT = {
    *("height", "legend.traceorder", "paper_bgcolor", "showlegend", "title.text", "width"),
    *("hovermode", "margin.b", "margin.l", "margin.r", "margin.t"),
    *(f"{axis}.{key}" for axis in ("xaxis", "yaxis") for key in _AXIS),
}


_CHOICES: Mapping[str, Sequence[Any]] = {
    "line.dash": tuple(DASHES),
    "line.shape": ("linear", "hv"),
    "legendgroup": ("others",),  # that of learning curves; groups of one's own move the legend
    "marker.symbol": tuple(SYMBOLS),
    "mode": ("lines", "markers", "lines+markers"),
    "textposition": ("auto",),
    "legend.traceorder": ("normal", "reversed"),
    **{f"{axis}.rangemode": ("normal", "tozero") for axis in ("xaxis", "yaxis")},
    **{f"{axis}.type": ("linear", "log", "category") for axis in ("xaxis", "yaxis")},
}
"""Settings of which only some values are drawn."""


def check(figure: go.Figure) -> None:
    """Refuse what would come out otherwise than it looks on the screen."""
    for trace in figure.data:
        if trace.type not in _DRAWN:
            raise _refusal(f"{trace.type} traces")
        for key, value in _flat(trace.to_plotly_json()):
            if key not in _DRAWN[trace.type] or not _known(trace.type, key, value):
                raise _refusal(f"{key} of a {trace.type} trace" + _told(value))
    for key, value in _flat(figure.layout.to_plotly_json()):
        if not key.startswith("template.") and (key not in _LAYOUT or not _known("", key, value)):
            raise _refusal(f"{key} of the layout" + _told(value))
    if figure.layout.template != theme.template():
        raise _refusal("another template than its own")
    bars = [trace for trace in figure.data if trace.type == "bar"]
    if len(bars) > 1 or any(trace.orientation != "h" for trace in bars):
        raise _refusal("bars that stand, or several kinds of bars")
    for axis in ("x", "y"):
        _check_values(figure, axis)


def _check_values(figure: go.Figure, axis: str) -> None:
    """Numbers, or texts on an axis of categories; plotly guesses what other texts are."""
    layout = figure.layout[f"{axis}axis"]
    named = layout.type == "category"
    if named and (layout.tickvals is not None or layout.range is not None):
        raise _refusal(f"ticks or a range of categories ({axis})")
    for trace in figure.data:
        if trace[axis] is None:
            raise _refusal(f"a trace without {axis}")
        kinds = (str,) if named else (int, float, integer, floating)
        if not all(value is None or isinstance(value, kinds) for value in trace[axis]):
            raise _refusal(f"{axis} that are {'no categories' if named else 'no numbers'}")


def _known(kind: str, key: str, value: Any) -> bool:
    """Whether a setting has a value that is drawn here."""
    if key == "marker.color" and kind == "bar":
        return True
    if key in ("marker.color", "marker.size", "marker.opacity"):
        return isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return key not in _CHOICES or (isinstance(value, str) and value in _CHOICES[key])


def _flat(document: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _told(value: Any) -> str:
    return f" ({value!r})" if isinstance(value, (str, int, float)) else ""


def _refusal(what: str) -> InvalidArgumentError:
    rule = (
        "rungwise draws lines, points and horizontal bars in its own style only: "
        "figure.write_image(path) draws everything, with kaleido and a Chrome installed"
    )
    return InvalidArgumentError("figure", Words(f"one with {what}"), rule)
