"""Figures as SVG, without a browser: the same figure gives the same bytes, on any machine.

plotly's own way to a picture starts a Chrome, which a server does not have, and gives other ids
each time. What rungwise draws is lines, points and bars on two axes; that much is drawn here, in
the places where plotly puts it but with spacing of its own. What cannot be drawn faithfully is
refused (see :mod:`rungwise.plots.drawable`), never left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rungwise.plots import theme
from rungwise.plots.drawable import DASHES, SYMBOLS, check
from rungwise.plots.scales import scale

if TYPE_CHECKING:
    import plotly.graph_objects as go

_CHARACTER = 0.56
"""The width of a character on average, in units of the font's size."""
_LINE = 20


def svg(figure: go.Figure) -> str:
    """A figure as the text of an SVG file.

    Raises:
        InvalidArgumentError: it holds something that is not drawn here.
    """
    check(figure)
    return _Picture(figure).draw()


class _Picture:
    """One figure on its way to SVG."""

    def __init__(self, figure: go.Figure) -> None:
        layout = figure.layout
        self.figure, self.traces = figure, figure.data
        self.legend = [trace for trace in figure.data if trace.showlegend is not False]
        if layout.showlegend is False or (len(self.legend) < 2 and not layout.showlegend):
            self.legend = []
        if layout.legend.traceorder == "reversed":
            self.legend.reverse()
        title = theme.lines(layout.title.text)
        self.width: float = layout.width or theme.WIDTH
        self.top = 24.0 + 22 * len(title)
        self.height = max(
            layout.height or theme.HEIGHT, self.top + _LINE * len(self.legend) + _LINE
        )
        names = max((_length(trace.name or "") for trace in self.legend), default=0)
        self.right = self.width - (names + 60 if self.legend else 20)
        self.bottom = self.height - 56
        xs, ys = self._values("x"), self._values("y")
        dots = any("markers" in _mode(trace) for trace in self.traces)
        self.y = scale(layout.yaxis, ys, self.bottom, self.top, pad=0.05)
        labels = max((_length(label) for _, label in self.y.ticks()), default=0)
        self.left = labels + (46 if layout.yaxis.title.text else 20)
        self.x = scale(layout.xaxis, xs, self.left, self.right, pad=0.03 if dots else 0)

    def draw(self) -> str:
        box = f"{self.left:g} {self.top:g} {self.right - self.left:g} {self.bottom - self.top:g}"
        left, top, width, height = box.split()
        size = f'width="{self.width:g}" height="{self.height:g}"'
        font = f'font-family="{theme.FONTS}" font-size="{theme.FONT_SIZE}" fill="{theme.INK}"'
        whole = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {whole} {font}>',
            f'<rect width="100%" height="100%"{_paint("fill", self._paper())}/>',
            *self._titles(),
            *self._axes(),
            # A picture in the picture cuts off what is outside the axes.
            f'<svg x="{left}" y="{top}" width="{width}" height="{height}" viewBox="{box}">',
            *(part for n, trace in enumerate(self.traces) for part in self._trace(trace, n)),
            "</svg>",
            *self._legend(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _values(self, axis: str) -> list[Any]:
        """All that is drawn along an axis, with the ends of bars and error bars."""
        found: list[Any] = []
        for trace in self.traces:
            values = _plain(trace[axis])
            found += values
            if trace.type == "bar":
                found += [0.0] if axis == "x" else []
                continue
            spread = _plain(trace[f"error_{axis}"].array)
            for value, by in zip(values, spread, strict=False):
                found += [value - by, value + by]
        return found

    def _paper(self) -> str:
        own = self.figure.layout.paper_bgcolor
        return str(own if own is not None else "rgba(0,0,0,0)")

    # -- what surrounds the lines --------------------------------------------------------------

    def _titles(self) -> Iterator[str]:
        y = 26
        for text, kind in theme.lines(self.figure.layout.title.text):
            style = {"b": ' font-size="16" font-weight="bold"', "sub": ""}.get(
                kind, ' font-size="16"'
            )
            yield f'<text x="{self.left:g}" y="{y}"{style}>{html.escape(text)}</text>'
            y += 20
        middle, centre = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        layout = self.figure.layout
        yield _label(theme.words(layout.xaxis.title.text), middle, self.height - 14, "middle")
        turned = f'transform="translate(18 {centre:g}) rotate(-90)"'
        side = html.escape(theme.words(layout.yaxis.title.text))
        yield f'<text {turned} text-anchor="middle">{side}</text>'

    def _axes(self) -> Iterator[str]:
        grid, ink = _paint("stroke", theme.GRID), _paint("stroke", theme.INK)
        for x, label in self.x.ticks():
            yield f'<path d="M{x:.1f} {self.top:g}V{self.bottom:g}"{grid}/>'
            yield f'<path d="M{x:.1f} {self.bottom:g}v5"{ink}/>'
            yield _label(theme.words(label), x, self.bottom + 20, "middle")
        for y, label in self.y.ticks():
            yield f'<path d="M{self.left:g} {y:.1f}H{self.right:g}"{grid}/>'
            yield f'<path d="M{self.left:g} {y:.1f}h-5"{ink}/>'
            yield _label(theme.words(label), self.left - 9, y + 4.5, "end")

    def _legend(self) -> Iterator[str]:
        x, y = self.right + 14, self.top + 8
        for trace in self.legend:
            number = next(n for n, other in enumerate(self.traces) if other is trace)
            mode = _mode(trace)
            if "lines" in mode:
                yield f'<path d="M{x:g} {y:g}h28"{self._stroke(trace, number)}/>'
            if "markers" in mode:
                yield self._dot(trace, number, x + 14, y)
            if mode == "bar":
                fill = _paint("fill", _own_colour(trace.marker.color, number))
                yield f'<path d="M{x + 7:g} {y - 6:g}h14v12h-14Z"{fill}/>'
            yield _label(theme.words(trace.name or ""), x + 36, y + 4.5, "start")
            y += _LINE

    # -- lines, points, bars -------------------------------------------------------------------

    def _trace(self, trace: Any, number: int) -> Iterator[str]:
        if trace.type == "bar":
            yield from self._bars(trace, number)
            return
        mode = _mode(trace)
        places = zip(map(self.x, _plain(trace.x)), map(self.y, _plain(trace.y)), strict=True)
        points = list(places)
        if "lines" in mode:
            # A path a piece, as plotly does: where transparent lines meet, they add up.
            for piece in _pieces(points, steps=trace.line.shape == "hv"):
                yield f'<path fill="none" d="{piece}"{self._stroke(trace, number)}/>'
        yield from self._error_bars(trace, number)
        if "markers" in mode:
            for x, y in points:
                if x is not None and y is not None:
                    yield self._dot(trace, number, x, y)

    def _stroke(self, trace: Any, number: int) -> str:
        line = trace.line
        dashes = DASHES[line.dash or "solid"]
        width = 2 if line.width is None else line.width
        return f' stroke-width="{width:g}"{_paint("stroke", _own_colour(line.color, number))}' + (
            f' stroke-dasharray="{dashes}"' if dashes else ""
        )

    def _dot(self, trace: Any, number: int, x: float, y: float) -> str:
        marker = trace.marker
        size = (6 if marker.size is None else marker.size) / 2
        colour = _own_colour(marker.color or trace.line.color, number)
        opacity = "" if marker.opacity in (None, 1) else f' opacity="{marker.opacity:g}"'
        place = f"translate({x:.1f} {y:.1f}) scale({size:g})"
        symbol = SYMBOLS[marker.symbol or "circle"]
        return f'<path transform="{place}" d="{symbol}"{_paint("fill", colour)}{opacity}/>'

    def _error_bars(self, trace: Any, number: int) -> Iterator[str]:
        xs, ys = _plain(trace.x), _plain(trace.y)
        for bars, across in ((trace.error_x, True), (trace.error_y, False)):
            axis, edge = (self.x, self.left) if across else (self.y, self.bottom)
            for x, y, by in zip(xs, ys, _plain(bars.array), strict=False):
                value, still = (x, self.y(y)) if across else (y, self.x(x))
                end = axis(value + by)
                if not by or still is None or end is None:
                    continue
                # On a logarithm a bar that goes down to nothing goes down to the edge.
                start = edge if (low := axis(value - by)) is None else low
                cap = 3 if bars.width is None else bars.width
                if across:
                    line = f"M{start:.1f} {still:.1f}H{end:.1f}"
                    line += "".join(f"M{x:.1f} {still - cap:.1f}v{2 * cap:g}" for x in (start, end))
                else:
                    line = f"M{still:.1f} {start:.1f}V{end:.1f}"
                    line += "".join(f"M{still - cap:.1f} {y:.1f}h{2 * cap:g}" for y in (start, end))
                stroke = _paint("stroke", _own_colour(bars.color, number))
                yield f'<path d="{line}" stroke-width="{bars.thickness or 2:g}"{stroke}/>'

    def _bars(self, trace: Any, number: int) -> Iterator[str]:
        zero = self.x(0.0)
        texts = _plain(trace.text)
        colours = trace.marker.color
        half = 0.4 * abs(self.y.end - self.y.start) / max(len(self.y.names), 1)
        for at, (value, name) in enumerate(zip(_plain(trace.x), _plain(trace.y), strict=True)):
            x, y = self.x(value), self.y(name)
            if x is None or y is None or zero is None:
                continue
            own = colours if isinstance(colours, str) or colours is None else colours[at]
            start, end = sorted((zero, x))
            box = f'x="{start:.1f}" y="{y - half:.1f}" width="{end - start:.1f}"'
            fill = _paint("fill", _own_colour(own, number))
            yield f'<rect {box} height="{2 * half:.1f}"{fill}/>'
            if at < len(texts):
                yield self._bar_text(theme.words(texts[at]), start, end, y)

    def _bar_text(self, text: str, start: float, end: float, y: float) -> str:
        """In the bar if there is room, else beside it."""
        if end - start > _length(text) + 12:
            return _label(text, end - 5, y + 4.5, "end", ' fill="#ffffff"')
        return _label(text, end + 5, y + 4.5, "start")


# -- words and colours -------------------------------------------------------------------------


def _mode(trace: Any) -> str:
    """How a trace is drawn; where it does not say, plotly shows the points of short lines."""
    if trace.type == "bar":
        return "bar"
    return str(trace.mode or ("lines+markers" if len(trace.x) < 20 else "lines"))


def _pieces(points: Sequence[tuple[float | None, float | None]], *, steps: bool) -> Iterator[str]:
    """A line through points, in pieces: it breaks where a point has no place."""
    piece: list[str] = []
    for x, y in [*points, (None, None)]:
        if x is None or y is None:
            if len(piece) > 1:
                yield "".join(piece)
            piece = []
        elif piece and steps:
            piece.append(f"H{x:.1f}V{y:.1f}")
        else:
            piece.append(f"{'L' if piece else 'M'}{x:.1f} {y:.1f}")


def _own_colour(colour: Any, number: int) -> str:
    return colour if isinstance(colour, str) else theme.colour(number)


def _paint(what: str, colour: str) -> str:
    """An attribute with a colour; its transparency is an attribute of its own in SVG."""
    found = re.fullmatch(r"rgba\((\d+), ?(\d+), ?(\d+), ?([\d.]+)\)", colour)
    if found is None:
        return f' {what}="{html.escape(colour)}"'
    plain = "".join(f"{int(part):02x}" for part in found.groups()[:3])
    return f' {what}="#{plain}" {what}-opacity="{float(found[4]):g}"'


def _label(text: str, x: float, y: float, anchor: str, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}'
    return f"<text {place}>{html.escape(text)}</text>"


def _length(markup: str) -> float:
    return _CHARACTER * theme.FONT_SIZE * len(theme.words(markup))


def _plain(values: Any) -> list[Any]:
    """A column of a trace as plain values."""
    if values is None:
        return []
    listed: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return listed
