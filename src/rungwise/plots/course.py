"""How a study went: ε over the reports, and who climbed the ladder when."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.plots import theme
from rungwise.plots.sources import Course, Leg, legs_known, read_course, read_courses
from rungwise.views import UNNAMED

if TYPE_CHECKING:
    import plotly.graph_objects as go


def epsilon(results: Any) -> go.Figure:
    """ε, the noise below which PASHA takes two configurations for equals, over the reports.

    ε is worked out when a check depends on it; the line shows what the last check used. Dots mark
    where the ceiling rose.

    Args:
        results: what came of a study (:class:`rungwise.SimulationResult`,
            :class:`rungwise.TuningResult`, or an engine), or several by label.
    """
    courses = read_courses(results)
    if not any(course.epsilons for course in courses.values()):
        rule = "one study at least must have asked for ε: PASHA does, with a ranking that has one"
        raise InvalidArgumentError("results", Words("without ε"), rule)
    traces = []
    for number, (label, course) in enumerate(courses.items()):
        traces += _epsilon_traces(label, course, number)
    metrics = {course.metric for course in courses.values()}
    unit = metrics.pop() if len(metrics) == 1 else UNNAMED
    return theme.figure(
        traces,
        title="ε over the study",
        x="reports",
        y="ε" if unit == UNNAMED else f"ε (in units of {unit})",
        note="0 as long as no two curves have crossed and crossed back",
    )


def _epsilon_traces(label: str, course: Course, number: int) -> list[Any]:
    go = theme.graph_objects()
    name = theme.escape(label or "ε")
    if not course.epsilons:
        # A line of the legend without a line in the picture: it was not forgotten.
        line = {"color": theme.colour(number), "dash": theme.dash(number)}
        name = f"{name} (asked for no ε)"
        return [go.Scatter(x=[None], y=[None], mode="lines", name=name, line=line)]
    # It is 0 before the first check, and holds until the end.
    xs = [0, *(reports for reports, _ in course.epsilons), course.reports]
    ys = [0.0, *(value for _, value in course.epsilons), course.epsilons[-1][1]]
    colour = theme.colour(number)
    line = go.Scatter(
        x=xs,
        y=ys,
        name=name,
        text=[name] * len(xs),
        mode="lines",
        line={"shape": "hv", "color": colour, "width": 2, "dash": theme.dash(number)},
        hovertemplate="%{text}<br>ε = %{y:.4g} after %{x} reports<extra></extra>",
    )
    rises = course.ceilings[1:]
    if not rises:
        return [line]
    at = [bisect_right(course.epsilons, (reports, math.inf)) - 1 for reports, _ in rises]
    dots = go.Scatter(
        x=[reports for reports, _ in rises],
        y=[course.epsilons[index][1] if index >= 0 else 0.0 for index in at],
        name=f"{name}: the ceiling rises" if label else "the ceiling rises",
        text=[f"{name}<br>the ceiling rises to {level:g}" for _, level in rises],
        mode="markers",
        marker={"color": colour, "size": 8, "symbol": theme.symbol(number)},
        hovertemplate="%{text} after %{x} reports<extra></extra>",
    )
    return [line, dots]


def ladder(result: Any) -> go.Figure:
    """The ladder over time: who was trained when to which rung, and the ceiling above them.

    Every dot is a job at the rung it got to, every thin line a promotion. Jobs stand one after
    the other in the order they were issued, each as many reports wide as it trained, whatever ran
    beside it.

    Args:
        result: what came of a study: a :class:`rungwise.SimulationResult`, a
            :class:`rungwise.TuningResult`, or an engine. The first does not tell how far jobs got
            that were stopped on their way (``variant="stopping"``): keep a log then, and draw
            ``rungwise.replay(log)``.
    """
    course = read_course(result)
    legs_known(course)
    if not course.legs:
        raise InvalidArgumentError("result", Words("without a job"), "there must be one at least")
    placed = _placed(course.legs)
    end = max(placed[-1][0], course.reports)
    due = f"; {course.cut:,g} of their reports were due when the study ended" if course.cut else ""
    drawn = theme.figure(
        [_promotions(placed), *_arrivals(placed), *_ceiling(course, end)],
        title="The ladder over time",
        x="reports, job after job",
        y="resource (rungs)",
        note=f"{len(course.legs):,} jobs{due}",
    )
    # Levels grow by a factor from rung to rung, so that a logarithm spaces them evenly.
    levels = sorted({leg.end for leg in course.legs if leg.end} | {n for _, n in course.ceilings})
    levels = [level for level in levels if level > 0] or [1]
    drawn.update_yaxes(
        type="log",
        tickvals=_few(levels),
        ticktext=[f"{level:g}" for level in _few(levels)],
        range=[math.log10(levels[0] / 1.4), math.log10(levels[-1] * 1.6)],
    )
    return drawn


def _placed(legs: Sequence[Leg]) -> list[tuple[float, Leg]]:
    """Each leg with the place where it ends."""
    placed, total = [], 0.0
    for leg in legs:
        total += leg.end - leg.start
        placed.append((total, leg))
    return placed


def _promotions(placed: Sequence[tuple[float, Leg]]) -> Any:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for x, leg in placed:
        if leg.start > 0 and leg.end > leg.start:
            xs += [x, x, None]
            ys += [leg.start, leg.end, None]
    return theme.graph_objects().Scatter(
        x=xs or [None],
        y=ys or [None],
        name="promoted",
        mode="lines",
        line={"color": theme.FAINT, "width": 1},
        hoverinfo="skip",
    )


def _arrivals(placed: Sequence[tuple[float, Leg]]) -> list[Any]:
    """The dots, those of the winner joined."""
    go = theme.graph_objects()
    traces = []
    for best, name in ((False, "a job ends"), (True, "the winner climbs")):
        dots = [(x, leg) for x, leg in placed if leg.best is best and leg.end > leg.start]
        if not dots:
            continue
        colour = theme.colour(2 if best else 0)
        told = [f"{leg.name}: from {leg.start:g} to {leg.end:g}" for _, leg in dots]
        traces.append(
            go.Scatter(
                x=[x for x, _ in dots],
                y=[leg.end for _, leg in dots],
                name=f"{name} ({dots[0][1].name})" if best else name,
                text=told,
                mode="lines+markers" if best else "markers",
                line={"color": colour, "width": 2},
                marker={"color": colour, "size": 9 if best else 5, "opacity": 1 if best else 0.6},
                hovertemplate="%{text}<extra></extra>",
            )
        )
    return traces


def _ceiling(course: Course, end: float) -> list[Any]:
    rises = [(reports, level) for reports, level in course.ceilings if level > 0]
    if not rises:
        return []
    return [
        theme.graph_objects().Scatter(
            x=[*(reports for reports, _ in rises), end],
            y=[*(level for _, level in rises), rises[-1][1]],
            name="the ceiling",
            mode="lines",
            line={"shape": "hv", "color": theme.colour(1), "width": 2.5},
            hovertemplate="the ceiling is %{y} after %{x} reports<extra></extra>",
        )
    ]


def _few(levels: Sequence[float], most: int = 12) -> list[float]:
    """Not more than a dozen levels to be written at the axis, the highest included."""
    step = -(-len(levels) // most)
    return list(levels[::-1][::step][::-1])
