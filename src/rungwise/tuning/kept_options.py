"""What a file says of its study, and how it is run: written down, and changed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from rungwise._version import __version__
from rungwise.options.study_options import RunOptions
from rungwise.storage.record import Kind, StudyRecord
from rungwise.storage.study_file import StudyFile
from rungwise.tuning.transfer import Transfer
from rungwise.tuning.trust import is_trusted, sign


def describe_study(
    metric: str,
    options: RunOptions,
    workers: int,
    earlier: Transfer,
    *,
    open_ended: bool,
    kind: Kind = "tune",
    train: Mapping[str, Any] | None = None,
) -> StudyRecord:
    """Return what the file of a new study says of it.

    Args:
        metric: the name of the metric.
        options: how it is run.
        workers: how many jobs may run at a time.
        earlier: the earlier studies that it is begun with.
        open_ended: whether no maximum was given.
        kind: who trains.
        train: how to find the training function again, if it can be found.
    """
    run = options.to_json()
    return StudyRecord(
        metric,
        open_ended,
        train,
        run,
        workers,
        key=secrets.token_hex(6),
        kind=kind,
        transfer=earlier.record(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        signature=sign(train, run),
    )


def change_about(file: StudyFile, about: StudyRecord) -> None:
    """Change what a file says of its study; a file that this user has made stays one."""
    trusted = is_trusted(file.about, file.path)
    signature = sign(about.train, about.run) if trusted else ""
    file.change_about(replace(about, signature=signature))


def keep_options(
    file: StudyFile, options: RunOptions, workers: int, *, trust: bool = False
) -> None:
    """Write down how the study is run from now on, where that has changed.

    Args:
        file: the study.
        options: how it is run.
        workers: how many jobs may run at a time.
        trust: whether the user trusts what the file names; it is signed from then on.
    """
    about = file.about
    run = json.loads(json.dumps({**about.run, **options.to_json()}))
    trusted = trust or is_trusted(about, file.path)
    signature = sign(about.train, run) if trusted else ""
    changed = replace(about, run=run, workers=workers)
    if changed != about or signature not in ("", about.signature):
        file.change_about(replace(changed, signature=signature))
