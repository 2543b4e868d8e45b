"""What the studies in this folder say, as JSON: numbers and names, not the texts of messages."""

import hashlib
import json
import math

import rungwise as rw
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.exports import list_rows


def plain(value):
    """A value as strict JSON; what is not finite is text."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def describe(path):
    """What is to stay as version 0.2.0 had it."""
    result = rw.load(path)
    engine = result.engine
    with StudyFile(path, mode="read") as file:
        notices = [text for _, text in file.notices()]
        begun = [trial for trial, _ in file.retrainings()]
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in list_rows(path)]
    text = json.dumps(plain(rows), sort_keys=True)
    return plain(
        {
            "best": [result.best.trial, result.best.value, result.best.resource],
            "metric": result.metric,
            "ended": result.ended,
            "trials": result.trials,
            "reports": result.reports,
            "spent": result.resource_spent,
            "ceiling": result.view.ceiling,
            "jobs": [[job.trial, job.start, job.until] for job in engine.jobs],
            "open": sorted(engine.open_jobs),
            "states": [trial.state.value for trial in engine.trials],
            "reached": [trial.resource for trial in engine.trials],
            "failures": [[f.job, f.trial, f.resource, f.reason] for f in result.failures],
            "labels": result.labels,
            "notices": notices,
            "retrainings": begun,
            "retrained": [[one.trial, one.resource, one.curve] for one in result.retrained],
            "exported": len(rows),
            "digest": hashlib.sha256(text.encode()).hexdigest(),
        }
    )
