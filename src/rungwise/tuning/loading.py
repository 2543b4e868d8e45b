"""load(): the result of a study file; nothing that would run a study is imported for it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rungwise.errors import InvalidArgumentError
from rungwise.options.backend_options import UnknownBackend
from rungwise.options.study_options import RunOptions
from rungwise.storage.record import StudyRecord
from rungwise.tuning.folding import fold
from rungwise.tuning.opening import open_to_read
from rungwise.tuning.result import TuningResult
from rungwise.tuning.retraining import list_retrained


def load(study: str | os.PathLike[str], *, types: Sequence[type] = ()) -> TuningResult:
    """The result of a study file as it stands, also while another process works on it.

    Args:
        study: the file.
        types: recipes, rankings and searchers of your own that the study uses.
    """
    with open_to_read(study, types=types) as file:
        running = file.log.lock.held()  # first: it may end while it is read
        engine, clock = fold(file)
        about = file.about
        options = read_options(about, types)
        return TuningResult(
            engine,
            file.path,
            about,
            seconds=clock,
            failures=file.failures(),
            retrained=list_retrained(file, options.store_beside(file.path)),
            options=options,
            workers=about.workers,
            running=running,
        )


def read_options(about: StudyRecord, types: Sequence[type]) -> RunOptions:
    """The options of a study that is only read: only training needs a backend that is known."""
    try:
        return RunOptions.read(about.run, {}, types)
    except InvalidArgumentError as error:
        if error.argument != "backend":
            raise
        return RunOptions.read(about.run, {"backend": UnknownBackend(str(error.value))})
