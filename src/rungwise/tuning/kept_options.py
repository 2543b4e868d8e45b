"""How a study is run, written down in its file."""

from __future__ import annotations

import json
from dataclasses import replace

from rungwise.options.study_options import RunOptions
from rungwise.storage.study_file import About, StudyFile
from rungwise.tuning.loading import WORKERS_KEY
from rungwise.tuning.trust import is_trusted, sign


def change_about(file: StudyFile, about: About) -> None:
    """Change what a file says of its study; a file that this user has made stays one."""
    trusted = is_trusted(file.about, file.path)
    options = json.loads(json.dumps(dict(about.options)))
    signature = sign(about.train, options) if trusted else ""
    file.change_about(replace(about, options=options, signature=signature))


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
    changed = {**about.options, **options.to_json(), WORKERS_KEY: workers}
    changed = json.loads(json.dumps(changed))
    trusted = trust or is_trusted(about, file.path)
    signature = sign(about.train, changed) if trusted else ""
    if changed != about.options or signature not in ("", about.signature):
        file.change_about(replace(about, options=changed, signature=signature))
