"""The history of a study: ε over the reports, and which trial reached which rung when."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rungwise.errors import InvalidArgumentError, Words
from rungwise.formatting import format_config, format_count
from rungwise.plots import theme
from rungwise.plots.domains import make_count_axis
from rungwise.plots.figure import Figure, make_figure
from rungwise.plots.layers import DOT, hover, layer, legend, log_axis, tip
from rungwise.views import UNNAMED, StudyView, find_view

RULE = "it must be the result of a study: rungwise.simulate(…), tune(…), load(…) or replay(…)"
TICKS = 12
"""How many levels are written at the axis at most."""


def epsilon(results: Any) -> Figure:
    """ε, the difference that PASHA takes for noise, over the reports.

    ε is estimated when a check depends on it; the line shows what the last check used, 0 before
    the first. Dots mark where the ceiling rose.

    Args:
        results: the result of a study (:class:`rungwise.SimulationResult`,
            :class:`rungwise.TuningResult`, or an engine), or several by label.
    """
    views = _read_views(results)
    if not any(view.epsilons or _estimates_noise(view) for view in views.values()):
        rule = "at least one study must estimate it: PASHA does, with the rankings Noise and Leader"
        raise InvalidArgumentError("results", Words("without ε"), rule)
    names = [_name_study(label, view) for label, view in views.items()]
    lines = [_step_line(name, view) for name, view in zip(names, views.values(), strict=True)]
    rises = [
        {"label": name, "x": reports, "y": _find_epsilon(view, reports), "level": level}
        for name, view in zip(names, views.values(), strict=True)
        if view.epsilons or _estimates_noise(view)
        for reports, level in view.ceilings[1:]
    ]
    metrics = {view.metric for view in views.values()}
    unit = metrics.pop() if len(metrics) == 1 else UNNAMED
    if any(view.epsilons for view in views.values()):
        note = "0 until two curves have crossed twice"
    else:
        note = "no check has depended on ε, so it is still 0"
    if rises:
        note += "; dots mark where the ceiling rose, and to which level"
    top = max((y for line in lines for y in line["y"]), default=0.0)
    y: dict[str, Any] = {"scale": {"domain": [0, 1.1 * top or 1], "nice": False}}
    if not top:
        y["axis"] = {"values": [0]}
    return make_figure(
        _draw_epsilons(lines, rises, names),
        title="ε over the study",
        note=note,
        x={
            "title": "reports",
            "scale": {"nice": False},
            **make_count_axis(x for line in lines for x in line["x"]),
        },
        y={"title": "ε" if unit == UNNAMED else f"ε (in units of {unit})", **y},
    )


def _read_views(results: Any) -> dict[str, StudyView]:
    """Several studies by their labels; a single one has an empty label."""
    if not isinstance(results, Mapping):
        return {"": read_view(results)}
    if not results:
        raise InvalidArgumentError("results", results, "there must be at least one")
    return {str(label): read_view(result) for label, result in results.items()}


def read_view(source: Any) -> StudyView:
    """The view of what a user gave."""
    view = find_view(source)
    if view is None:
        raise InvalidArgumentError("result", source, RULE)
    return view


def _estimates_noise(view: StudyView) -> bool:
    """Whether a check of the study may depend on ε."""
    return view.recipe.noise_percentile() is not None


def _name_study(label: str, view: StudyView) -> str:
    name = theme.clean_text(label or "ε")
    if view.epsilons or not label:
        return name
    return f"{name} (not needed)" if _estimates_noise(view) else f"{name} (has no ε)"


def _step_line(name: str, view: StudyView) -> dict[str, Any]:
    """ε from the first report to the last; an empty line where the study has none."""
    if not (view.epsilons or _estimates_noise(view)):
        return {"label": name, "x": [], "y": []}
    steps = [(0, 0.0), *view.epsilons]
    steps.append((max(view.reports, steps[-1][0]), steps[-1][1]))
    return {"label": name, "x": [x for x, _ in steps], "y": [y for _, y in steps]}


def _find_epsilon(view: StudyView, reports: int) -> float:
    """The ε that the check after a number of reports used."""
    index = bisect_right(view.epsilons, (reports, math.inf)) - 1
    return view.epsilons[index][1] if index >= 0 else 0.0


def _draw_epsilons(
    lines: list[dict[str, Any]], rises: list[dict[str, Any]], names: list[str]
) -> list[dict[str, Any]]:
    numbers = range(len(names))
    colour = legend("color", names, [*map(theme.colour, numbers)])
    dash = legend("strokeDash", names, [*map(theme.dash, numbers)])
    shown = None if names == ["ε"] else {"title": None, "symbolType": "stroke"}
    colour["color"]["legend"] = dash["strokeDash"]["legend"] = shown
    tips = [tip("label", "study"), tip("y", "ε", ".4~g"), tip("x", "after reports", ",")]
    higher = [*tips, tip("level", "the ceiling rises to", ",")]
    stairs = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    word = {"type": "text", "dy": -12, "fontSize": 11}
    return [
        layer(lines, stairs, flatten=True, **colour, **dash),
        hover(lines, tips, flatten=True),
        layer(rises, {**DOT, "size": 60}, **colour, tooltip=higher),
        layer(
            rises, word, **colour, text={"field": "level", "type": "quantitative", "format": ","}
        ),
    ]


# -- the ladder --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Training:
    """What one job trained.

    Attributes:
        trial: the trial.
        start: the resource it started from.
        end: the resource it got to.
        at: where it ends in the picture: what it and all jobs before it trained.
    """

    trial: int
    start: float
    end: float
    at: float


def ladder(result: Any) -> Figure:
    """The ladder over time: which trial was trained when to which rung, and the ceiling above them.

    Every dot is a job at the resource it got to, every thin line a promotion. Jobs stand one after
    the other in the order they were issued, each as wide as what it trained, whatever ran beside
    it.

    Args:
        result: the result of a study: a :class:`rungwise.SimulationResult`, a
            :class:`rungwise.TuningResult`, or an engine.
    """
    view = read_view(result)
    jobs = _read_jobs(view)
    if not jobs:
        rule = "at least one job must have reported"
        raise InvalidArgumentError("result", Words("without a report"), rule)
    ends = [job.end for job in jobs]
    high = max([*ends, *(level for _, level in view.ceilings)])
    ticks = [level for level in view.levels if level <= high]
    low = min([*ends, *ticks])
    return make_figure(
        _draw_ladder(jobs, view),
        title="The ladder over time",
        note=f"{format_count(len(jobs), 'job')}; thin lines are promotions",
        x={
            "title": "reports (cumulative over jobs)",
            "scale": {"zero": True, "nice": False, "padding": 8},
            **make_count_axis([0, *(job.at for job in jobs)]),
        },
        # Levels grow by a factor from rung to rung, so that a logarithm spaces them evenly.
        y={"title": f"{view.unit} (rungs)", **log_axis(low / 1.4, high * 1.6, _thin(ticks))},
    )


def _read_jobs(view: StudyView) -> list[Training]:
    """What the jobs trained, in the order issued; those that came to nothing are left out."""
    # A job ended where the next one of its trial started, the last one where the trial stands.
    ends = {trial: view.trial(trial).resource for trial, _, _ in view.jobs()}
    spans = []
    for trial, start, _ in reversed(view.jobs()):
        spans.append((trial, start, ends[trial]))
        ends[trial] = start
    jobs, at = [], 0.0
    for trial, start, end in reversed(spans):
        if end > start:
            at += end - start
            jobs.append(Training(trial, start, end, at))
    return jobs


JOB, CEILING = "end of a job", "the ceiling"


def _draw_ladder(jobs: Sequence[Training], view: StudyView) -> list[dict[str, Any]]:
    """Promotions, the ceiling, the dots of all jobs, and those of the winner joined."""
    best = None if view.best is None else view.best.trial
    rises: list[tuple[float, float]] = [one for one in view.ceilings if one[1] > 0]
    winner = f"the winner (trial {best})"
    shown = {JOB: True, winner: best is not None, CEILING: bool(rises)}
    looks = {
        JOB: ("circle", theme.colour(0)),
        winner: ("circle", theme.colour(2)),
        CEILING: ("stroke", theme.colour(1)),
    }
    names = [name for name in looks if shown[name]]
    shape = legend("shape", names, [looks[name][0] for name in names])
    colour = legend("color", names, [looks[name][1] for name in names])
    promoted = [{"x": job.at, "y": job.start, "y2": job.end} for job in jobs if job.start > 0]
    thin = {"type": "rule", "color": theme.FAINT, "opacity": 0.6}
    tips = [tip("trial", "trial"), tip("from", "from", ","), tip("y", "to", ",")]
    tips.append(tip("about", "configuration"))
    dots = [{**_describe(job, view), "label": JOB} for job in jobs if job.trial != best]
    path = [{**_describe(job, view), "label": winner} for job in jobs if job.trial == best]
    above = [
        layer(dots, {**DOT, "size": 22, "opacity": 0.6}, **colour, **shape, tooltip=tips),
        layer(path, {"type": "line", "strokeWidth": 2}, **colour),
        layer(path, {**DOT, "size": 70}, **colour, **shape, tooltip=tips),
    ]
    below = [layer(promoted, thin, y2={"field": "y2"})]
    if rises:
        rises.append((max(jobs[-1].at, view.reports), rises[-1][1]))
        steps = [{"label": CEILING, "x": x, "y": y} for x, y in rises]
        mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 2.5}
        # Below the dots: those of jobs that ended at the ceiling lie on it.
        below.append(layer(steps, mark, **colour))
        above.append(hover(steps, [tip("y", CEILING, ","), tip("x", "after reports", ",")]))
    return below + above


def _describe(job: Training, view: StudyView) -> dict[str, Any]:
    about = theme.clean_text(format_config(view.trial(job.trial).config))
    return {"trial": job.trial, "from": job.start, "about": about, "x": job.at, "y": job.end}


def _thin(levels: Sequence[float]) -> list[float]:
    """Not more levels than can be read, the highest included."""
    step = max(1, -(-len(levels) // TICKS))
    return list(levels[::-1][::step][::-1])
