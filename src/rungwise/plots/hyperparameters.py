"""Hyperparameters: which matter, and which of their values are good."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.formatting import format_config, format_count, format_percent, format_value
from rungwise.plots import theme
from rungwise.plots.figure import Figure, make_figure
from rungwise.plots.history import read_view
from rungwise.plots.layers import DOT, layer, log_axis, tip
from rungwise.validation import whole
from rungwise.views import StudyView
from rungwise.views.hyperparameters import (
    Comparable,
    Importance,
    Point,
    Scale,
    compare_trials,
    estimate_surface,
    rank_importance,
)

GOOD, BAD = "#0b5394", "#dfe9f3"
"""The colours of the best and the worst rank: dark is good, on any screen and in print."""

CELLS = 24
"""Columns and rows of a contour."""


def importance(result: Any, *, rung: float | None = None, seed: int = 0) -> Figure:
    """How much each hyperparameter matters, one bar each; it needs the extra ``importance``.

    A random forest learns which configurations did well at one rung; a bar says how much worse it
    gets when the values of that hyperparameter are shuffled.

    Args:
        result: the result of a study.
        rung: how far trials must have been trained to count; by default the highest rung that at
            least 12 trials have reached.
        seed: of the forest and the shuffling.
    """
    whole("seed", seed, at_least=0)
    view, comparable = _read(result, rung)
    found = rank_importance(comparable, seed=seed)
    rows = [
        {"name": theme.clean_text(one.name), "x": one.share, "text": format_percent(one.share),
         "std": one.std}
        for one in found
    ]  # fmt: skip
    tips = [tip("name", "hyperparameter"), tip("x", "share", ".3f"), tip("std", "±", ".3f")]
    text = {"type": "text", "align": "left", "dx": 5, "fontSize": 12, "color": theme.INK}
    bar = {"type": "bar", "height": {"band": 0.72}, "color": theme.colour(0)}
    return make_figure(
        [layer(rows, bar, tooltip=tips), layer(rows, text, text={"field": "text"})],
        title=f"What matters for {view.metric}",
        note=f"permutation importance, {_describe(comparable)}",
        x={
            "title": "share of what the hyperparameters explain",
            "scale": {"domain": [0, 1.1 * max((one.share for one in found), default=1) or 1]},
            "axis": {"format": "%"},
        },
        y={
            "field": "name", "type": "nominal", "title": "", "sort": None,
            "axis": {"grid": False, "ticks": False, "domain": False},
        },
        height=max(240, 120 + 24 * len(found)),
    )  # fmt: skip


def parallel_coordinates(result: Any, *, rung: float | None = None, limit: int = 256) -> Figure:
    """Every trial as a line through its values, the best darkest.

    Args:
        result: the result of a study.
        rung: how far trials must have been trained to count; see :func:`importance`.
        limit: how many trials at most: the best.
    """
    whole("limit", limit, at_least=1)
    view, comparable = _read(result, rung)
    ranked = _rank(view, comparable)[:limit]
    axes = [theme.clean_text(scale.name) for scale in comparable.scales]
    shades = _shade(len(ranked))
    lines = []
    for place, point in reversed([*enumerate(ranked)]):
        active = [scale for scale in comparable.scales if scale.name in point.config]
        lines.append({
            **_describe_point(point), "shade": shades[place],
            "x": [theme.clean_text(scale.name) for scale in active],
            "y": [scale.place(point.config[scale.name]) for scale in active],
        })  # fmt: skip
    names = [
        {"x": axis, "y": place, "text": text}
        for axis, scale in zip(axes, comparable.scales, strict=True)
        for place, text in _list_ticks(scale)
    ]
    colour = {"field": "shade", "type": "nominal", "scale": None}
    tips = [tip("name", "trial"), tip("value", "value"), tip("about", "configuration")]
    mark = {"type": "line", "strokeWidth": 1.5, "opacity": 0.8}
    text = {"type": "text", "align": "left", "dx": 4, "fontSize": 11, "color": theme.INK}
    drawn = layer(lines, mark, flatten=True, color=colour, detail={"field": "number"}, tooltip=tips)
    return make_figure(
        [drawn, layer(names, text, text={"field": "text"})],
        title=f"Hyperparameters and {view.metric}",
        note=f"the darker, the better; {_describe(comparable)}",
        x={
            "title": "", "type": "ordinal", "sort": axes, "scale": {"padding": 0.5},
            "axis": {"grid": True, "labelAngle": -30 if len(axes) > 6 else 0},
        },
        y={"title": "", "axis": None, "scale": {"domain": [-0.03, 1.03], "nice": False}},
    )  # fmt: skip


def slice(  # noqa: A001 - what the field calls it
    result: Any, parameter: str | None = None, *, rung: float | None = None
) -> Figure:
    """The values at a rung over one hyperparameter, one dot per trial.

    Args:
        result: the result of a study.
        parameter: the hyperparameter; by default the first that has more than one value.
        rung: how far trials must have been trained to count; see :func:`importance`.
    """
    view, comparable = _read(result, rung)
    scale = comparable.scales[0] if parameter is None else comparable.find(parameter)
    ranked = _rank(view, comparable)
    shades = _shade(len(ranked))
    rows = [
        {**_describe_point(point), "shade": shades[place],
         "x": _put(scale, point.config[scale.name]), "y": point.value}
        for place, point in reversed([*enumerate(ranked)]) if scale.name in point.config
    ]  # fmt: skip
    tips = [tip("name", "trial"), tip("value", "value"), tip("about", "configuration")]
    colour = {"field": "shade", "type": "nominal", "scale": None}
    return make_figure(
        [layer(rows, {**DOT, "size": 50}, color=colour, tooltip=tips)],
        title=f"{view.metric} over {scale.name}",
        note=f"the darker, the better; {_describe(comparable)}",
        x=_make_axis(scale),
        y={"title": view.metric},
    )


def contour(
    result: Any, first: str | None = None, second: str | None = None, *, rung: float | None = None
) -> Figure:
    """The values at a rung over two hyperparameters: dots are trials, the colour between them a guess.

    Args:
        result: the result of a study.
        first: the hyperparameter of the horizontal axis; by default the first that varies.
        second: that of the vertical axis; by default the next.
        rung: how far trials must have been trained to count; see :func:`importance`.
    """  # noqa: E501 - the first line of a docstring is one line
    view, comparable = _read(result, rung)
    if len(comparable.scales) < 2:
        rule = "a contour needs two hyperparameters with more than one value"
        raise InvalidArgumentError("source", Words("a study with one"), rule)
    across = comparable.scales[0] if first is None else comparable.find(first)
    rest = [scale for scale in comparable.scales if scale is not across]
    up = rest[0] if second is None else comparable.find(second)
    if up is across:
        raise InvalidArgumentError("second", second, "it must be another one than the first")
    cells = estimate_surface(comparable, across, up, cells=CELLS)
    half = 0.5 / CELLS
    surface = [
        {"x": column / CELLS, "x2": column / CELLS + 2 * half,
         "y": row / CELLS, "y2": row / CELLS + 2 * half, "shade": value}
        for column, row, value in cells
    ]  # fmt: skip
    dots = [
        {**_describe_point(point), "x": across.place(point.config[across.name]),
         "y": up.place(point.config[up.name])}
        for point in comparable.points if {across.name, up.name} <= point.config.keys()
    ]  # fmt: skip
    values = [point.value for point in comparable.points]
    low, high = _clip(values)
    ends = [GOOD, BAD] if view.goal == "min" else [BAD, GOOD]
    shade = {
        "field": "shade", "type": "quantitative",
        "scale": {"domain": [low, high], "range": ends, "clamp": True, "zero": False},
        "legend": {"title": None},
    }  # fmt: skip
    tips = [tip("name", "trial"), tip("value", "value"), tip("about", "configuration")]
    return make_figure(
        [
            layer(surface, {"type": "rect"}, x2={"field": "x2"}, y2={"field": "y2"}, color=shade),
            layer(dots, {**DOT, "size": 40, "color": theme.colour(1)}, tooltip=tips),
        ],
        title=f"{view.metric} over {across.name} and {up.name}",
        note=f"dark is good; between the dots the colour is a guess; {_describe(comparable)}",
        x=_make_unit_axis(across),
        y=_make_unit_axis(up),
    )


# -- what they share ---------------------------------------------------------------------------


def _read(result: Any, rung: float | None) -> tuple[StudyView, Comparable]:
    view = read_view(result)
    comparable = compare_trials(view, rung)
    if not comparable.scales:
        rule = "at least one hyperparameter must have more than one value"
        raise InvalidArgumentError("source", Words("a study in which nothing varies"), rule)
    return view, comparable


def _describe(comparable: Comparable) -> str:
    trials = format_count(len(comparable.points), "trial")
    return f"at rung {comparable.level:g}: {trials}"


def _describe_point(point: Point) -> dict[str, Any]:
    return {
        "number": point.trial,
        "name": f"trial {point.trial}",
        "value": format_value(point.value),
        "about": theme.clean_text(format_config(point.config)),
    }


def _rank(view: StudyView, comparable: Comparable) -> list[Point]:
    """The trials, the best first."""
    sign = view.sign
    return sorted(comparable.points, key=lambda point: (sign * point.value, point.trial))


def _shade(count: int) -> list[str]:
    """The colours of ranks: those of the best differ most, since they are looked at."""
    shares = [(place / max(1, count - 1)) ** 0.5 for place in range(count)]
    return [_mix(GOOD, BAD, share) for share in shares]


def _mix(first: str, second: str, share: float) -> str:
    parts = [(int(first[n : n + 2], 16), int(second[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)


def _clip(values: Sequence[float]) -> tuple[float, float]:
    """The range of colours: that of nine trials in ten, so that a few bad ones do not fill it."""
    ordered = sorted(values)
    tenth = len(ordered) // 10
    low, high = ordered[tenth // 2], ordered[-1 - tenth // 2]
    return (low, high) if low < high else (low, low + 1)


def _put(scale: Scale, value: Any) -> Any:
    return scale.options[round(scale.place(value) * (len(scale.options) - 1))] if scale.options \
        else float(value)  # fmt: skip


def _list_ticks(scale: Scale) -> list[tuple[float, str]]:
    """What is written along an axis: options, or the ends and the middle of numbers."""
    if scale.options:
        step = max(1, -(-len(scale.options) // 12))
        chosen = range(0, len(scale.options), step)
        last = max(1, len(scale.options) - 1)
        return [(n / last, theme.clean_text(scale.options[n])[:24]) for n in chosen]
    middle = (scale.low * scale.high) ** 0.5 if scale.log else (scale.low + scale.high) / 2
    ends = dict.fromkeys((scale.low, middle, scale.high))
    return [(scale.place(value), format_value(value, 3)) for value in ends]


def _make_axis(scale: Scale) -> dict[str, Any]:
    if scale.options:
        angle = -30 if len(scale.options) > 8 else 0
        axis = {"labelAngle": angle, "labelLimit": 120}
        return {"title": scale.name, "type": "nominal", "sort": list(scale.options), "axis": axis}
    if scale.log:
        return {"title": scale.name, **log_axis(scale.low, scale.high)}
    return {"title": scale.name, "scale": {"domain": [scale.low, scale.high], "nice": False}}


def _make_unit_axis(scale: Scale) -> dict[str, Any]:
    """An axis from 0 to 1 with the values of a hyperparameter written at it."""
    ticks = _list_ticks(scale)
    # Options are users' texts: as JSON they are text in the expression, whatever they hold.
    texts = " : ".join(f"datum.value == {place!r} ? {json.dumps(text)}" for place, text in ticks)
    return {
        "title": scale.name,
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"values": [place for place, _ in ticks], "labelExpr": f"{texts} : ''"},
    }


__all__ = ["Importance", "contour", "importance", "parallel_coordinates", "slice"]
