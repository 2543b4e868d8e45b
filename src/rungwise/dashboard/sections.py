"""The parts of the page that are about the study as a whole, as plain JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rungwise.backends.base import WorkerView
from rungwise.core.codec import jsonable
from rungwise.core.timeline import AppliedRequest
from rungwise.dashboard.texts import list_parameters, short, write_config
from rungwise.display.base import Snapshot
from rungwise.display.estimate import Estimator
from rungwise.tuning.follower import Fold
from rungwise.tuning.retrained import describe_values
from rungwise.views import StudyView

POINTS = 400
"""How many points a line has at most."""

GROUPS = 100
"""How many reasons of failures are listed."""


def write_status(view: StudyView | None, *, running: bool) -> str:
    """The state of a study in one word; "empty" while its file holds none."""
    if view is None:
        return "running" if running else "empty"
    return view.state


def write_headline(view: StudyView, fold: Fold, path: Path) -> dict[str, Any]:
    """What the study is and how it stands."""
    about, limits = fold.about, view.limits
    tags, note = about.labels
    running = view.state == "running"
    return {
        "name": path.name,
        "path": str(path),
        "metric": view.metric,
        "goal": view.goal,
        "unit": view.unit,
        "created": about.created,
        "version": about.version,
        "scheduler": _name(view.recipe),
        "searcher": _name(view.searcher),
        "tags": list(tags),
        "note": note,
        "limits": {
            name: getattr(limits, name)
            for name in ("trials", "seconds", "resource", "cost", "target", "stall")
        },
        "max_resource": None if about.open_ended else view.recipe.max_resource,
        "levels": list(view.levels),
        "params": list_parameters(view),
        "state": view.state,
        "resume": view.way_on,
        "why": view.why,
        "numbers": view.numbers,
        "rule": view.rule,
        "ended": view.ended,
        "best": _describe_best(view),
        "trials": view.trials,
        "reports": view.reports,
        "spent": view.resource_spent,
        "repeated": view.resource_repeated,
        "cost": view.cost,
        "seconds": round(fold.clock, 3),
        "ceiling": view.ceiling,
        "failures": len(fold.failures),
        "open": len(view.open_jobs) if running else 0,
        "workers": view.situation.workers,
        "extensions": [str(each) for each in view.extensions],
        "retrained": [
            {
                "trial": one.trial,
                "resource": one.resource,
                "value": short(one.value),
                "text": describe_values(one.value, one.resource, one.best, digits=5),
            }
            for one in fold.retrained.values()
        ],
    }


def _name(recipe: Any) -> str:
    return "" if recipe is None else type(recipe).__name__


def _describe_best(view: StudyView) -> dict[str, Any] | None:
    best = view.best
    if best is None:
        return None
    return {
        "trial": best.trial,
        "value": best.value,
        "resource": best.resource,
        "problem": best.problem,
        "config": jsonable(best.config),
        "texts": write_config(best.config),
    }


def write_saving(view: StudyView) -> dict[str, Any]:
    """What was saved, as far as it can be said."""
    document: dict[str, Any] = jsonable(view.savings.to_json())
    return document


def write_ladder(view: StudyView) -> dict[str, Any]:
    """The rungs, how the ceiling rose, and what its checks measured."""
    return {
        "rungs": [
            [rung.level, rung.entered, rung.waiting, rung.running_to, short(rung.best)]
            for rung in view.rungs()
        ],
        "rises": [
            {"reports": r.reports, "level": r.level, "at": r.at, "spent": r.spent, "why": r.why}
            for r in view.rises
        ],
        "epsilons": thin([[count, short(value)] for count, value in view.epsilons]),
        "checks": thin(
            [
                [n, short(measure), short(bound), stable]
                for n, measure, bound, _, stable in view.checks
            ]
        ),
        "explanation": view.explanation,
    }


def write_history(view: StudyView) -> dict[str, Any]:
    """How the best value improved."""
    bests = [[spent, round(at, 3), trial, short(value)] for spent, at, trial, value in view.bests]
    return {"bests": thin(bests)}


def write_failures(view: StudyView, fold: Fold) -> dict[str, Any]:
    """Failures by their reason, the most frequent first; and what else is to be known."""
    groups: dict[str, dict[str, Any]] = {}
    for failure in fold.failures:
        reason = failure["reason"]
        if reason not in groups:
            groups[reason] = {"reason": reason, "count": 0, "first": failure["at"], "trials": []}
        group = groups[reason]
        group["count"] += 1
        group["last"] = failure["at"]
        group["spared"] = group.get("spared", 0) + bool(failure["spared"])
        if failure["trial"] not in group["trials"] and len(group["trials"]) < 20:
            group["trials"].append(failure["trial"])
    often = sorted(groups.values(), key=lambda group: -group["count"])
    found = sorted([*describe_requests(view), *fold.notices], key=lambda remark: remark[0])
    remarks = [[round(at, 1), kind, text] for at, kind, text in found]
    return {
        "groups": often[:GROUPS],
        "more": max(0, len(often) - GROUPS),
        "total": len(fold.failures),
        "marks": [[f["job"], round(f["at"], 3)] for f in fold.failures[-POINTS:]],
        "remarks": remarks[-POINTS:],
    }


def describe_requests(view: StudyView) -> list[tuple[float, str, str]]:
    """[(seconds, kind, text), …] of what people asked for."""
    return [(one.at, "request", _describe_request(view, one)) for one in view.requests]


def _describe_request(view: StudyView, request: AppliedRequest) -> str:
    number = request.number
    if request.kind == "extended":
        return f"the study was extended: {view.extensions[number]}"
    if request.kind == "added":
        return f"{number} configuration{'s' * (number != 1)} added on request"
    reason = f": {request.reason}" if request.reason else ""
    return f"trial {number} {request.kind} on request{reason}"


def thin(points: list[Any], most: int = POINTS) -> list[Any]:
    """The first, the last and some of the points between."""
    if len(points) <= most:
        return points
    places = sorted({round(k * (len(points) - 1) / (most - 1)) for k in range(most)})
    return [points[place] for place in places]


class TimeLeft:
    """Estimates how long a running study may still take."""

    def __init__(self) -> None:
        self._estimator = Estimator()

    def write(self, view: StudyView, fold: Fold) -> str:
        """The estimate in words."""
        workers = []
        for number, job in enumerate(view.open_jobs):
            found = view.job(job)
            reached = view.trial(found.trial).resource
            since = fold.clock - found.issued
            workers.append(WorkerView(number, "", found.trial, reached, found.until, since))
        idle = view.situation.workers - len(workers)
        workers += [WorkerView(len(workers) + more) for more in range(idle)]
        snapshot = Snapshot(view, fold.clock, workers)
        return str(self._estimator.left(snapshot))
