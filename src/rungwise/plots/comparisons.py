"""Comparisons of methods: what each found for what it spent, and speed-ups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, Protocol, runtime_checkable

from rungwise.errors import InvalidArgumentError
from rungwise.formatting import format_short
from rungwise.plots import theme
from rungwise.plots.figure import Figure, make_figure
from rungwise.plots.layers import DOT, layer, legend, log_axis, tip
from rungwise.validation import Goal, find_sign, must_be, one_of, parse_goal, real

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

    It is a protocol, so that drawing does not depend on the packages whose results are drawn.
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
    """A method in a figure of costs and values.

    Attributes:
        label: its name.
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
class Labels:
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
) -> Figure:
    """What methods found against what they spent; those that nothing beats for less are joined.

    Error bars are a standard deviation to either side. In a page, a click on the legend picks out
    a method.

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
        labels = _choose_labels(source, against)
    else:
        must_be("source", source, Iterable, "a section of a reproduction, or points")
        points = list(source)
        for point in points:
            must_be("source", point, Point, "a section of a reproduction, or points")
        labels = Labels("Value against cost", value, cost, parse_goal(goal))
    if not points:
        rule = "at least one must have finite figures"
        raise InvalidArgumentError("source", source, rule)
    best = find_front(points, labels.goal)
    x: dict[str, Any] = {"title": labels.cost}
    x["scale"] = {"padding": 20}
    costs = sorted(point.cost for point in points)
    low, high = -math.inf, math.inf
    if costs[0] > 0 and costs[-1] > 20 * costs[0]:
        low, high = costs[0] / 1.3, costs[-1] * 1.3
        x |= log_axis(low, high)
    return make_figure(
        [_draw_front(best), *_draw_points(points, best, (low, high))],
        title=labels.title,
        note="bars: ± 1 standard deviation; grey line: Pareto front",
        x=x,
        y={"title": labels.value, "scale": {"padding": 20}},
        # As high as the legend is.
        height=max(theme.HEIGHT, 140 + 19 * len(points)),
    )


def find_front(points: Sequence[Point], goal: Goal) -> list[Point]:
    """The points that no other beats at the same or a lower cost, from the cheapest on."""
    sign = find_sign(goal)
    found: list[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, sign * point.value)):
        if not found or sign * point.value < sign * found[-1].value:
            found.append(point)
    return found


def speedup(factors: Mapping[str, float], *, title: str = "Speed-up over ASHA") -> Figure:
    """How many times sooner a method was done, one bar per data set, the largest on top.

    Args:
        factors: the speed-up by the name of the data set.
        title: the title.
    """
    must_be("factors", factors, Mapping, "speed-ups by the names of data sets")
    if not factors:
        raise InvalidArgumentError("factors", factors, "there must be at least one")
    clean = {str(name): real(f"factor of {name}", f, at_least=0) for name, f in factors.items()}
    names = sorted(clean, key=lambda name: (-clean[name], name))
    return make_figure(
        _draw_bars(clean, names),
        title=title,
        note=f"median {median(clean.values()):.2f}× over {len(clean)}",
        x={
            "title": "speed-up (×)",
            # There is room for the text of the longest bar.
            "scale": {"domain": [0, 1.08 * max(*clean.values(), 1)], "nice": False},
        },
        y={
            "field": "name", "type": "nominal", "title": "", "sort": None,
            "axis": {"grid": False, "ticks": False, "domain": False},
        },
        height=max(240, 120 + 24 * len(clean)),
    )  # fmt: skip


def _draw_bars(factors: Mapping[str, float], names: Sequence[str]) -> list[dict[str, Any]]:
    """The bars with their factors, and a line where both are as fast."""
    rows = [
        {
            "name": theme.clean_text(name),
            "x": factors[name],
            "text": f"{factors[name]:.2f}×",
            "colour": theme.colour(0 if factors[name] >= 1 else 1),
        }
        for name in names
    ]
    tips = [tip("name", "data set"), tip("x", "speed-up (×)", ".3f")]
    colour = {"field": "colour", "type": "nominal", "scale": None}
    text = {"type": "text", "align": "left", "dx": 5, "fontSize": 12, "color": theme.INK}
    even = {"type": "rule", "color": theme.INK, "strokeDash": [4, 3]}
    return [
        layer(rows, {"type": "bar", "height": {"band": 0.72}}, color=colour, tooltip=tips),
        layer(rows, text, text={"field": "text"}),
        layer([{"x": 1}], even, y={"value": 0}, y2={"value": "height"}),
    ]


def make_points(section: Comparison, against: Against) -> list[Point]:
    """The rows of a section as points; those without finite figures are left out."""
    scale = 100 if section.percent else 1
    costs = {"spent": 1.0, "seconds": 1 / 3600}
    points = []
    for row in section.rows:
        price = row.spent if against == "spent" else row.seconds
        if math.isfinite(row.final.mean) and math.isfinite(price.mean):
            value, value_std = _scale(row.final, scale)
            cost, cost_std = _scale(price, costs[against])
            points.append(Point(row.label, value, cost, value_std, cost_std))
    return points


def _choose_labels(section: Comparison, against: Against) -> Labels:
    unit = " (%)" if section.percent else ""
    cost = {"spent": "resource spent", "seconds": "runtime (hours)"}[against]
    title = f"{section.benchmark}: {section.final_metric} against {cost.removesuffix(' (hours)')}"
    return Labels(title, f"{section.final_metric}{unit}", cost, section.final_goal)


def _scale(figure: Spread, factor: float) -> tuple[float, float]:
    spread = figure.std * factor
    return figure.mean * factor, spread if math.isfinite(spread) else 0.0


def _draw_front(best: Sequence[Point]) -> dict[str, Any]:
    rows = [{"x": point.cost, "y": point.value} for point in best]
    mark = {"type": "line", "interpolate": "step-after", "color": theme.GRID, "strokeWidth": 6}
    return layer(rows, mark)


def _draw_points(
    points: Sequence[Point], best: Sequence[Point], span: tuple[float, float]
) -> list[dict[str, Any]]:
    """The points with their error bars; those of the front are larger, their bars have colour.

    Args:
        points: the points.
        best: those of the front.
        span: where the horizontal axis begins and ends: no bar goes further.
    """
    names = _name_points(points)
    numbers = range(len(points))
    places: dict[tuple[float, float], list[str]] = {}
    for number, point in enumerate(points, start=1):
        places.setdefault((point.cost, point.value), []).append(str(number))
    # Points in the same place have their numbers side by side, not over each other.
    written = {found[0]: ", ".join(found) for found in places.values()}
    rows = [
        {
            "label": name,
            "number": written.get(str(number), ""),
            "best": point in best,
            "x": point.cost,
            "y": point.value,
            "left": max(point.cost - point.cost_std, span[0]),
            "right": min(point.cost + point.cost_std, span[1]),
            "bottom": point.value - point.value_std,
            "top": point.value + point.value_std,
            "found": f"{format_short(point.value)} ± {format_short(point.value_std)}",
            "spent": f"{format_short(point.cost)} ± {format_short(point.cost_std)}",
        }
        for number, (point, name) in enumerate(zip(points, names, strict=True), start=1)
    ]
    colour = legend("color", names, [*map(theme.colour, numbers)])
    shape = legend("shape", names, [*map(theme.symbol, numbers)])
    chosen: dict[str, Any] = {"condition": {"param": "chosen", "value": 1}, "value": 0.1}
    # Dozens of coloured bars would hide the points.
    faint = {"condition": {"test": "datum.best", **colour["color"]}, "value": theme.FAINT}
    tips = [tip("label", "method"), tip("found", "value"), tip("spent", "cost")]
    bar: dict[str, Any] = {"color": faint, "opacity": chosen}
    size = {"condition": {"test": "datum.best", "value": 120}, "value": 50}
    select = {"type": "point", "fields": ["label"]}
    param = {"params": [{"name": "chosen", "select": select, "bind": "legend"}]}
    rule = {"type": "rule"}
    looks: dict[str, Any] = {**colour, **shape, "size": size, "opacity": chosen}
    layers = [
        layer(rows, rule, x={"field": "left"}, x2={"field": "right"}, **bar),
        layer(rows, rule, y={"field": "bottom"}, y2={"field": "top"}, **bar),
        layer(rows, DOT, more=param, **looks, tooltip=tips),
    ]
    if len(points) > len(theme.PALETTE):
        mark = {"type": "text", "align": "left", "dx": 7, "dy": -7, "fontSize": 10}
        layers.append(layer(rows, mark, text={"field": "number"}, opacity=chosen))
    return layers


def _name_points(points: Sequence[Point]) -> list[str]:
    """What the legend lists; numbered where colours alone do not distinguish the points."""
    names = [theme.clean_text(point.label) for point in points]
    if len(names) <= len(theme.PALETTE) and len(set(names)) == len(names):
        return names
    return [f"{number}  {name}" for number, name in enumerate(names, start=1)]
