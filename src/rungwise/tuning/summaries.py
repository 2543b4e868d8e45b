"""The summary of a study in its file: what ``show`` and ``list`` print, without a replay.

A tuner writes it when it leaves the file. It says which entries it sums up (their number and the
last checksum of their chain) and how many notes there were; it is used only if that is what the
file holds now, and if its own checksum is right. Else the study is replayed. Its size depends on
the number of trials, not on that of reports: of every curve it holds the points that are compared.
``rungwise verify`` replays everything.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rungwise.core.decisions import Job
from rungwise.core.engine import Engine
from rungwise.core.trials import State, Trial
from rungwise.counterfactual import list_compared_levels
from rungwise.errors import InvalidArgumentError, RungwiseError
from rungwise.storage import codec
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.loading import load, read_options
from rungwise.tuning.opening import must_be_file, read_view
from rungwise.tuning.result import TuningResult
from rungwise.views import StudyView
from rungwise.views.ended import EndedPlan, EndedScheduler, EndedStudy
from rungwise.views.folds import list_levels

_PLAIN = ("reports", "spent", "cost", "ended", "best_value", "best_resource")


def keep_summary(file: StudyFile, engine: Engine, seconds: float) -> None:
    """Write the summary of a study that this process leaves as it is now.

    Args:
        file: the study, open for writing.
        engine: how it stands.
        seconds: how long it has taken.
    """
    if engine.timeline.requests or engine.open_jobs:
        return  # what people asked for is not in it, or the study was ended in the middle
    levels = list_levels(engine)
    points = sorted({*levels, *list_compared_levels(engine)})
    document = {
        **{name: getattr(engine, name) for name in _PLAIN},
        "study": codec.study_to_json(engine.study),
        "seconds": seconds,
        "best": None if engine.best is None else engine.best.id,
        "why": engine.why(),
        "explanation": engine.scheduler.explain(),
        "ceilings": list(engine.scheduler.ceilings),
        "epsilons": list(engine.scheduler.epsilons),
        "leads": engine.leads,
        "levels": list(levels),
        "trials": [_reduce(trial, points) for trial in engine.trials],
    }
    file.log.write_summary(json.dumps(document))


def _reduce(trial: Trial, levels: Sequence[int]) -> list[Any]:
    """A trial with the reports at its rungs, its best and its last one."""
    count = len(trial.resources)
    places = {bisect_left(trial.resources, level) for level in levels}
    if count:
        places |= {count - 1, trial.losses.index(min(trial.losses))}
    kept = sorted(place for place in places if place < count)
    return [
        dict(trial.config),
        trial.bracket,
        trial.state.value,
        trial.until,
        trial.resource,
        trial.note,
        [trial.resources[place] for place in kept],
        [trial.losses[place] for place in kept],
    ]


def _restore(number: int, row: Sequence[Any]) -> Trial:
    config, bracket, state, *rest = row
    until, resource, note, *curve = rest[-5:]  # before it 0.2.0 has the rung
    return Trial.recall(
        number,
        {str(name): config[name] for name in config},
        int(bracket),
        state=State(state),
        until=float(until),
        resource=float(resource),
        note=str(note),
        curve=(curve[0], curve[1]),
    )


def _record(document: Mapping[str, Any]) -> EndedStudy:
    """The record of a study from its summary."""
    study = codec.study_from_json(document["study"])
    scheduler = EndedScheduler(study.scheduler.build(trials=study.limits.trials))
    scheduler.ceilings = tuple((int(count), float(level)) for count, level in document["ceilings"])
    scheduler.epsilons = tuple((int(count), float(value)) for count, value in document["epsilons"])
    scheduler.explanation = str(document["explanation"])
    trials = [_restore(number, row) for number, row in enumerate(document["trials"])]
    best = document["best"]
    return EndedStudy(
        study=EndedPlan(study.scheduler, study.limits, study.goal),
        scheduler=scheduler,
        trials=trials,
        # Without a ladder, the ends of jobs are the levels.
        jobs=[Job(n, 0, {}, 0, int(level)) for n, level in enumerate(document["levels"])],
        open_jobs=(),
        best=None if best is None else trials[best],
        leads=[(float(spent), int(trial)) for spent, trial in document["leads"]],
        explanation=str(document["why"]),
        reports=int(document["reports"]),
        spent=float(document["spent"]),
        cost=float(document["cost"]),
        ended=None if document["ended"] is None else str(document["ended"]),
        best_value=None if best is None else float(document["best_value"]),
        best_resource=float(document["best_resource"]),
    )


def _read(file: StudyFile) -> tuple[EndedStudy, float] | None:
    """The summary of a file, if it has one that is of all it holds."""
    text = file.log.read_summary()
    if text is None or file.retrainings() or file.retrains():
        return None
    try:
        document = json.loads(text)
        return _record(document), float(document["seconds"])
    except (RungwiseError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None  # written by another version: the entries count


def load_summary(study: str | os.PathLike[str]) -> TuningResult:
    """The result of a study file for printing: leaderboard, rungs and totals, not its curves.

    Args:
        study: the file.
    """
    must_be_file("study", study)
    with StudyFile(Path(study).resolve(), mode="read", checked=False) as file:
        running = file.log.lock.held()
        with file.log.snapshot():
            found = None if running or not file.begun else _read(file)
            if found is not None:
                record, seconds = found
                about = file.about
                return TuningResult(
                    cast("Engine", record),
                    file.path,
                    about,
                    seconds=seconds,
                    failures=file.failures(),
                    options=read_options(about, ()),
                    workers=about.workers,
                )
    return load(study)


def read_summary_view(study: str | os.PathLike[str]) -> StudyView:
    """The state of a study for a list of studies."""
    must_be_file("study", study)
    with StudyFile(Path(study).resolve(), mode="read", checked=False) as file:
        if not file.begun:
            raise InvalidArgumentError("study", str(study), "it contains no study")
        running = file.log.lock.held()
        with file.log.snapshot():
            found = _read(file)
            if found is not None:
                record, seconds = found
                return StudyView.of(
                    record,
                    file.about,
                    file.path,
                    running=running,
                    seconds=seconds,
                    failures=len(file.failures()),
                )
    return read_view(study)
