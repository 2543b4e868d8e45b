"""The reports of some jobs that have other metrics, found without reading the whole log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

from rungwise.core.codec import event_from_json
from rungwise.core.events import TABLES, Reported
from rungwise.errors import SchemaError
from rungwise.storage.sqlite import SqliteLog

_REPORT = f'{{"kind": "{TABLES[Reported].name}", "{TABLES[Reported].fields[0].name}": '
"""How a report begins in a log; the number of the job follows."""


def read_other_metrics(log: SqliteLog, jobs: Iterable[int]) -> list[Reported]:
    """The reports of some jobs of the study itself that have other metrics, in order.

    Args:
        log: the log, open for reading.
        jobs: their numbers.
    """
    numbers = ", ".join(f"{job:d}" for job in jobs)
    part = "part" if log.version > 2 else "0"  # jobs of a retraining have the same numbers
    rows = log.select(
        f"SELECT event FROM entries WHERE {part} = 0 "  # noqa: S608 - numbers
        f"AND CAST(substr(event, {len(_REPORT) + 1}, 19) AS INTEGER) IN ({numbers}) "
        f"AND event LIKE '{_REPORT}%' "
        """AND event LIKE '%"metrics": %' ORDER BY number"""
    )
    found = []
    # A damaged entry is reported by what reads the whole log.
    with suppress(ValueError, TypeError, SchemaError):
        for (text,) in rows:
            event = event_from_json(json.loads(text))
            if isinstance(event, Reported):
                found.append(event)
    return found
