"""Learning curves: of a table, of a benchmark, or of a study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rungwise.benchmarks.table import Table
from rungwise.core.seeding import generator
from rungwise.errors import InvalidArgumentError, Words
from rungwise.formatting import format_config, format_value
from rungwise.plots import theme
from rungwise.schedulers import FixedResource
from rungwise.simulation import simulate
from rungwise.validation import Goal, whole
from rungwise.views import UNNAMED, StudyView, find_view

if TYPE_CHECKING:
    import plotly.graph_objects as go

Floats = NDArray[np.float64]

LONGEST = 24
"""How long a name may be in the legend; a longer one is told where the mouse is."""

POINTS = 200
"""How many points a curve in the background has at most: more cannot be told apart."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One learning curve.

    Attributes:
        number: the row or trial.
        name: what a person calls it.
        resources: where it was measured.
        values: what was measured; NaN where that was not finite.
        order: what curves are ranked by, the best being the least.
        about: what is known besides.
    """

    number: int
    name: str
    resources: Floats
    values: Floats
    order: tuple[float, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Axes:
    """What things are called: the figure, its axes, and what a curve is of."""

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
) -> go.Figure:
    """Learning curves, the best emphasised (the paper's analysis of learning curves).

    Args:
        source: a :class:`rungwise.Table`, a benchmark, or what came of a study
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
        axes = Axes("Learning curves", "resource", view.metric, view.goal, "trial")
        numbers = _trials(view, rows, top, sample, seed)
        curves = [_trial_curve(view, number) for number in numbers]
    else:
        table, axes = _find_table(source)
        curves = [_row_curve(table, row) for row in _rows(table, rows, sample, seed)]
    curves.sort(key=lambda curve: (*curve.order, curve.number))
    if not (top or others):
        raise InvalidArgumentError("top", top, "with others=False there is nothing to draw")
    best, rest = curves[:top], curves[top:] if others else []
    traces = _background(rest, axes) if rest else []
    # The best is drawn last, on top of all others, and stands first in the legend.
    traces += [_leader(curve, place, axes) for place, curve in reversed([*enumerate(best)])]
    span = _span([*best, *rest])
    note = "lower is better" if axes.goal == "min" else "higher is better"
    if span is not None:
        note += "; the most extreme values lie outside the picture"
    title = _title(axes, best, rest)
    drawn = theme.figure(traces, title=title, x=axes.resource, y=axes.metric, note=note)
    drawn.update_layout(legend_traceorder="reversed")
    if span is not None:
        drawn.update_yaxes(range=span)
    return drawn


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


def _rows(table: Table, rows: Sequence[int] | None, sample: int, seed: int) -> list[int]:
    if rows is None:
        # Simulated, since it alone knows how rows are drawn; one epoch each costs nothing.
        number = min(sample, table.rows)
        drawn = simulate(table, FixedResource(1), trials=number, seed=seed).rows
        return list(dict.fromkeys(drawn))
    return _checked(rows, table.rows, "the table has the rows")


def _row_curve(table: Table, row: int) -> Curve:
    values = table.values[row]
    finite = np.isfinite(values)
    reached = int(np.flatnonzero(finite)[-1]) if finite.any() else -1
    loss = math.inf
    if reached >= 0:
        loss = float(values[reached]) * (1 if table.goal == "min" else -1)
    shown = np.where(finite, values, np.nan)[: reached + 1]
    resources = np.arange(1.0, reached + 2)
    name = f"row {row}" if table.names is None else str(table.names[row])
    about = "" if table.configs is None else format_config(table.configs[row])
    # Those that got to the end first, by what they are there; then the others by their last value.
    order = (float(reached + 1 < table.resources), loss)
    return Curve(row, name, resources, shown, order, about)


def _trials(
    view: StudyView, rows: Sequence[int] | None, top: int, sample: int, seed: int
) -> list[int]:
    total = view.trials
    if not total:
        raise InvalidArgumentError("source", Words("without a trial"), "there must be one at least")
    if rows is not None:
        return _checked(rows, total, "the study has the trials")
    best = [row.trial for row in view.leaderboard(top)]
    drawn: list[int] = generator(seed, "curves").permutation(total).tolist()
    return [*dict.fromkeys([*best, *drawn])][: max(sample, top)]


def _trial_curve(view: StudyView, number: int) -> Curve:
    trial = view.trial(number)
    pairs = trial.curve()
    resources = np.array([resource for resource, _ in pairs], dtype=np.float64)
    values = np.array([value for _, value in pairs], dtype=np.float64)
    # Ranked as the leaderboard is: by the best value at any resource, then in the order drawn.
    sign = 1.0 if view.goal == "min" else -1.0
    order = (min((sign * value for _, value in pairs if value == value), default=math.inf),)  # noqa: PLR0124 - not NaN
    about = format_config(trial.config)
    return Curve(number, f"trial {number}", resources, values, order, about)


def _checked(numbers: Iterable[int], total: int, words: str) -> list[int]:
    checked = [whole("rows", number, at_least=0) for number in numbers]
    if not checked:
        raise InvalidArgumentError("rows", numbers, "there must be one at least")
    for number in checked:
        if number >= total:
            raise InvalidArgumentError("rows", number, f"{words} 0 to {total - 1}")
    return list(dict.fromkeys(checked))


# -- what is drawn -----------------------------------------------------------------------------


def _background(curves: Sequence[Curve], axes: Axes) -> list[Any]:
    """All but the best as one line with gaps: a browser draws one long line in no time."""
    xs, ys, numbers = [], [], []
    for curve in curves:
        chosen = _thinned(len(curve.values))
        # A value that is missing ends each of them. Half the precision makes half the file.
        xs.append(np.append(curve.resources[chosen], np.nan).astype(np.float32))
        ys.append(np.append(curve.values[chosen], np.nan).astype(np.float32))
        numbers.append(np.full(len(chosen) + 1, curve.number, dtype=np.int32))
    go = theme.graph_objects()
    looks: dict[str, Any] = {
        "name": f"{len(curves)} others" if len(curves) > 1 else "1 other",
        "legendgroup": "others",
        "hovertemplate": f"{axes.kind} %{{customdata}}<br>{_hover(axes)}<extra></extra>",
    }
    x, y, number = np.concatenate(xs), np.concatenate(ys), np.concatenate(numbers)
    line = {"color": theme.FAINT, "width": 0.8}
    traces = [go.Scatter(x=x, y=y, customdata=number, mode="lines", line=line, **looks)]
    alone = _alone(y)
    if alone.any():
        # Dots for these only: on every point of every curve they would hide the lines.
        x, y, number = x[alone], y[alone], number[alone]
        dots = {"color": theme.FAINT, "size": 3}
        looks["showlegend"] = False
        traces.append(go.Scatter(x=x, y=y, customdata=number, mode="markers", marker=dots, **looks))
    return traces


def _leader(curve: Curve, place: int, axes: Axes) -> Any:
    go = theme.graph_objects()
    last = curve.values[np.isfinite(curve.values)][-1:]
    value = f": {format_value(last[0])}" if last.size else ""
    about = f"<br>{theme.escape(curve.about)}" if curve.about else ""
    # It stands beside the template: in the template itself "%{" would be read as a placeholder.
    label = f"{theme.escape(curve.name)}, place {place + 1}{about}"
    short = curve.name if len(curve.name) <= LONGEST else f"{axes.kind} {curve.number}"
    return go.Scatter(
        x=curve.resources,
        y=curve.values,
        meta=[label],
        name=theme.escape(f"{place + 1}. {short}{value}"),
        mode="lines+markers" if _alone(curve.values).any() else "lines",
        line={"color": theme.colour(place), "width": 2, "dash": theme.dash(place)},
        marker={"size": 5},
        hovertemplate=f"%{{meta[0]}}<br>{_hover(axes)}<extra></extra>",
    )


def _hover(axes: Axes) -> str:
    metric, resource = (
        theme.escape(word).replace("%{", "% {") for word in (axes.metric, axes.resource)
    )
    return f"{resource}: %{{x}}<br>{metric}: %{{y:.5g}}"


def _title(axes: Axes, best: Sequence[Curve], rest: Sequence[Curve]) -> str:
    if not rest:
        number = len(best)
        return f"{axes.title}: the best" if number == 1 else f"{axes.title}: the top {number}"
    return f"{axes.title}: {len(best) + len(rest)} configurations"


def plural(word: str) -> str:
    """Axes count in the plural, where a unit is a plain word."""
    return f"{word}s" if word.isalpha() and not word.endswith("s") else word


def _thinned(length: int) -> NDArray[np.intp]:
    """Which points of a long curve are drawn: evenly spread, the first and the last included."""
    if length <= POINTS:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, POINTS).round().astype(np.intp))


def _alone(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Which values have no neighbour, so that a line would not show them."""
    finite = np.concatenate([[False], np.isfinite(values), [False]])
    alone: NDArray[np.bool_] = finite[1:-1] & ~finite[:-2] & ~finite[2:]
    return alone


def _span(curves: Sequence[Curve]) -> list[float] | None:
    """The range of values to show, where a few that exploded would flatten all others."""
    values = np.concatenate([curve.values for curve in curves])
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = np.percentile(values, [2, 98]).tolist()
    room = 10 * (high - low)
    bottom, top = float(values.min()), float(values.max())
    if room == 0 or (bottom >= low - room and top <= high + room):
        return None
    bottom, top = max(bottom, low - room), min(top, high + room)
    pad = 0.05 * (top - bottom)
    return [bottom - pad, top + pad]
