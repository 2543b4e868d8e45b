"""How a study went: its best value over what was spent, and what its workers did when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from rungwise.errors import InvalidArgumentError, Words
from rungwise.formatting import format_config, format_count, format_value
from rungwise.plots import theme
from rungwise.plots.domains import LARGEST
from rungwise.plots.figure import Figure, make_figure
from rungwise.plots.history import read_view
from rungwise.plots.layers import DOT, layer, legend, tip
from rungwise.validation import one_of
from rungwise.views import StudyView

Over = Literal["resource", "seconds"]

STATES = ("completed", "paused", "stopped", "failed", "running")
"""What became of the trials of a timeline, as its legend lists them."""


def history(result: Any, *, over: Over = "resource") -> Figure:
    """The best value so far, over what was spent. Dots mark where another trial became the best.

    It is the best value reported by then, whatever became of its trial since.

    Args:
        result: the result of a study.
        over: the ``"resource"`` spent, or the ``"seconds"`` that have passed.
    """
    one_of("over", over, ("resource", "seconds"))
    view = read_view(result)
    bests = [best for best in view.bests if abs(best[3]) <= LARGEST]
    if not bests:
        rule = "at least one trial must have reported a finite value"
        raise InvalidArgumentError("source", Words("a study without a value"), rule)
    column = 0 if over == "resource" else 1
    times = [end for _, end in view.job_times() if math.isfinite(end)]
    end = view.resource_spent if over == "resource" else max([*times, bests[-1][1]])
    xs = [best[column] for best in bests]
    ys = [best[3] for best in bests]
    changes: list[dict[str, Any]] = [
        {
            "x": best[column],
            "y": best[3],
            "name": f"trial {best[2]}",
            "value": format_value(best[3]),
            "about": theme.clean_text(format_config(view.trial(best[2]).config)),
        }
        for before, best in zip([None, *bests], bests, strict=False)
        if before is None or before[2] != best[2]
    ]
    tips = [tip("name", "trial"), tip("value", "value"), tip("about", "configuration")]
    line = {"type": "line", "interpolate": "step-after", "color": theme.colour(0)}
    low, high = _find_span(ys)
    cut = [min(max(y, low), high) for y in [*ys, ys[-1]]]
    changes = [row for row in changes if low <= float(row["y"]) <= high]
    return make_figure(
        [
            layer([{"x": [*xs, end], "y": cut}], line, flatten=True),
            layer(changes, {**DOT, "size": 60, "color": theme.colour(0)}, tooltip=tips),
        ],
        title=f"The best {view.metric} so far",
        note="dots: another trial became the best",
        x={
            "title": f"{view.unit} spent" if over == "resource" else "seconds",
            "scale": {"zero": True, "nice": False},
        },
        y={"title": view.metric, "scale": {"domain": [low, high], "nice": False}},
    )


def timeline(result: Any) -> Figure:
    """What each worker trained when, one bar per job, in the colour of what became of its trial.

    Which worker trained a job is not kept: jobs are placed on as few lines as were busy at a time.

    Args:
        result: the result of a study.
    """
    view = read_view(result)
    bars = list_bars(view)
    if not bars:
        rule = "at least one job must have been started"
        raise InvalidArgumentError("source", Words("a study without a job"), rule)
    there = {bar["label"] for bar in bars}
    names = [state for state in STATES if state in there]
    colours = [theme.colour(STATES.index(name)) for name in names]
    tips = [tip("name", "trial"), tip("span", "resource"), tip("label", "its trial is")]
    tips.append(tip("about", "configuration"))
    lanes = 1 + max(int(bar["lane"]) for bar in bars)
    mark = {"type": "rect", "stroke": "white", "strokeWidth": 0.5}
    return make_figure(
        [
            layer(
                bars,
                mark,
                x2={"field": "x2"},
                y2={"field": "y2"},
                **legend("color", names, colours),
                tooltip=tips,
            )
        ],
        title="Jobs over time",
        note=f"{format_count(len(bars), 'job')} on {format_count(lanes, 'worker')}",
        x={"title": "seconds", "scale": {"zero": True, "nice": False}},
        y={
            "title": "worker",
            "scale": {"domain": [lanes, 0], "nice": False},
            "axis": {
                "values": [lane + 0.5 for lane in range(lanes)],
                "labelExpr": "format(datum.value + 0.5, ',')",
            },
        },
        height=max(240, min(1200, 140 + 26 * lanes)),
    )


def list_bars(view: StudyView) -> list[dict[str, Any]]:
    """The jobs with their times and lines; those that are running end at the last known time."""
    jobs, times = view.jobs(), view.job_times()
    last = max((time for pair in times for time in pair if math.isfinite(time)), default=0.0)
    order = sorted(range(len(jobs)), key=lambda job: (times[job][0], job))
    lanes = _pack([(times[job][0], _end(times[job][1], last)) for job in order])
    bars = []
    for job, lane in zip(order, lanes, strict=True):
        (number, start, until), (begun, end) = jobs[job], times[job]
        trial = view.trial(number)
        bars.append({
            "x": begun, "x2": _end(end, last), "y": lane + 0.1, "y2": lane + 0.9, "lane": lane,
            "label": "running" if math.isnan(end) else _name_state(trial.state),
            "name": f"trial {number}", "span": f"{start:g} to {until:g}",
            "about": theme.clean_text(format_config(trial.config)),
        })  # fmt: skip
    return bars


def _name_state(state: str) -> str:
    other = {"pausing": "paused", "lost": "paused", "stopping": "stopped", "ended": "failed"}
    return state if state in STATES else other.get(state, "running")


def _end(end: float, last: float) -> float:
    return end if math.isfinite(end) else last


def _pack(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The line of each span: the first that is free then."""
    free: list[float] = []
    lanes = []
    for begun, end in spans:
        lane = next((n for n, until in enumerate(free) if until <= begun), len(free))
        if lane == len(free):
            free.append(end)
        free[lane] = end
        lanes.append(lane)
    return lanes


def _find_span(values: Sequence[float]) -> tuple[float, float]:
    """The range of values to show: first values that were very bad do not flatten the rest."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    if len(values) > 4:
        worst_first = values[0] > values[-1]
        room = 4 * abs(ordered[len(ordered) // 2] - values[-1])
        if room:
            low, high = (
                (low, min(high, low + room)) if worst_first else (max(low, high - room), high)
            )
    pad = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad
