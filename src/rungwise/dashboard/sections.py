"""The parts of the page that are about the study as a whole, as plain JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from rungwise import counterfactual
from rungwise.backends.base import WorkerView
from rungwise.core.codec import jsonable
from rungwise.core.engine import Engine
from rungwise.core.timeline import AppliedRequest
from rungwise.dashboard.follower import Fold, Follower
from rungwise.dashboard.texts import list_parameters, short, write_config
from rungwise.display.base import Snapshot
from rungwise.display.estimate import Estimator
from rungwise.errors import RungwiseError
from rungwise.storage.study_file import shown
from rungwise.views import StudyView

POINTS = 400
"""How many points a line has at most."""

GROUPS = 100
"""How many reasons of failures are listed."""


def name_state(follower: Follower) -> str:
    """The state of a study in one word."""
    fold = follower.fold
    if fold is None:
        return "running" if follower.running else "empty"
    if follower.running:
        return "running"
    if fold.engine.ended is not None:
        return "finished"
    hopeless = fold.failures and not fold.engine.reports
    return "failed" if hopeless else "interrupted"


def write_headline(follower: Follower, fold: Fold) -> dict[str, Any]:
    """What the study is and how it stands."""
    engine, about = fold.engine, fold.about
    view = StudyView(engine, about.metric)
    tags, note = about.labels
    limits, maximum = view.limits, view.recipe.max_resource
    return {
        "name": follower.path.name,
        "path": str(follower.path),
        "metric": about.metric,
        "goal": view.goal,
        "created": about.created,
        "version": about.version,
        "scheduler": _name(view.recipe),
        "searcher": _name(engine.study.searcher),
        "tags": list(tags),
        "note": note,
        "limits": {
            name: getattr(limits, name)
            for name in ("trials", "seconds", "resource", "cost", "target", "stall")
        },
        "max_resource": None if about.open_ended else maximum,
        "levels": list(view.levels),
        "params": list_parameters(engine),
        "state": name_state(follower),
        "resume": _way_to_go_on(follower, fold),
        "why": _explain(follower, view),
        "ended": engine.ended,
        "best": _describe_best(view),
        "trials": view.trials,
        "reports": view.reports,
        "spent": view.resource_spent,
        "repeated": view.resource_repeated,
        "cost": view.cost,
        "seconds": round(fold.clock, 3),
        "ceiling": view.ceiling,
        "failures": len(fold.failures),
        "open": len(engine.open_jobs) if follower.running else 0,
        "workers": about.workers,
        "extensions": [str(each) for each in view.extensions],
        "retrained": [
            {"trial": one.trial, "resource": one.resource, "value": short(one.value)}
            for one in fold.retrained.values()
        ],
    }


def _name(recipe: Any) -> str:
    return "" if recipe is None else type(recipe).__name__


def _explain(follower: Follower, view: StudyView) -> str:
    """Why the study ended, goes on or stopped, and why the ceiling stands where it does."""
    if view.ended:
        return view.why
    if follower.running:
        return f"The study is running{view.rest}; {view.explanation}."
    rest = view.rest and f"{view.rest},"
    return f"The study was interrupted{rest} and can be resumed; {view.explanation}."


def _way_to_go_on(follower: Follower, fold: Fold) -> str:
    """What a person types to go on."""
    if follower.running:
        return ""
    name = shown(follower.path)
    if fold.about.train is None:
        more = f", trials={len(fold.engine.trials) + 16}" if fold.engine.ended else ""
        return f"rungwise.resume({name!r}, train{more})"
    more = f" --trials {len(fold.engine.trials) + 16}" if fold.engine.ended else ""
    return f"rungwise resume {shlex.quote(name)}{more}"


def _describe_best(view: StudyView) -> dict[str, Any] | None:
    best = view.best
    if best is None:
        return None
    return {
        "trial": best.trial,
        "value": best.value,
        "resource": best.resource,
        "config": jsonable(best.config),
        "texts": write_config(best.config),
    }


def write_saving(fold: Fold) -> dict[str, Any] | None:
    """What ASHA would have spent on the same configurations; None where that cannot be said."""
    engine, about = fold.engine, fold.about
    if about.open_ended or engine.best is None:
        return None
    workers = about.workers
    try:
        found = counterfactual.saving(engine, "asha", workers=max(1, int(workers)))
    except (RungwiseError, ValueError, TypeError):
        return None
    return {
        "spent": found.resource,
        "other": found.other,
        "ratio": found.ratio,
        "how": found.how,
        "text": counterfactual.describe_saving(found),
    }


def write_ladder(fold: Fold) -> dict[str, Any]:
    """The rungs, how the ceiling rose, and what its checks measured."""
    engine = fold.engine
    view = StudyView(engine, fold.about.metric)
    checks: Sequence[Any] = getattr(engine.scheduler, "checks", ())
    return {
        "rungs": [
            [rung.level, rung.entered, rung.waiting, rung.running_to, short(rung.best)]
            for rung in view.rungs()
        ],
        "rises": [
            {"reports": r.reports, "level": r.level, "at": r.at, "spent": r.spent, "why": r.why}
            for r in engine.timeline.rises
        ],
        "epsilons": thin([[count, short(value)] for count, value in view.epsilons]),
        "checks": thin(
            [[n, short(measure), short(bound), stable] for n, measure, bound, _, stable in checks]
        ),
        "explanation": view.explanation,
    }


def write_history(fold: Fold) -> dict[str, Any]:
    """How the best value improved."""
    view = StudyView(fold.engine, fold.about.metric)
    bests = [[spent, round(at, 3), trial, short(value)] for spent, at, trial, value in view.bests]
    return {"bests": thin(bests)}


def write_failures(fold: Fold) -> dict[str, Any]:
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
    found = sorted([*describe_requests(fold.engine), *fold.notices], key=lambda remark: remark[0])
    remarks = [[round(at, 1), kind, text] for at, kind, text in found]
    return {
        "groups": often[:GROUPS],
        "more": max(0, len(often) - GROUPS),
        "total": len(fold.failures),
        "marks": [[f["job"], round(f["at"], 3)] for f in fold.failures[-POINTS:]],
        "remarks": remarks[-POINTS:],
    }


def describe_requests(engine: Engine) -> list[tuple[float, str, str]]:
    """[(seconds, kind, text), …] of what people asked for."""
    return [(one.at, "request", _describe_request(engine, one)) for one in engine.timeline.requests]


def _describe_request(engine: Engine, request: AppliedRequest) -> str:
    number = request.number
    if request.kind == "extended":
        return f"the study was extended: {engine.extensions[number]}"
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

    def write(self, fold: Fold) -> str:
        """The estimate in words."""
        engine, about = fold.engine, fold.about
        workers = []
        for number, job in enumerate(engine.open_jobs):
            found = engine.jobs[job]
            reached = engine.trials[found.trial].resource
            since = fold.clock - engine.timeline.starts[job]
            workers.append(WorkerView(number, "", found.trial, reached, found.until, since))
        idle = about.workers - len(workers)
        workers += [WorkerView(len(workers) + more) for more in range(idle)]
        view = StudyView(engine, about.metric)
        snapshot = Snapshot(view, fold.clock, workers, open_ended=about.open_ended)
        return str(self._estimator.left(snapshot))
