"""One trial in full, and what parameters matter: what is read only when a person asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rungwise.checkpoints import FolderStore
from rungwise.core.codec import jsonable
from rungwise.dashboard.rows import thin
from rungwise.dashboard.texts import write_config
from rungwise.errors import RungwiseError
from rungwise.formatting import strip_controls
from rungwise.session.checkpoint_retention import trial_place
from rungwise.storage.other_metrics import read_other_metrics
from rungwise.storage.study_file import StudyFile, study_folder
from rungwise.tuning.follower import Fold
from rungwise.tuning.loading import read_options
from rungwise.views import StudyView
from rungwise.views.hyperparameters import Comparable, compare_trials, rank_importance

TAIL = 16 * 1024
"""How many bytes of what a trial has printed are shown: the last ones."""

POINTS = 2000
"""How many points the curve of one trial has at most."""

FAILURES = 20
"""How many failures of one trial are shown: the last ones."""

MOST_JOBS = 40
"""Of how many jobs other metrics are looked up."""

COMPARED = 1000
"""How many trials the importance of parameters is learned from at most."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def write_trial(view: StudyView, fold: Fold, number: int) -> dict[str, Any] | None:
    """What the log knows of a trial; None if there is no such trial."""
    if not 0 <= number < view.trials:
        return None
    trial = view.trial(number)
    return {
        "trial": number,
        "state": trial.state,
        "note": clean(trial.note),
        "config": jsonable(trial.config),
        "texts": write_config(trial.config),
        "curve": thin(view, number, POINTS),
        "story": [clean(sentence) for sentence in trial.story()],
        "jobs": [_write_job(view, job) for job in trial.jobs()],
        "failures": [
            {**one, "trace": clean(one["trace"]), "output": clean(one["output"])}
            for one in fold.failures
            if one["trial"] == number
        ][-FAILURES:],
    }


def _write_job(view: StudyView, number: int) -> dict[str, Any]:
    job = view.job(number)
    return {
        "job": number,
        "from": job.start,
        "until": job.until,
        "start": round(job.issued, 3),
        "end": jsonable(round(job.left, 3)),
        "how": job.outcome,
    }


def write_files(path: Path, number: int, jobs: Sequence[int]) -> dict[str, Any]:
    """What the files of a study have of a trial: checkpoints, output, other metrics."""
    return write_all_files(path, {number: jobs})[number]


def write_all_files(path: Path, wanted: Mapping[int, Sequence[int]]) -> dict[int, dict[str, Any]]:
    """The same of several trials, for which the log is looked through only once.

    Args:
        path: the study file.
        wanted: trial → its jobs.
    """
    documents: dict[int, dict[str, Any]] = {
        number: {"output": read_output(path, number), "checkpoints": [], "metrics": []}
        for number in wanted
    }
    owners = {job: n for n, jobs in wanted.items() if len(jobs) <= MOST_JOBS for job in jobs}
    try:
        with StudyFile(path, mode="read", checked=False) as file:
            store = read_options(file.about, ()).store_beside(path)
            for number, metrics in _read_metrics(file, owners).items():
                documents[number]["metrics"] = metrics
        for number, document in documents.items():
            document["store"] = str(store)
            if isinstance(store, FolderStore):  # others are asked over a network
                found = store.trial(trial_place(number))
                document["checkpoints"] = [one.resource for one in found.committed()]
                document["bytes"] = found.size()
    except (RungwiseError, OSError):
        pass  # the file has gone meanwhile: the page says so by itself
    return documents


def read_output(path: Path, number: int) -> str:
    """The end of what a trial has printed."""
    place = study_folder(path) / trial_place(number) / "output.log"
    try:
        with place.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            return clean(file.read(TAIL).decode(errors="replace"))
    except OSError:
        return ""


def clean(text: str) -> str:
    """Text that a trial may have written, without colours and control characters."""
    return strip_controls(_ESCAPES.sub("", text).replace("\t", "    ").replace("\r\n", "\n"))


def _read_metrics(file: StudyFile, owners: Mapping[int, int]) -> dict[int, list[list[Any]]]:
    """Trial → [[resource, {name: value}], …] of the reports of some jobs that have other metrics.

    Args:
        file: the study file.
        owners: job → its trial.
    """
    found: dict[int, list[list[Any]]] = {}
    for report in read_other_metrics(file.log, owners):
        point = [report.resource, jsonable(dict(report.metrics))]
        found.setdefault(owners[report.job], []).append(point)
    return {number: points[:: -(-len(points) // POINTS)] for number, points in found.items()}


def find_comparable(view: StudyView, level: float | None) -> Comparable:
    """The trials at a rung, not more than can be learned from in a moment."""
    comparable = compare_trials(view, level)
    points = comparable.points
    if len(points) > COMPARED:
        chosen = np.random.default_rng(0).choice(len(points), COMPARED, replace=False)
        points = tuple(points[place] for place in sorted(chosen))
    return Comparable(comparable.level, points, comparable.scales)


def write_importance(find: Callable[[], Comparable]) -> dict[str, Any]:
    """How much each parameter matters at a rung; why not, where that cannot be said.

    Args:
        find: finds the trials to learn from; the study may change meanwhile once it has returned.
    """
    try:
        shown = find()
        if len(shown.points) < 4 or not shown.scales:
            return {"why": "too few trials have been trained that far"}
        found = rank_importance(shown)
    except (RungwiseError, ValueError) as error:
        return {"why": str(error)}
    return {
        "level": shown.level,
        "trials": len(shown.points),
        "bars": [[one.name, round(one.share, 4), round(one.std, 4)] for one in found],
    }
