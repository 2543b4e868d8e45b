"""Read retrainings that version 0.1.0 began and did not finish: they had their own journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rungwise.core.decisions import StartJob
from rungwise.core.engine import Engine
from rungwise.core.events import Event, JobLost, JobRequested, Reported
from rungwise.core.study import Study
from rungwise.errors import RungwiseError
from rungwise.storage.base import Entry


def read_progress(path: Path, study: Study, identity: Mapping[str, Any]) -> list[Entry]:
    """The entries that a journal stands for; none if it is of another retraining, or finished.

    Args:
        path: the journal.
        study: the retraining as a study.
        identity: what the journal must say of itself besides configuration and seed.
    """
    try:
        first, *lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        config = dict(study.initial[0])
        if first != {**identity, "config": config, "seed": study.seed} or not lines:
            return []
        engine = Engine(study)
        events: list[Event] = [JobRequested()]
        events += [
            Reported(
                0,
                line["resource"],
                line["value"],
                line["seconds"],
                0.0,
                (*line["metrics"].items(),),
            )
            for line in lines
        ]
        events.append(JobLost(0, lines[-1]["seconds"]))
        entries = [(event, engine.handle(event)) for event in events]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RungwiseError):
        return []  # torn, or finished: it is trained from scratch
    return entries if isinstance(entries[0][1], StartJob) and engine.ended is None else []
