"""Learning curves: of a table, of a benchmark, or of a study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rungwise.benchmarks.table import Table
from rungwise.core.seeding import generator
from rungwise.errors import InvalidArgumentError, Words
from rungwise.formatting import format_config, format_value
from rungwise.plots import theme
from rungwise.plots.domains import LARGEST, make_count_axis
from rungwise.plots.figure import Figure, make_figure
from rungwise.plots.layers import DOT, hover, layer, legend, tip
from rungwise.schedulers import FixedResource
from rungwise.simulation import simulate
from rungwise.validation import Goal, find_sign, whole
from rungwise.views import UNNAMED, StudyView, find_view

Floats = NDArray[np.float64]
Span = tuple[float, float]
EVERYTHING: Span = (-math.inf, math.inf)

LONGEST = 24
"""How long a name may be in the legend; the tooltip has the whole of a longer one."""

POINTS = 200
"""How many points a curve in the background has at most: more cannot be seen."""

ROOM = 3
"""How far beyond nearly all values one may lie and still be shown, in units of their spread."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One learning curve.

    Attributes:
        number: the row or trial.
        name: its name.
        resources: where it was measured.
        values: what was measured; NaN where that was not finite.
        score: the value it is ranked by, in the user's sign; None if none was finite.
        order: what curves are sorted by, the best first.
        about: its configuration.
    """

    number: int
    name: str
    resources: Floats
    values: Floats
    score: float | None
    order: tuple[float, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Axes:
    """The names of things: the figure, its axes, and what a curve is of."""

    title: str
    resource: str
    metric: str
    goal: Goal
    kind: str = "row"


def learning_curves(
    source: Any,
    *,
    rows: Sequence[int] | None = None,
    top: int = 3,
    others: bool = True,
    sample: int = 256,
    seed: int = 0,
) -> Figure:
    """Learning curves, the best emphasised (the paper's analysis of learning curves).

    Args:
        source: a :class:`rungwise.Table`, a benchmark, or the result of a study
            (:class:`rungwise.TuningResult`, :class:`rungwise.SimulationResult`, or an engine).
        rows: the rows (of a study: the trials) to draw, instead of a sample.
        top: how many of the best are emphasised. Of a table those that are best at its end, as in
            the paper; of a study those that lead its leaderboard.
        others: whether the rest is drawn as well, with thin lines.
        sample: how many rows are drawn at random: those that :func:`rungwise.simulate` would
            draw with the same seed. Of a study, its leaders are always among them.
        seed: which ones.

    Example:
        >>> import rungwise as rw
        >>> figure = learning_curves(rw.power_laws(rows=64, resources=27))  # doctest: +SKIP
    """
    whole("top", top, at_least=0)
    whole("sample", sample, at_least=1)
    whole("seed", seed, at_least=0)
    view = find_view(source)
    if view is not None:
        axes = Axes("Learning curves", view.unit, view.metric, view.goal, "trial")
        numbers = _choose_trials(view, rows, top, sample, seed)
        curves = [_read_trial(view, number) for number in numbers]
    else:
        table, axes = _find_table(source)
        curves = [_read_row(table, row) for row in _choose_rows(table, rows, sample, seed)]
    curves.sort(key=lambda curve: (*curve.order, curve.number))
    if not (top or others):
        raise InvalidArgumentError("top", top, "with others=False there is nothing to draw")
    best, rest = curves[:top], curves[top:] if others else []
    span = _find_span([*best, *rest], best)
    note = "lower is better" if axes.goal == "min" else "higher is better"
    y: dict[str, Any] = {"title": axes.metric}
    if span != EVERYTHING:
        note += "; the most extreme values are not shown"
        y["scale"] = {"domain": list(span), "nice": False}
    return make_figure(
        [*_draw_others(rest, axes, span), *_draw_best(best, rest, axes, span)],
        title=_make_title(axes, best, rest),
        note=note,
        x={
            "title": axes.resource,
            "scale": {"nice": False},
            **make_count_axis(place for curve in curves for place in curve.resources.tolist()),
        },
        y=y,
    )


# -- where curves come from --------------------------------------------------------------------


def _find_table(source: Any) -> tuple[Table, Axes]:
    card = getattr(source, "card", None)
    if card is None and isinstance(source, Table):
        return source, Axes("Learning curves", "resource", UNNAMED, source.goal)
    if card is None or not callable(getattr(source, "table", None)):
        rule = "it must be a rungwise.Table, a benchmark or a rungwise.TuningResult"
        raise InvalidArgumentError("source", source, rule)
    table: Table = source.table()
    metric = card.metric or UNNAMED
    return table, Axes(
        f"Learning curves of {card.name}", plural(card.resource or "resource"), metric, card.goal
    )


def _choose_rows(table: Table, rows: Sequence[int] | None, sample: int, seed: int) -> list[int]:
    if rows is None:
        # Simulated, since it alone knows how rows are drawn; one epoch each costs nothing.
        number = min(sample, table.rows)
        drawn = simulate(table, FixedResource(1), trials=number, seed=seed).rows
        return list(dict.fromkeys(drawn))
    return _check_numbers(rows, table.rows, "the table has the rows")


def _read_row(table: Table, row: int) -> Curve:
    values = table.values[row]
    finite = np.isfinite(values)
    reached = int(np.flatnonzero(finite)[-1]) if finite.any() else -1
    loss = math.inf
    if reached >= 0:
        loss = float(values[reached]) * find_sign(table.goal)
    shown = np.where(finite, values, np.nan)[: reached + 1]
    resources = np.arange(1.0, reached + 2)
    name = f"row {row}" if table.names is None else str(table.names[row])
    about = "" if table.configs is None else format_config(table.configs[row])
    # Those that got to the end first, by what they are there; then the others by their last value.
    order = (float(reached + 1 < table.resources), loss)
    score = float(values[reached]) if reached >= 0 else None
    return Curve(row, name, resources, shown, score, order, about)


def _choose_trials(
    view: StudyView, rows: Sequence[int] | None, top: int, sample: int, seed: int
) -> list[int]:
    total = view.trials
    if not total:
        raise InvalidArgumentError("source", Words("without a trial"), "there must be at least one")
    if rows is not None:
        return _check_numbers(rows, total, "the study has the trials")
    best = [row.trial for row in view.leaderboard(top)]
    drawn: list[int] = generator(seed, "curves").permutation(total).tolist()
    return [*dict.fromkeys([*best, *drawn])][: max(sample, top)]


def _read_trial(view: StudyView, number: int) -> Curve:
    trial = view.trial(number)
    pairs = trial.curve()
    resources = np.array([resource for resource, _ in pairs], dtype=np.float64)
    values = np.array([value for _, value in pairs], dtype=np.float64)
    record = view.record(number)
    score = None if record.place is None else pairs[record.place][1]
    about = format_config(trial.config)
    return Curve(number, f"trial {number}", resources, values, score, record.key, about)


def _check_numbers(numbers: Iterable[int], total: int, words: str) -> list[int]:
    checked = [whole("rows", number, at_least=0) for number in numbers]
    if not checked:
        raise InvalidArgumentError("rows", numbers, "there must be at least one")
    for number in checked:
        if number >= total:
            raise InvalidArgumentError("rows", number, f"{words} 0 to {total - 1}")
    return list(dict.fromkeys(checked))


# -- what is drawn -----------------------------------------------------------------------------


def _draw_others(curves: Sequence[Curve], axes: Axes, span: Span) -> list[dict[str, Any]]:
    """All but the best, thin and grey; the one under the pointer is emphasised."""
    if not curves:
        return []
    lines, dots = [], []
    for curve in curves:
        about = _describe(curve)
        chosen = _thin(len(curve.values))
        xs, ys = _cut(curve.resources[chosen], curve.values[chosen], span)
        # Five digits are finer than a pixel, and half as long as all of them.
        lines.append({**about, "x": xs, "y": [y and float(f"{y:.5g}") for y in ys]})
        dots += _find_lonely(curve, about, span)
    tips = [tip("name", axes.kind), tip("score", "value"), tip("about", "configuration")]
    pointed = {"type": "point", "on": "pointerover", "clear": "pointerout", "fields": ["number"]}
    drawn = layer(
        lines,
        {"type": "line", "color": theme.FAINT, "strokeOpacity": 0.5},
        flatten=True,
        more={"params": [{"name": "pointed", "select": pointed}]},
        detail={"field": "number"},
        strokeWidth={"condition": {"param": "pointed", "empty": False, "value": 2.5}, "value": 0.8},
        tooltip=tips,
    )
    # Dots for these only: on every point of every curve they would hide the lines.
    return [drawn, *_draw_dots(dots, {"size": 9, "color": theme.FAINT}, tooltip=tips)]


def _draw_best(
    best: Sequence[Curve], rest: Sequence[Curve], axes: Axes, span: Span
) -> list[dict[str, Any]]:
    """The best in colour, the first of them on top."""
    numbered = [*enumerate(best)]
    names = [_name_in_legend(curve, place, axes) for place, curve in numbered]
    lines, dots, points = [], [], []
    for (place, curve), label in reversed([*zip(numbered, names, strict=True)]):
        about = {**_describe(curve), "label": label, "place": place + 1}
        xs, ys = _cut(curve.resources, curve.values, span)
        lines.append({**about, "x": xs, "y": ys})
        dots += _find_lonely(curve, about, span)
        points.append({**about, **_mask(curve, span)})
    colours = [theme.colour(place) for place, _ in numbered]
    dashes = [theme.dash(place) for place, _ in numbered]
    if rest:
        names.append(f"{len(rest):,} others" if len(rest) > 1 else "1 other")
        colours.append(theme.FAINT)
        dashes.append(theme.dash(0))
    colour = legend("color", names, colours)
    dash = legend("strokeDash", names, dashes)
    tips = [
        *(tip("name", axes.kind), tip("place", "place")),
        *(tip("x", axes.resource, ","), tip("y", "value", ".5~g")),
        tip("about", "configuration"),
    ]
    mark = {"type": "line", "strokeWidth": 2}
    return [
        layer(lines, mark, flatten=True, **colour, **dash),
        *_draw_dots(dots, {"size": 30}, **colour, tooltip=tips),
        hover(points, tips, flatten=True),
    ]


def _draw_dots(
    dots: Sequence[dict[str, Any]], looks: dict[str, Any], **encoding: Any
) -> list[dict[str, Any]]:
    return [layer(dots, {**DOT, **looks}, **encoding)] if dots else []


def _describe(curve: Curve) -> dict[str, Any]:
    """What tooltips say of a curve, whatever point of it."""
    return {
        "number": curve.number,
        "name": theme.clean_text(curve.name),
        "score": format_value(curve.score),
        "about": theme.clean_text(curve.about),
    }


def _name_in_legend(curve: Curve, place: int, axes: Axes) -> str:
    short = curve.name if len(curve.name) <= LONGEST else f"{axes.kind} {curve.number}"
    value = "" if curve.score is None else f": {format_value(curve.score)}"
    return theme.clean_text(f"{place + 1}. {short}{value}")


def _make_title(axes: Axes, best: Sequence[Curve], rest: Sequence[Curve]) -> str:
    if not rest:
        number = len(best)
        return f"{axes.title}: the best" if number == 1 else f"{axes.title}: the top {number}"
    return f"{axes.title}: {len(best) + len(rest)} configurations"


def plural(word: str) -> str:
    """A unit as the title of an axis: in the plural, where it is a plain word."""
    return f"{word}s" if word.isalpha() and not word.endswith("s") else word


def _thin(length: int) -> NDArray[np.intp]:
    """Which points of a long curve are drawn: evenly spread, the first and the last included."""
    if length <= POINTS:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, POINTS).round().astype(np.intp))


def _find_lonely(curve: Curve, about: dict[str, Any], span: Span) -> list[dict[str, Any]]:
    """The points without a neighbour, which a line would not show."""
    finite = np.concatenate([[False], np.isfinite(curve.values), [False]])
    alone = finite[1:-1] & ~finite[:-2] & ~finite[2:]
    pairs = zip(curve.resources[alone].tolist(), curve.values[alone].tolist(), strict=True)
    return [{**about, "x": x, "y": y} for x, y in pairs if span[0] <= y <= span[1]]


def _mask(curve: Curve, span: Span) -> dict[str, Any]:
    """The points of a curve within the span."""
    low, high = span
    ys = [y if low <= y <= high and math.isfinite(y) else None for y in curve.values.tolist()]
    return {"x": curve.resources.tolist(), "y": ys}


def _cut(resources: Floats, values: Floats, span: Span) -> tuple[list[float], list[float | None]]:
    """A line without what is outside the span: it ends at the edge, and is missing beyond.

    Vega can clip as well, but hundreds of clipped lines take many seconds in a PNG, and the ids of
    clipped parts make the same figure another SVG each time.
    """
    low, high = span
    xs: list[float] = []
    ys: list[float | None] = []
    x0 = y0 = math.nan
    for x, y in zip(resources.tolist(), values.tolist(), strict=True):
        for edge in sorted(span, reverse=y < y0):
            if min(y0, y) < edge < max(y0, y):
                xs.append(x0 + (x - x0) * ((edge - y0) / (y - y0)))
                ys.append(edge)
        xs.append(x)
        ys.append(y if low <= y <= high and math.isfinite(y) else None)
        x0, y0 = x, y
    return xs, ys


def _find_span(curves: Sequence[Curve], best: Sequence[Curve]) -> Span:
    """The range of values to show, where a few that exploded would flatten all others."""
    values = np.concatenate([curve.values for curve in curves])
    values = values[np.isfinite(values)].clip(-LARGEST, LARGEST)
    if not values.size:
        return EVERYTHING
    low, high = np.percentile(values, [2, 98]).tolist()
    room = ROOM * (high - low)
    bottom, top = float(values.min()), float(values.max())
    if room == 0 or (bottom >= low - room and top <= high + room):
        return EVERYTHING
    # What the legend says of the best is in the picture, however far out.
    scores = [curve.score for curve in best if curve.score is not None]
    bottom = min([max(bottom, low - room), *scores])
    top = max([min(top, high + room), *scores])
    pad = 0.05 * (top - bottom)
    return bottom - pad, top + pad
