"""Methods against each other: what they found for what they spent, and how much sooner."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from rungwise.errors import InvalidArgumentError
from rungwise.formatting import format_short, format_tick
from rungwise.plots import theme
from rungwise.plots.scales import log_ticks
from rungwise.validation import Goal, must_be, one_of, parse_goal, real

if TYPE_CHECKING:
    import plotly.graph_objects as go

Against = Literal["spent", "seconds"]


class Spread(Protocol):
    """A mean and a standard deviation."""

    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float: ...


class Summary(Protocol):
    """A method over all its runs: a row of :class:`rungwise.lab.reproduction.results.Section`."""

    @property
    def label(self) -> str: ...
    @property
    def final(self) -> Spread: ...
    @property
    def spent(self) -> Spread: ...
    @property
    def seconds(self) -> Spread: ...


@runtime_checkable
class Comparison(Protocol):
    """Methods on one benchmark: :class:`rungwise.lab.reproduction.results.Section`, for one.

    It is known by its looks, so that drawing depends on nothing that is drawn.
    """

    @property
    def benchmark(self) -> str: ...
    @property
    def final_metric(self) -> str: ...
    @property
    def final_goal(self) -> Goal: ...
    @property
    def percent(self) -> bool: ...
    @property
    def rows(self) -> Sequence[Summary]: ...


@dataclass(frozen=True, slots=True)
class Point:
    """A method in a picture of costs and values.

    Attributes:
        label: what it is called.
        value: what it found, on average.
        cost: what it spent, on average.
        value_std: how much the value varies.
        cost_std: how much the cost varies.
    """

    label: str
    value: float
    cost: float
    value_std: float = 0.0
    cost_std: float = 0.0

    def __post_init__(self) -> None:
        for name in ("value", "cost"):
            real(f"{name} of {self.label}", getattr(self, name))
        for name in ("value_std", "cost_std"):
            real(f"{name} of {self.label}", getattr(self, name), at_least=0)


@dataclass(frozen=True, slots=True)
class Scales:
    """What is on the axes of a picture of costs and values."""

    title: str
    value: str
    cost: str
    goal: Goal


def pareto(
    source: Comparison | Iterable[Point],
    *,
    against: Against = "spent",
    goal: Goal = "max",
    value: str = "value",
    cost: str = "cost",
) -> go.Figure:
    """What methods found against what they spent; the best for their price are joined by a line.

    Error bars are a standard deviation to either side.

    Args:
        source: a section of a reproduction, which knows all the rest, or points.
        against: of a section: the resource ``"spent"`` or the runtime in ``"seconds"``.
        goal: of points: whether larger or smaller values are better.
        value: of points: what the values are, with the unit.
        cost: of points: what the costs are, with the unit.

    Example:
        >>> points = [Point("ASHA", 93.8, 1034), Point("PASHA", 93.6, 926)]
        >>> pareto(points, value="accuracy (%)", cost="epochs")  # doctest: +SKIP
    """
    one_of("against", against, ("spent", "seconds"))
    if isinstance(source, Comparison):
        points = make_points(source, against)
        scales = _choose_scales(source, against)
    else:
        must_be("source", source, Iterable, "a section of a reproduction, or points")
        points = list(source)
        for point in points:
            must_be("source", point, Point, "a section of a reproduction, or points")
        scales = Scales("Value against cost", value, cost, parse_goal(goal))
    if not points:
        rule = "there must be one with finite figures at least"
        raise InvalidArgumentError("source", source, rule)
    best = front(points, scales.goal)
    costs = sorted({point.cost for point in points})
    traces = [
        _front_line(best),
        *(_dot(point, n, best=point in best) for n, point in enumerate(points)),
    ]
    # As high as the legend is, so that nobody has to scroll in it.
    height = max(theme.HEIGHT, 160 + 20 * len(traces))
    drawn = theme.figure(traces, title=scales.title, x=scales.cost, y=scales.value, height=height)
    if costs[0] > 0 and costs[-1] > 20 * costs[0]:
        ticks = log_ticks(math.log10(costs[0]), math.log10(costs[-1]))
        drawn.update_xaxes(type="log", tickvals=ticks, ticktext=[*map(format_tick, ticks)])
    return drawn


def front(points: Sequence[Point], goal: Goal) -> list[Point]:
    """The points that no other beats at the same or a lower cost, from the cheapest on."""
    sign = 1 if goal == "min" else -1
    found: list[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, sign * point.value)):
        if not found or sign * point.value < sign * found[-1].value:
            found.append(point)
    return found


def speedup(factors: Mapping[str, float], *, title: str = "Speed-up over ASHA") -> go.Figure:
    """How many times sooner a method was done, a bar a data set, the largest on top.

    Args:
        factors: the speed-up by the name of the data set.
        title: the title.
    """
    must_be("factors", factors, Mapping, "speed-ups by the names of data sets")
    if not factors:
        raise InvalidArgumentError("factors", factors, "there must be one at least")
    clean = {str(name): real(f"factor of {name}", f, at_least=0) for name, f in factors.items()}
    # From the bottom of the picture to its top.
    names = sorted(clean, key=lambda name: (clean[name], name))
    texts = [theme.escape(name) for name in names]
    go = theme.graph_objects()
    bars = go.Bar(
        x=[clean[name] for name in names],
        y=texts,
        orientation="h",
        text=[f"{clean[name]:.2f}×" for name in names],
        textposition="auto",
        marker={"color": [theme.colour(0 if clean[name] >= 1 else 1) for name in names]},
        hovertemplate="%{y}: %{x:.3f}×<extra></extra>",
        showlegend=False,
    )
    even = go.Scatter(
        x=[1, 1],
        y=[texts[0], texts[-1]],
        mode="lines",
        name="as fast",
        line={"color": theme.colour(1), "width": 2, "dash": "dot"},
        hoverinfo="skip",
    )
    drawn = theme.figure(
        [bars, even],
        title=title,
        x="speed-up (×)",
        y="",
        note=f"median {median(clean.values()):.2f}× over {len(clean)}",
        height=max(240, 140 + 24 * len(clean)),
    )
    drawn.update_yaxes(type="category")
    drawn.update_xaxes(rangemode="tozero")
    return drawn


def make_points(section: Comparison, against: Against) -> list[Point]:
    """The rows of a section as points; those without finite figures are left out."""
    scale = 100 if section.percent else 1
    costs = {"spent": 1.0, "seconds": 1 / 3600}
    points = []
    for row in section.rows:
        price = row.spent if against == "spent" else row.seconds
        if math.isfinite(row.final.mean) and math.isfinite(price.mean):
            value, value_std = _scaled(row.final, scale)
            cost, cost_std = _scaled(price, costs[against])
            points.append(Point(row.label, value, cost, value_std, cost_std))
    return points


def _choose_scales(section: Comparison, against: Against) -> Scales:
    unit = " (%)" if section.percent else ""
    cost = {"spent": "resource spent", "seconds": "runtime (hours)"}[against]
    title = f"{section.benchmark}: {section.final_metric} against {cost.removesuffix(' (hours)')}"
    return Scales(title, f"{section.final_metric}{unit}", cost, section.final_goal)


def _scaled(figure: Spread, factor: float) -> tuple[float, float]:
    spread = figure.std * factor
    return figure.mean * factor, spread if math.isfinite(spread) else 0.0


def _front_line(best: Sequence[Point]) -> Any:
    return theme.graph_objects().Scatter(
        x=[point.cost for point in best],
        y=[point.value for point in best],
        name="nothing better for less",
        mode="lines",
        line={"shape": "hv", "color": theme.FAINT, "width": 6},
        hoverinfo="skip",
    )


def _dot(point: Point, number: int, *, best: bool) -> Any:
    """A point with its error bars; those of the front are larger, and their bars have colour."""
    colour = theme.colour(number)
    # Dozens of coloured bars would hide the points.
    bars = {"type": "data", "thickness": 1, "width": 3, "color": colour if best else theme.FAINT}
    told = (
        f"{theme.escape(point.label)}"
        f"<br>{format_short(point.value)} ± {format_short(point.value_std)}"
        f"<br>for {format_short(point.cost)} ± {format_short(point.cost_std)}"
    )
    return theme.graph_objects().Scatter(
        x=[point.cost],
        y=[point.value],
        error_x={**bars, "array": [point.cost_std]},
        error_y={**bars, "array": [point.value_std]},
        name=theme.escape(point.label),
        text=[told],
        mode="markers",
        marker={"color": colour, "size": 11 if best else 7, "symbol": theme.symbol(number)},
        hovertemplate="%{text}<extra></extra>",
    )
